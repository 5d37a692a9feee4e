"""MLflow: parameters, metrics by step, datasets and artifacts of one run."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from context1.errors import InputError
from context1.manifest import MANIFEST, id_of, read_manifest
from context1.settings import Settings
from context1.stage import digest

if TYPE_CHECKING:
    from mlflow import MlflowClient

PARAM_CHARS = 6_000
"""MLflow's limit on a parameter's value."""
RESUME_KEY = "context1.resume_key"
"""Tag that names the work of a run, so that a restart of it finds the run."""

ID, MODEL, INDEX = "context1.id", "context1.model", "context1.index"
"""Tags: the id of a stage's output, the digest of the model in it, its index; `/status` has the last two."""


def lineage_tags(folder: Path) -> dict[str, str]:
    """The ids of a stage's output as tags of MLflow runs and registered models; {} where no stage made it.

    Of an output that is still being made there is only the id.
    """
    tags = {ID: id_of(folder)}
    if (folder / MANIFEST).is_file():
        manifest = read_manifest(folder)
        if any(entry.path.startswith("model/") for entry in manifest.files):
            tags[MODEL] = manifest.part("model")
        tags[INDEX] = manifest.summary.get("index_id", "")
    return {name: value for name, value in tags.items() if value}


def tracking_uri(settings: Settings) -> str:
    """The server that is set, else MLFLOW_TRACKING_URI, else a SQLite file in the runs folder."""
    uri = settings.tracking.uri or os.environ.get("MLFLOW_TRACKING_URI", "")
    return uri or f"sqlite:///{(settings.runs / 'mlflow.db').resolve()}"


class Tracker:
    """One MLflow run as a context manager: finished at the end, failed on an exception, killed on Ctrl-C.

    Only rank 0 (by the RANK variable) writes; elsewhere all methods do nothing. If MLFLOW_RUN_ID is set,
    that run is used and left open: whoever made it ends it. `parent` is a run id to nest under;
    naming the injected run itself nests a new one in it. A run that was left unfinished under the same
    `resume_key` is continued, so that a restarted job stays one run; what it has logged is not logged again.
    """

    def __init__(
        self,
        settings: Settings,
        run_name: str,
        tags: Mapping[str, str] | None = None,
        parent: str | None = None,
        resume_key: str = "",
    ) -> None:
        self.active = os.environ.get("RANK", "0") == "0"
        self.settings = settings
        self.run_name = run_name
        self.tags = dict(tags or {})
        if parent:
            self.tags["mlflow.parentRunId"] = parent
        if resume_key:
            self.tags[RESUME_KEY] = resume_key
        self.uri = tracking_uri(settings)
        self.run_id = ""
        self.owned = False
        self.last_steps: dict[str, int] = {}
        """Of each metric that a continued run holds from before."""

    def __enter__(self) -> Self:
        if self.active:
            self.client = connect(self.uri)
            injected = os.environ.get("MLFLOW_RUN_ID", "")
            if injected == self.tags.get("mlflow.parentRunId"):
                injected = ""  # asked in so many words for a run nested in the given one
            continued = self._unfinished(injected)
            self.run_id = injected or continued or self._create()
            self.owned = not injected
            if continued:
                self.last_steps = self._last_steps()
            if injected:
                for key, value in self.tags.items():
                    if key != "mlflow.parentRunId":
                        self.client.set_tag(injected, key, value)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.active and self.owned:
            interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
            status = "FINISHED" if kind is None else "KILLED" if interrupted else "FAILED"
            self.client.set_terminated(self.run_id, status)

    def params(self, values: Mapping[str, Any]) -> None:
        """Logs parameters; nested mappings become dotted names, long values are cut."""
        if self.active:
            from mlflow.entities import Param

            flat = [Param(name, str(value)[:PARAM_CHARS]) for name, value in _flat(values, "")]
            for start in range(0, len(flat), 100):
                self.client.log_batch(self.run_id, params=flat[start : start + 100])

    def metrics(self, values: Mapping[str, float], step: int = 0) -> None:
        """Logs numbers at a step; a continued run leaves out those that it holds already."""
        if self.active:
            from mlflow.entities import Metric
            from mlflow.utils.time import get_current_time_millis

            now = get_current_time_millis()
            new = {key: value for key, value in values.items() if step > self.last_steps.get(key, -1)}
            points = [Metric(key, float(value), now, step) for key, value in new.items()]
            if points:
                self.client.log_batch(self.run_id, points)

    def dataset(self, path: Path, name: str, context: str = "input") -> None:
        """Notes that the run read these files: name, place and content digest."""
        if self.active:
            from mlflow.entities import Dataset, DatasetInput, InputTag

            # MLflow's column for a digest holds 36 characters.
            noted = Dataset(name, digest(path)[:32], "local", f'{{"uri": "{path.resolve().as_uri()}"}}')
            self.client.log_inputs(
                self.run_id, [DatasetInput(noted, [InputTag("mlflow.data.context", context)])]
            )

    def artifact(self, path: Path, folder: str = "") -> None:
        """Uploads a file, or a folder with all below it."""
        if not self.active:
            return
        if path.is_dir():
            self.client.log_artifacts(self.run_id, str(path), folder or path.name)
        else:
            self.client.log_artifact(self.run_id, str(path), folder or None)

    def _unfinished(self, injected: str) -> str:
        """The run that this one continues: the injected one if it was ours before, or one of our own."""
        key = self.tags.get(RESUME_KEY)
        if not key:
            return ""
        if injected:
            ours = self.client.get_run(injected).data.tags.get(RESUME_KEY) == key
            return injected if ours else ""
        experiment = _experiment(self.client, self.uri, self.settings)
        found = self.client.search_runs(
            [experiment],
            f"tags.`{RESUME_KEY}` = '{key}' and attributes.status != 'FINISHED'",
            max_results=1,
        )
        if not found:
            return ""
        run_id: str = found[0].info.run_id
        self.client.update_run(run_id, status="RUNNING")
        return run_id

    def _last_steps(self) -> dict[str, int]:
        names = self.client.get_run(self.run_id).data.metrics
        histories = {name: self.client.get_metric_history(self.run_id, name) for name in names}
        return {name: max(point.step for point in points) for name, points in histories.items()}

    def _create(self) -> str:
        experiment = _experiment(self.client, self.uri, self.settings)
        run = self.client.create_run(experiment, tags=self.tags, run_name=self.run_name)
        run_id: str = run.info.run_id
        return run_id


def connect(uri: str) -> MlflowClient:
    """A client of an MLflow that answers. Raises `InputError` if it does not."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "4")
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    for chatty in ("mlflow", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    if uri.startswith("sqlite:///"):
        _create_database(Path(uri.removeprefix("sqlite:///")))
    client = MlflowClient(tracking_uri=uri)
    try:
        client.search_experiments(max_results=1)
    except MlflowException as error:
        raise InputError(f"tracking.uri {uri}: MLflow does not answer: {error.message}") from None
    return client


def _create_database(path: Path) -> None:
    """Makes the SQLite file with MLflow's tables, unless it is there.

    Made aside and linked, because MLflow can neither go on with a half-made one nor make one twice at once.
    """
    from mlflow import MlflowClient

    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    try:
        MlflowClient(tracking_uri=f"sqlite:///{aside}").search_experiments(max_results=1)
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _experiment(client: MlflowClient, uri: str, settings: Settings) -> str:
    from mlflow.exceptions import MlflowException

    if injected := os.environ.get("MLFLOW_EXPERIMENT_ID"):
        return injected
    name = settings.tracking.experiment
    if found := client.get_experiment_by_name(name):
        return str(found.experiment_id)
    # Without a server, artifacts would land below the working folder; a server decides for itself.
    place = (settings.runs / "mlflow-artifacts").resolve().as_uri() if uri.startswith("sqlite:") else None
    try:
        return str(client.create_experiment(name, artifact_location=place))
    except MlflowException:
        if again := client.get_experiment_by_name(name):  # another process made it meanwhile
            return str(again.experiment_id)
        raise


def _flat(values: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in values.items():
        out += _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return out
