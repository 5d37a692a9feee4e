"""Every flag and variable that a value file gives vLLM is one that the pinned vLLM knows."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from typing import Any

import pytest

from tests.unit.chart.chart import CHART, HERE, RELEASES, container, vllm_python

OTHERS = {"CUDA_CACHE_PATH", "FLASHINFER_WORKSPACE_BASE", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"}
"""Of CUDA, FlashInfer and torch, set by the start-up script."""


def arguments(release: str) -> list[str]:
    return list(container(release, "-vllm", "vllm")["args"])


def environment(release: str) -> list[str]:
    """Names that start like vLLM's own, from the container and from the start-up script."""
    script = (CHART / "files" / "start_vllm.sh").read_text()
    exported = [
        line.split()[1].partition("=")[0] for line in script.splitlines() if line.startswith("export ")
    ]
    assert set(exported) >= OTHERS
    given = [entry["name"] for entry in container(release, "-vllm", "vllm")["env"]]
    return [name for name in given + exported if name.startswith("VLLM_")]


PLANTED = [
    (["/m", "--quantisation-config={}"], [], "quantisation-config"),
    (["/m", "--moe-backend=trtllm"], [], "moe-backend"),
    (["/m", "--max-num-seqs=many"], [], "max-num-seqs"),
    (["/m", '--quantization-config={"moe":{"activation":"mxfp9"}}'], [], "mxfp9"),
    (["/m"], ["VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"], "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"),
]
"""Faults, the variable that 0.32 no longer knows among them."""


@cache
def judged() -> list[list[str]]:
    """What vLLM says of each release, then of each planted fault; in one process, as importing it is slow."""
    python = vllm_python()
    cases: list[dict[str, Any]] = [
        {"arguments": arguments(release), "environment": environment(release)} for release in RELEASES
    ]
    cases += [{"arguments": given, "environment": names} for given, names, _ in PLANTED]
    done = subprocess.run(
        [str(python), str(HERE / "vllm_parse.py")],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env=os.environ | {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return list(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_vllm_knows_every_flag_and_variable(release: str) -> None:
    assert judged()[list(RELEASES).index(release)] == []


@pytest.mark.slow
@pytest.mark.parametrize("index", range(len(PLANTED)))
def test_vllm_refuses_a_planted_fault(index: int) -> None:
    assert PLANTED[index][2] in " ".join(judged()[len(RELEASES) + index])


def test_values_become_flags() -> None:
    assert {
        "--enable-prefix-caching",
        "--kv-cache-dtype=fp8",
        "--max-model-len=32768",
        "--moe-backend=flashinfer_trtllm",
        '--quantization-config={"moe":{"activation":"mxfp8"}}',
        "--logprobs-mode=processed_logprobs",
        "--shutdown-timeout=120",
        "--served-model-name=agent-7-3f2c9a8b1d4e",
    } <= set(arguments("b200"))
    for release in ("h200", "h100", "cpu"):
        text = " ".join(arguments(release))
        assert "moe-backend" not in text and "mxfp8" not in text, "only Blackwell has MXFP8"
    assert "--enforce-eager" in arguments("cpu")
    assert "--tensor-parallel-size=2" in arguments("full")
    assert arguments("hub")[0] == "openai/gpt-oss-20b"
    assert "--revision=0123456789abcdef0123456789abcdef01234567" in arguments("hub")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("max-model-len=1048576", "--max-model-len=1048576"),
        ("gpu-memory-utilization=0.5", "--gpu-memory-utilization=0.5"),
        ("enable-prefix-caching=false", "--no-enable-prefix-caching"),
        ("kv-cache-dtype=a&b", "--kv-cache-dtype=a&b"),
    ],
)
def test_a_value_is_written_as_a_shell_would_get_it(given: str, expected: str) -> None:
    assert expected in container("b200", "-vllm", "vllm", f"--set=vllm.flags.{given}")["args"]


def test_null_leaves_a_flag_out() -> None:
    args = container("b200", "-vllm", "vllm", "--set=vllm.flags.kv-cache-dtype=null")["args"]
    assert not any("kv-cache-dtype" in one for one in args)


def test_gpus_are_asked_for_where_there_are_any() -> None:
    assert container("full", "-vllm", "vllm")["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert "nvidia.com/gpu" not in container("cpu", "-vllm", "vllm")["resources"]["limits"]
