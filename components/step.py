"""How a component's body runs its stage: settings in, the stage's folder out, the cause of a failure last."""

from __future__ import annotations

import re
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kfp import dsl

from context1.collector import collect_seldom
from context1.errors import InputError
from context1.manifest import entries_of, first_difference, read_manifest
from context1.settings import Settings

ERROR = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Failed|Unavailable)\b.*")
"""How a Python error reads in a log."""


@contextmanager
def stage_step(
    name: str,
    profile: str,
    overrides: dict[str, Any],
    root: str,
    artifact: dsl.Artifact,
    files: tuple[dsl.Artifact, ...] = (),
) -> Iterator[tuple[Settings, Path]]:
    """Yields the run's settings and the folder that the stage writes.

    With a `root` (a folder that outlives the run: a laptop's disk, a shared volume) the stage works in
    `root/name`, resumes there, and the artifact points at it; without one it works where KFP uploads from.
    Afterwards the folder must hold a whole stage, and each of `files` be there: a backend only warns of what
    is missing. Whatever fails, the last line of the log is its cause: a backend keeps nothing else of it.
    """
    with cause_last(name):
        if root:
            artifact.uri = str(Path(root).resolve() / name)
        output = Path(artifact.path)
        yield Settings.load(profile=profile, overrides=overrides), output
        check_outputs(output, [Path(file.path) for file in files])


@contextmanager
def cause_last(name: str) -> Iterator[None]:
    """Ends the process with one line that says why, whatever goes wrong inside; a SIGTERM too."""
    collect_seldom()
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"{name}: terminated from outside"))
    try:
        yield
    except InputError as error:
        sys.exit(f"{name}: {' '.join(str(error).split())}")
    except Exception as error:
        traceback.print_exc()
        sys.stdout.flush()
        sys.exit(f"{name}: {cause(error)}")
    finally:
        signal.signal(signal.SIGTERM, before)


def check_outputs(folder: Path, files: list[Path]) -> None:
    """Raises `InputError` unless the folder is a finished stage with all its files, and `files` exist."""
    manifest = read_manifest(folder)
    if damaged := first_difference(manifest.files, entries_of(folder)):
        raise InputError(f"{folder / damaged}: an output that does not match the stage's manifest")
    if missing := [file for file in files if not file.is_file()]:
        raise InputError(f"{missing[0]}: the step did not write this output")


def cause(error: Exception) -> str:
    """One line: the last error that the message quotes (of a failed rank, say), else the error itself."""
    quoted = [found[0] for line in str(error).splitlines()[1:] if (found := ERROR.search(line))]
    return quoted[-1] if quoted else f"{type(error).__name__}: {' '.join(str(error).split())}"


def log_numbers(metrics: dsl.Metrics, summary: dict[str, Any]) -> None:
    """The summary's numbers as KFP metrics; the MLflow plugin logs them with the task's run."""
    for key, value in summary.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            metrics.log_metric(key, value)
