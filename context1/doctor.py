"""Checks of this machine against what given settings would use."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from context1.settings import Settings

GIB = 1 << 30
DISK_GIB, MEMORY_GIB = 3.0, 6.0
"""What the demo needs."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `ok`, `warn` (works, with a limit) or `FAIL`."""

    name: str
    state: str
    detail: str


def examine(settings: Settings) -> Iterator[Finding]:
    """All checks in turn; one that breaks is a finding, not an error."""
    for name, check in CHECKS.items():
        try:
            state, detail = check(settings)
        except Exception as error:  # a check may break in any library it looks at
            state, detail = "FAIL", f"{type(error).__name__}: {error}"
        if state:
            yield Finding(name, state, detail)


def _python(_: Settings) -> tuple[str, str]:
    version = sys.version.split()[0]
    return ("ok", version) if sys.version_info >= (3, 11) else ("FAIL", f"{version}; 3.11 or newer is needed")


def _torch(settings: Settings) -> tuple[str, str]:
    import torch

    cuda = torch.cuda.is_available()
    device = f"CUDA {torch.cuda.get_device_name()}" if cuda else "CPU only"
    wants_cuda = settings.train.device == "cuda"
    return ("FAIL" if wants_cuda and not cuda else "ok"), f"{torch.__version__}, {device}"


def _deepspeed(_: Settings) -> tuple[str, str]:
    import importlib.metadata

    return "ok", importlib.metadata.version("deepspeed")


def _tokenizer(settings: Settings) -> tuple[str, str]:
    from context1.tokens.tokenizer import load_tokenizer

    tokenizer = load_tokenizer(settings.profile.tokenizer)
    return "ok", f"{tokenizer.id}, {tokenizer.vocab_size:,} tokens"


def _embedder(settings: Settings) -> tuple[str, str]:
    from context1.search.embedding import load_embedder

    vectors = load_embedder(settings.search).embed(["a test"])
    return "ok", f"{settings.search.embedder}, {vectors.shape[1]} dimensions"


def _reranker(settings: Settings) -> tuple[str, str]:
    from context1.search.rerank import load_reranker

    if model := load_reranker(settings.search):
        model.scores("a test", ["a test"])
    return "ok", settings.search.reranker


def _disk(settings: Settings) -> tuple[str, str]:
    folder = settings.runs.resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / GIB
    return (
        "ok" if free >= DISK_GIB else "warn"
    ), f"{free:.1f} GiB free at {folder}; the demo uses up to {DISK_GIB:g}"


def _memory(_: Settings) -> tuple[str, str]:
    import psutil

    free = psutil.virtual_memory().available / GIB
    return (
        "ok" if free >= MEMORY_GIB else "warn"
    ), f"{free:.1f} GiB available; the demo uses up to {MEMORY_GIB:g}"


def _mlflow(settings: Settings) -> tuple[str, str]:
    from context1.tracking import connect, tracking_uri

    uri = tracking_uri(settings)
    file = Path(uri.removeprefix("sqlite:///"))
    if uri.startswith("sqlite:") and not file.exists():
        return "ok", f"{uri} (made by the first run)"
    connect(uri)
    return "ok", uri


def _storage(settings: Settings) -> tuple[str, str]:
    from context1.storage import Storage

    if not settings.storage.uri:
        return "", ""
    storage = Storage(settings.storage.uri, settings.storage)
    storage.exists("context1-doctor")
    return "ok", f"{storage.uri} answers"


CHECKS: dict[str, Callable[[Settings], tuple[str, str]]] = {
    "python": _python,
    "torch": _torch,
    "deepspeed": _deepspeed,
    "tokenizer": _tokenizer,
    "embedder": _embedder,
    "reranker": _reranker,
    "disk": _disk,
    "memory": _memory,
    "mlflow": _mlflow,
    "storage": _storage,
}
