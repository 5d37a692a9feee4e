"""What every component shares: its image, and how it hands a stage's folder to KFP."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kfp import dsl

from context1.errors import InputError
from context1.settings import Settings

IMAGE = "context1-python:0.1.0"
"""Has this package and kfp baked in; nothing is installed when a task starts."""

component = functools.partial(dsl.component, base_image=IMAGE, install_kfp_package=False)
"""Decorator of all components."""


@contextmanager
def stage_step(
    name: str, profile: str, overrides: dict[str, Any], root: str, artifact: dsl.Artifact
) -> Iterator[tuple[Settings, Path]]:
    """Yields the run's settings and the folder that the stage writes.

    With a `root` (a folder that outlives the run: a laptop's disk, a shared volume) the stage works in
    `root/name`, resumes there, and the artifact points at it; without one it works where KFP uploads from.
    An error the user can mend ends the step with its message as the last line of the log.
    """
    if root:
        artifact.uri = str(Path(root).resolve() / name)
    try:
        yield Settings.load(profile=profile, overrides=overrides), Path(artifact.path)
    except InputError as error:
        sys.exit(f"{name}: {error}")


def log_numbers(metrics: dsl.Metrics, summary: dict[str, Any]) -> None:
    """The summary's numbers as KFP metrics; the MLflow plugin logs them with the task's run."""
    for key, value in summary.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            metrics.log_metric(key, value)
