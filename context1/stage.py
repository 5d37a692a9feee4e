"""What a stage is: configuration and inputs in, a folder with a manifest out; resumable and atomic."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from context1.errors import InputError
from context1.jsonl import TEMPORARY, atomic_write, read_jsonl, write_jsonl
from context1.manifest import (
    KEY,
    MANIFEST,
    Manifest,
    digest,
    entries_of,
    first_difference,
    parent_of,
    read_manifest,
    sha256_of,
    stage_folder,
)
from context1.progress import progress, say
from context1.schema import SCHEMA_VERSION

__all__ = [
    "InputError",
    "Manifest",
    "atomic_write",
    "digest",
    "progress",
    "read_jsonl",
    "read_manifest",
    "run_stage",
    "say",
    "write_jsonl",
]


def run_stage(
    name: str,
    config: BaseModel,
    inputs: dict[str, Path],
    output: Path,
    body: Callable[[Path], dict[str, Any]],
    fresh: bool = False,
) -> dict[str, Any]:
    """Runs `body(partial)` once for this configuration and these inputs; returns its summary.

    The body writes into `<output>.partial/`, which outlives a kill: called again with the same key, the
    body finds its own files there and continues. When it returns, the manifest is written and the folder
    renamed to `output`. A finished output with the same key and intact files is reused unless `fresh`.
    Raises `InputError` for a missing or damaged input, for an `output` that no stage made, and while
    another process runs the same stage.
    """
    with _reading(inputs.values()):
        digests = {label: digest(path) for label, path in sorted(inputs.items())}
        settings = json.loads(config.model_dump_json())
        key = sha256_of([name, SCHEMA_VERSION, settings, digests])
        parents = {label: parent_of(inputs[label], digests[label]) for label in digests}
        _check_replaceable(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        partial = _partial(output)
        with _locked(partial):
            if not fresh and (done := _reusable(output, key)):
                say(f"{name}: reused {output} ({done.seconds:.1f} s when it was made)")
                _sweep(partial, output, key)
                return done.summary
            _prepare(partial, key, fresh)
            if not (finished := _reusable(partial, key)):
                started = time.perf_counter()
                summary = json.loads(json.dumps(body(partial)))
                finished = Manifest(
                    schema_version=SCHEMA_VERSION,
                    name=name,
                    key=key,
                    config=settings,
                    inputs=digests,
                    parents=parents,
                    files=entries_of(partial),
                    summary=summary,
                    seconds=time.perf_counter() - started,
                )
                atomic_write(partial / MANIFEST, finished.model_dump_json(indent=1))
            _publish(partial, output)
            return finished.summary


def _check_replaceable(output: Path) -> None:
    ours = (
        (output / MANIFEST).is_file()
        or not output.exists()
        or (output.is_dir() and not any(output.iterdir()))
    )
    if not ours:
        raise InputError(f"{output}: exists and was not made by a stage; name another folder or move it away")


def _reusable(folder: Path, key: str) -> Manifest | None:
    if not (folder / MANIFEST).is_file():
        return None
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        say(f"{error}")
        return None
    if manifest.key != key:
        return None
    if damaged := first_difference(manifest.files, entries_of(folder)):
        say(f"{folder / damaged}: does not match {MANIFEST}; the stage runs again")
        return None
    return manifest


def _prepare(partial: Path, key: str, fresh: bool) -> None:
    marker = partial / KEY
    ours = marker.is_file() and marker.read_text() == key
    for leftover in partial.rglob(f".*{TEMPORARY}"):
        leftover.unlink()
    damaged = (partial / MANIFEST).is_file() and _reusable(partial, key) is None
    if fresh or damaged or not ours:
        _empty(partial)
    atomic_write(marker, key)


def _sweep(partial: Path, output: Path, key: str) -> None:
    """Removes what a kill left beside a finished output; half-done work of another key is kept."""
    marker = partial / KEY
    if marker.is_file() and marker.read_text() == key:
        _empty(partial)
    shutil.rmtree(_previous(output), ignore_errors=True)


def _empty(folder: Path) -> None:
    for child in folder.iterdir():
        shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()


def _previous(output: Path) -> Path:
    return output.with_name(f"{output.name}.previous")


def _publish(partial: Path, output: Path) -> None:
    previous = _previous(output)
    shutil.rmtree(previous, ignore_errors=True)
    if output.exists():
        output.rename(previous)
    partial.rename(output)
    (output / KEY).unlink(missing_ok=True)
    shutil.rmtree(previous, ignore_errors=True)


def in_use(output: Path) -> bool:
    """Whether a running stage reads or makes this output."""
    try:
        for folder in (output, _partial(output)):
            if folder.is_dir():
                with held(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    pass
    except BlockingIOError:
        return True
    return False


@contextmanager
def claimed(output: Path) -> Iterator[None]:
    """No stage begins to read or make this output inside the block. Raises `InputError` while one does."""
    with _locked(_partial(output)), ExitStack() as locks:
        try:
            locks.enter_context(held(output, fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            raise InputError(f"{output}: a running stage reads it; wait for its end") from None
        yield


@contextmanager
def _reading(paths: Iterable[Path]) -> Iterator[None]:
    """Holds the stages' outputs among these inputs, so that none is removed while it is read."""
    with ExitStack() as locks:
        for folder in sorted({folder for path in paths if (folder := stage_folder(path))}):
            locks.enter_context(held(folder, fcntl.LOCK_SH))
        yield


@contextmanager
def _locked(partial: Path) -> Iterator[None]:
    """Holds the partial folder for this process; the lock goes with the process, however it ends."""
    partial.mkdir(exist_ok=True)
    with ExitStack() as locks:
        try:
            locks.enter_context(held(partial, fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            raise InputError(
                f"{partial}: another process is running this stage; wait for it or stop it"
            ) from None
        try:
            yield
        finally:
            if partial.is_dir() and not any(partial.iterdir()):
                partial.rmdir()


@contextmanager
def held(folder: Path, how: int) -> Iterator[None]:
    """An `flock` of the folder, which goes with the process; `BlockingIOError` where it must not wait."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def _partial(output: Path) -> Path:
    return output.with_name(f"{output.name}.partial")
