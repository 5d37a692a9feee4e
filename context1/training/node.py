"""What each pod of a TrainJob runs: `python -m context1.training.node NAME [FOLDER]`.

The environment says which of how many machines this is (PET_NNODES, PET_NODE_RANK, PET_NPROC_PER_NODE,
PET_MASTER_ADDR, PET_MASTER_PORT, as torchrun reads them) and where the storage is (CONTEXT1_STORAGE__...).
Status 2 for an error that the user can mend, 1 for one that a restart may mend; the last line is its cause.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from context1.errors import InputError, StorageUnavailable, WorkerFailed
from context1.settings import Settings
from context1.storage import Storage
from context1.training.job import run_job
from context1.training.launch import Node
from context1.training.remote import RemoteJob

TERMINATION = Path("/dev/termination-log")
"""What Kubernetes shows of a container that has ended; at most 4096 bytes."""


def main(arguments: list[str]) -> int:
    """Runs this machine's ranks of the job `arguments[0]` below the folder `arguments[1]`."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # a container's first process has no default
    name, folder = arguments[0], Path(arguments[1] if arguments[1:] else "/tmp/job")
    try:
        storage = Settings.load().storage
        train(RemoteJob(Storage(storage.uri, storage), name), folder, node_of(os.environ), os.environ)
    except InputError as error:
        return _leave("input", str(error), 2)
    except (StorageUnavailable, WorkerFailed) as error:
        return _leave("failure", str(error), 1)
    return 0


def train(remote: RemoteJob, folder: Path, node: Node, environ: Mapping[str, str]) -> None:
    """Continues the job where storage has it, and machine 0 sends the result; nothing if that is there."""
    if remote.finished():
        return
    folder.mkdir(parents=True, exist_ok=True)
    job = remote.receive(folder)
    procs = int(environ.get("PET_NPROC_PER_NODE", "1"))
    if procs * node.count != job.settings.train.procs:
        raise InputError(
            f"{node.count} nodes of {procs} processes are not train.procs={job.settings.train.procs}"
        )
    run_job(job, node)
    if node.number == 0:
        remote.send_result(job.output)


def node_of(environ: Mapping[str, str]) -> Node:
    """This machine, by torchrun's variables; alone without them."""
    return Node(
        number=int(environ.get("PET_NODE_RANK", "0")),
        count=int(environ.get("PET_NNODES", "1")),
        address=environ.get("PET_MASTER_ADDR", ""),
        port=int(environ.get("PET_MASTER_PORT", "29400")),
    )


def _leave(kind: str, message: str, status: int) -> int:
    """The whole message, then its cause in one line: a reader of a log looks at the last one."""
    cause = message.splitlines()[0].removesuffix("; its last lines:")
    print(message, file=sys.stderr)
    if cause != message:
        print(cause, file=sys.stderr)
    if TERMINATION.exists():
        TERMINATION.write_text(json.dumps({"kind": kind, "message": cause[:600]}))  # escaped, it still fits
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
