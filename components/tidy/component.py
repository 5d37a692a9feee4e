"""The exit handler: runs last, whatever happened."""

from kfp.dsl import PipelineTaskFinalStatus

from components.base import component


@component()
def tidy(status: PipelineTaskFinalStatus, root: str = "") -> None:
    """Removes what killed steps left behind and says how the run ended, on the last line of the log.

    Args:
        status: of the tasks that the handler guards; KFP gives it.
        root: folder that outlives the run; empty if there is none, then nothing can have been left in it.
    """
    from pathlib import Path

    from components.step import cause_last
    from context1.progress import say
    from context1.tidy import tidy as remove

    with cause_last("tidy"):
        if root and Path(root).is_dir():
            for path in remove(Path(root)):
                say(f"tidy: removed {path}")
        why = f": {' '.join(status.error_message.split())}" if status.error_message else ""
        say(f"tidy: {status.pipeline_job_resource_name} ended as {status.state}{why}")
