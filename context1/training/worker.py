"""What each rank runs: `python -m context1.training.worker job.json`, also under torchrun.

The job file names the stage (`sft` or `rl`) and holds its settings, inputs and output folder.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from context1.collector import collect_seldom
from context1.errors import InputError
from context1.training.job import Job, read_job
from context1.training.launch import ERROR_FILE


def main(arguments: list[str]) -> int:
    """Exit status 0, 2 for an error that the user can mend, 1 for any other."""
    _die_with_parent()
    collect_seldom()
    from context1.training import distributed  # loads torch

    job = read_job(Path(arguments[0]))
    try:
        work: Callable[[Job], None] = importlib.import_module(f"context1.training.{job.stage}").work
        _quiet_transformers()
        work(job)
    except InputError as error:
        _report("input", str(error))
        return 2
    except Exception as error:
        _report("failure", f"{type(error).__name__}: {error}")
        traceback.print_exc()
        return 1
    distributed.stop()
    return 0


def _report(kind: str, message: str) -> None:
    """Tells the launcher, which shows the first report of all ranks."""
    print(message, file=sys.stderr)
    if path := os.environ.get(ERROR_FILE):
        Path(path).write_text(json.dumps({"kind": kind, "message": message}))


def _quiet_transformers() -> None:
    """Its bars for loading and saving shards would break into ours."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def _die_with_parent() -> None:
    """On Linux: ends this rank when our launcher is killed, so that no orphan holds the cores."""
    if sys.platform == "linux" and ERROR_FILE in os.environ:
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
