"""Pipelines with one step that goes wrong in a given way, behind the exit handler that all pipelines have."""

from kfp import dsl

from components.base import component
from components.tidy.component import tidy


@component()
def faulty(how: str, output: dsl.Output[dsl.Dataset]) -> None:
    """Ends as `how` says: well, by an exit code, by a signal, or without its output."""
    import os
    import signal
    import sys
    from pathlib import Path

    from components.step import stage_step
    from context1.settings import RegistrySettings
    from context1.stage import run_stage

    with stage_step("faulty", "smoke", {}, "", output) as (_, folder):
        if how == "exit":
            sys.exit(3)
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "terminate":
            os.kill(os.getpid(), signal.SIGTERM)
        if how != "nothing":
            run_stage("faulty", RegistrySettings(), {}, Path(folder), lambda partial: {})


@component()
def after(before: dsl.Input[dsl.Dataset], mark: str) -> None:
    """Leaves a mark; must not run after a failure."""
    from pathlib import Path

    Path(mark).write_text("ran")


@dsl.pipeline(name="broken")
def broken(how: str, mark: str, root: str) -> None:
    """A step that may go wrong, one that needs it, and the exit handler."""
    with dsl.ExitHandler(tidy(root=root), name="steps"):
        made = faulty(how=how)
        after(before=made.outputs["output"], mark=mark)
