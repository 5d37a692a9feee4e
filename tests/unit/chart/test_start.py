"""The script that becomes vLLM, with stand-ins for `vllm` and `nvidia-smi` that tell what they got."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.unit.chart.chart import CHART

VLLM = """#!/bin/sh
for argument in "$@"; do echo "argument: $argument"; done
env | grep -E 'CACHE|WORKSPACE'
"""


def start(tmp_path: Path, image: str, nvidia_smi: str | None, *arguments: str) -> list[str]:
    """Lines that the stand-in for vLLM printed."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    scripts = {"vllm": VLLM} | ({"nvidia-smi": f"#!/bin/sh\n{nvidia_smi}\n"} if nvidia_smi else {})
    for name, script in scripts.items():
        (tools / name).write_text(script)
        (tools / name).chmod(0o755)
    environment = {
        "PATH": f"{tools}:/usr/bin:/bin",
        "IMAGE": image,
        "COMPILE_ROOT": str(tmp_path / "compile"),
    }
    command = ["/bin/sh", str(CHART / "files" / "start_vllm.sh"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.splitlines()


def cache(lines: list[str]) -> str:
    """The folder of compile caches."""
    (line,) = [line for line in lines if line.startswith("VLLM_CACHE_ROOT=")]
    return line.removeprefix("VLLM_CACHE_ROOT=").removesuffix("/vllm")


def test_arguments_arrive_as_they_are(tmp_path: Path) -> None:
    given = ["/models/a b", '--quantization-config={"moe":{"activation":"mxfp8"}}', "$(reboot)"]
    lines = start(tmp_path, "serve@sha256:1", None, *given)
    assert [line for line in lines if line.startswith("argument: ")] == [
        f"argument: {one}" for one in ["serve", *given]
    ]


def test_each_image_and_gpu_has_a_folder_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    b200 = "echo NVIDIA B200; echo NVIDIA B200"
    first = cache(start(tmp_path, "serve@sha256:1", b200))
    assert cache(start(tmp_path, "serve@sha256:1", b200)) == first
    others = {
        cache(start(tmp_path, "serve@sha256:2", b200)),
        cache(start(tmp_path, "serve@sha256:1", "echo NVIDIA H200")),
        cache(start(tmp_path, "serve@sha256:1", "echo 'NVIDIA H100 80GB HBM3'")),
    }
    assert len(others | {first}) == 4
    for folder in others | {first}:
        assert Path(folder).parent == tmp_path / "compile"
        assert Path(folder).is_dir()
    assert first.endswith("-NVIDIA-B200")


@pytest.mark.parametrize("nvidia_smi", [None, "exit 9", "echo 'no devices' >&2; exit 6"])
def test_without_a_gpu_the_folder_is_the_cpus(tmp_path: Path, nvidia_smi: str | None) -> None:
    assert cache(start(tmp_path, "serve:1", nvidia_smi)).endswith("-cpu")


def test_every_cache_lies_below_that_folder(tmp_path: Path) -> None:
    lines = start(tmp_path, "serve:1", None)
    folder = cache(lines)
    names = {"VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE"}
    found = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("argument"))
    for name in names | {"CUDA_CACHE_PATH"}:
        assert found[name].startswith(f"{folder}/")


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "compile").write_text("a file, no folder")
    with pytest.raises(subprocess.CalledProcessError):
        start(tmp_path, "serve:1", None)
