"""A job in storage, through which it reaches other machines and its result comes back.

`inputs/<digest>/` is shared by all jobs that read it; `jobs/<name>/` holds `job.json`, `result/`, and what a
restart needs in `work/`.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from context1.jsonl import atomic_write
from context1.manifest import digest
from context1.storage import Storage
from context1.training.job import SUMMARY, Job, read_job

RESULT = ("model", "metrics.jsonl")


class RemoteJob:
    """The job `name` in a storage."""

    def __init__(self, storage: Storage, name: str) -> None:
        self.storage = storage
        self.folder = f"jobs/{name}"
        self.name = name

    def send(self, job: Job) -> None:
        """Uploads inputs that are not there yet, then the job; half-done work of the same name stays."""
        inputs = {label: Path(self._send_input(path)) for label, path in job.inputs.items()}
        sent = job.model_copy(
            update={"inputs": inputs, "output": Path(), "id": self.name, "mirrored": f"{self.folder}/work"}
        )
        self._put_text(f"{self.folder}/job.json", sent.model_dump_json())

    def receive(self, folder: Path) -> Job:
        """The job with its inputs below `folder`, and in `folder/work` what was done of it before."""
        self.storage.get(f"{self.folder}/job.json", folder / "job.json")
        job = read_job(folder / "job.json")
        inputs = {}
        for label, prefix in job.inputs.items():
            inputs[label] = self._receive_input(prefix.as_posix(), folder / "inputs" / label)
        settings = job.settings.model_copy(update={"runs": folder})
        job = job.model_copy(update={"inputs": inputs, "output": folder / "work", "settings": settings})
        job.mirror().restore()
        return job

    def finished(self) -> bool:
        """Whether the whole result is there."""
        return self.storage.exists(f"{self.folder}/result/{SUMMARY}")

    def send_result(self, output: Path) -> None:
        """Uploads what the job made; the summary comes last."""
        files = [file for name in RESULT for file in sorted((output / name).rglob("*")) or [output / name]]
        for file in [*files, output / SUMMARY]:
            if file.is_file():
                self.storage.put(file, f"{self.folder}/result/{file.relative_to(output).as_posix()}")

    def receive_result(self, output: Path) -> None:
        """Downloads the result into the job's own output folder."""
        prefix = f"{self.folder}/result"
        for key in self.storage.list(prefix):
            self.storage.get(key, output / key.removeprefix(f"{prefix}/"))

    def remove(self) -> None:
        """Removes all but the inputs, which other jobs may read; the summary first: none reads half."""
        self.storage.delete(f"{self.folder}/result/{SUMMARY}")
        for key in self.storage.list(self.folder):
            self.storage.delete(key)

    def _send_input(self, path: Path) -> str:
        prefix = f"inputs/{digest(path)}"
        whole = f"{prefix}.whole"
        if not self.storage.exists(whole):
            for file in [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file()):
                inside = (
                    f"file/{path.name}" if file == path else f"folder/{file.relative_to(path).as_posix()}"
                )
                self.storage.put(file, f"{prefix}/{inside}")
            self._put_text(whole, path.name)
        return prefix

    def _receive_input(self, prefix: str, target: Path) -> Path:
        """The folder, or the file in a folder of its own, as its name says what is in it."""
        shutil.rmtree(target, ignore_errors=True)
        (first, *_) = self.storage.list(prefix)
        kind, name = first.removeprefix(f"{prefix}/").split("/")[:2]
        self.storage.get_tree(f"{prefix}/{kind}", target)
        return target / name if kind == "file" else target

    def _put_text(self, key: str, text: str) -> None:
        with tempfile.TemporaryDirectory(prefix="context1-send-") as folder:
            file = Path(folder) / "text"
            atomic_write(file, text)
            self.storage.put(file, key)
