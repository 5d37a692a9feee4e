"""Names the machine that numbers were measured on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path


def machine() -> str:
    """`Linux x86_64, 2 cores of AMD EPYC ..., 23 GiB, Python 3.11.9, torch 2.13.0`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return ", ".join(
        [
            f"{platform.system()} {platform.machine()}",
            f"{cores} cores of {_cpu()}",
            f"{memory:.0f} GiB",
            *_gpus(),
            f"Python {platform.python_version()}",
            f"torch {version('torch')}",
        ]
    )


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "an unnamed CPU")


def _gpus() -> list[str]:
    if not (program := shutil.which("nvidia-smi")):
        return []
    query = [program, "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
