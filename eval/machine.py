"""Names the machine that numbers were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch


def machine() -> str:
    """`Linux x86_64, 2 cores of AMD EPYC ..., 23 GiB, Python 3.11.9, torch 2.13.0`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{platform.system()} {platform.machine()}, {cores} cores of {_cpu()}, {memory:.0f} GiB{gpu}, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "an unnamed CPU")
