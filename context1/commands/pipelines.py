"""`context1 pipelines`: Kubeflow pipelines, on a cluster or on this machine."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from context1.commands.flat import flat
from context1.commands.options import DryRun, Overrides, RunOptions, given, parse_overrides
from context1.commands.parameters import arguments, definitions, images_of, steps_of
from context1.settings import Settings

Name = Annotated[str, typer.Argument(help="Pipeline: data, train, evaluate or end_to_end.")]
Names = Annotated[list[str] | None, typer.Argument(help="Pipelines; default: all.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, as `submit` prints it.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for NAME.yaml.")]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-P",
        help="A parameter of the pipeline, as `corpus=/data`; may be repeated.",
        metavar="KEY=VALUE",
    ),
]
Runner = Annotated[
    Literal["subprocess", "docker"], typer.Option("--runner", help="A process a step, or a container a step.")
]
LocalImages = Annotated[
    Path | None, typer.Option("--images", help="images.lock to take images from; default: those built here.")
]
Images = Annotated[Path, typer.Option("--images", help="The lock with the digests of the pushed images.")]
OptionalImages = Annotated[
    Path | None, typer.Option("--images", help="images.lock whose digests take the placeholders' place.")
]
RunName = Annotated[str, typer.Option("--name", help="Name of the run; default: pipeline and time.")]
StepName = Annotated[str, typer.Option("--step", help="One step alone.")]
Values = Annotated[
    Path | None, typer.Option("--values", "-f", help="YAML of settings: cluster, stages, all in one.")
]

app = typer.Typer(
    no_args_is_help=True, help="Compiles pipelines, runs them here or submits them to Kubeflow."
)


@dataclass(frozen=True)
class ClusterOptions:
    """Where the KFP API is, and the settings of what runs there."""

    host: Annotated[str, typer.Option("--host", help="Address of the KFP API; default: pipeline.host.")] = ""
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Namespace of the runs; default: pipeline.namespace.")
    ] = ""
    profile: Annotated[str, typer.Option("--profile", "-p", help="Preset of settings.")] = "cluster"
    values: Values = None
    overrides: Overrides = None

    def load(self) -> Settings:
        """The settings, host and namespace among them. Raises `InputError`."""
        named = {"pipeline.host": self.host, "pipeline.namespace": self.namespace}
        chosen = {key: value for key, value in named.items() if value}
        return Settings.load(self.profile, self.values, parse_overrides(self.overrides) | chosen)


def show() -> None:
    """Lists the pipelines with their steps and parameters; * marks what must be given."""
    from pipelines.catalog import PIPELINES, build, package

    table = Table("pipeline", "steps", "parameters")
    for name in PIPELINES:
        spec = package(build(name))["pipeline_spec"]
        parameters = [key + ("" if one.get("isOptional") else "*") for key, one in definitions(spec).items()]
        table.add_row(name, ", ".join(steps_of(spec)), ", ".join(parameters))
    Console().print(table)


def compile_(
    *,
    names: Names = None,
    output: Output = Path("compiled"),
    images: OptionalImages = None,
    values: Values = None,
    overrides: Overrides = None,
    dry_run: DryRun = False,
) -> None:
    """Writes pipelines as YAML, to upload them by hand: placeholders for images unless --images.

    Examples:

      context1 pipelines compile end_to_end --values cluster.yaml --images images.lock
    """
    from context1.cluster.lock import read_lock
    from pipelines.catalog import PIPELINES, build, compile_text

    settings = Settings.load(file=values, overrides=parse_overrides(overrides))
    lock = read_lock(images) if images else {}
    for name in names or PIPELINES:
        text = compile_text(build(name, settings.pipeline, lock))
        if not dry_run:
            output.mkdir(parents=True, exist_ok=True)
            (output / f"{name}.yaml").write_text(text, encoding="utf-8")
        print(f"{output / name}.yaml{' (dry run)' if dry_run else ''}")


def submit(
    name: Name,
    *,
    images: Images = Path("images.lock"),
    params: Params = None,
    run_name: RunName = "",
    dry_run: DryRun = False,
    options: ClusterOptions,
) -> None:
    """Starts a run on Kubeflow: images by digest, secrets by the names of Kubernetes Secrets.

    Who asks is told by CONTEXT1_PIPELINE__TOKEN or CONTEXT1_PIPELINE__COOKIES, else by the pod's own token.
    --dry-run shows the request and asks nobody.

    Examples:

      context1 pipelines submit end_to_end --host https://kubeflow.example.com/pipeline --values cluster.yaml

      context1 pipelines submit data -n team-a -P corpus=/mnt/context1/contracts -P root=/mnt/context1/one
    """
    from context1.cluster.lock import need_images, read_lock
    from pipelines.catalog import build, package

    settings = options.load()
    spec = package(build(name))["pipeline_spec"]
    lock = need_images(read_lock(images), images_of(spec), images)
    basics = {"profile": options.profile, "overrides": given(settings, environment=True)}
    values = arguments(spec, basics, parse_parameters(params))
    title = run_name or f"context1 {name} {datetime.datetime.now():%Y-%m-%d %H:%M:%S}"
    if dry_run:
        _show_request(settings, title, lock, values)
        return
    from context1.cluster import runs
    from context1.cluster.kfp_api import connect

    whole = package(build(name, settings.pipeline, lock))
    made = runs.submit(connect(settings.pipeline), settings.pipeline, title, whole, values)
    print(made.run_id)
    print(f"{settings.pipeline.host.rstrip('/')}/#/runs/details/{made.run_id}", file=sys.stderr)


def run(
    name: Name,
    *,
    runner: Runner = "subprocess",
    images: LocalImages = None,
    params: Params = None,
    options: RunOptions,
) -> None:
    """Runs a pipeline here, a process or a container a step; stages that are done are reused.

    In containers the steps see the run's folder, folders named by parameters, and variables that begin with
    CONTEXT1_, MLFLOW_ or AWS_.

    Examples:

      context1 pipelines run data --profile smoke

      context1 pipelines run end_to_end --runner docker --images images.lock
    """
    from context1.cluster.lock import need_images, read_lock
    from context1.commands.here import show_run
    from pipelines.catalog import build, package
    from pipelines.local import containers, subprocesses

    settings, chosen = options.load(), parse_parameters(params)
    corpus = str(chosen.get("corpus") or "")
    folder = options.folder(settings, Path(corpus) if corpus else None).resolve()
    pipeline = build(name)
    spec = package(pipeline)["pipeline_spec"]
    overrides = given(settings)
    if runner == "docker":
        overrides["runs"] = str(settings.runs.resolve())  # containers have another working folder
        if images:
            lock = need_images(read_lock(images), images_of(spec), images)
            pipeline = build(name, images=lock)
    basics = {"profile": options.profile, "overrides": overrides, "root": str(folder), "fresh": options.fresh}
    values = arguments(spec, basics, chosen)
    if options.dry_run:
        Console().print(f"{name} into {folder}: {', '.join(steps_of(spec))}", markup=False)
        Console().print(values)
        return
    for made in (folder, settings.runs):
        made.mkdir(parents=True, exist_ok=True)
    named = [Path(value) for value in values.values() if isinstance(value, str) and Path(value).is_dir()]
    how = containers([settings.runs, *named]) if runner == "docker" else subprocesses()
    show_run(name, pipeline, values, folder, how, Console(file=sys.stdout))
    print(folder)


def logs(run_id: RunId, *, step: StepName = "", options: ClusterOptions) -> None:
    """Prints the logs of a run's steps; the last line of a failed step is its cause."""
    from context1.cluster import runs
    from context1.cluster.kfp_api import connect

    for found, text in runs.logs(connect(options.load().pipeline), run_id, step):
        print(f"=== {found.name} ({found.state}) {found.pod}")
        print(text.rstrip("\n"))


def cancel(run_id: RunId, *, dry_run: DryRun = False, options: ClusterOptions) -> None:
    """Ends a run: its pods are stopped, and the exit handler cleans up."""
    from context1.cluster import runs
    from context1.cluster.kfp_api import connect

    client = connect(options.load().pipeline)
    found = runs.find(client, run_id)
    if not dry_run:
        runs.cancel(client, run_id)
    print(f"{found.display_name} ({found.state}): {'would be ended' if dry_run else 'is ending'}")


def parse_parameters(params: list[str] | None) -> dict[str, Any]:
    """`["corpus=/data"]` -> `{"corpus": "/data"}`. Raises `InputError`."""
    return parse_overrides(params, option="--param")


def _show_request(settings: Settings, title: str, images: dict[str, str], values: dict[str, Any]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    where = settings.pipeline
    rows = {"run": title, "host": where.host or "-", "namespace": where.namespace or "-"}
    rows |= {"experiment": where.experiment, "service account": where.service_account or "-"}
    for key, value in {**rows, **images, "parameters": values}.items():
        console.print(f"{key}: {value}", markup=False)


_COMMANDS: dict[str, Callable[..., None]] = {
    "list": show, "compile": compile_, "submit": submit, "run": run, "logs": logs, "cancel": cancel,
}  # fmt: skip
for _name, _command in _COMMANDS.items():
    app.command(_name)(flat(_command))
