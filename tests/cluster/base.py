"""A base image, and one to install packages with, for a machine that can pull neither.

Packages are downloaded by this machine's own pip, with its settings, and reach the build as files.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

BASE = "context1-debian:bookworm"
DEBIAN = ["--variant=minbase", "--include=python3,python3-venv,ca-certificates", "bookworm"]
MIRROR = "http://deb.debian.org/debian"
BUILDER = "FROM {base}\nCOPY wheels /wheels\nENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels\n"

SOURCES = {"deepspeed", "kfp-server-api"}
"""Packages without a wheel on the index. Those made here are pure Python, for any version of it."""

Environment = dict[str, str]
"""In which `$DOCKER` talks to the daemon."""


def base_image(environment: Environment, archive: Path) -> str:
    """The tag of a small Debian 12 with its Python 3.11. `archive` keeps its files for another daemon."""
    if not archive.exists():
        with tempfile.TemporaryDirectory(prefix="base-") as scratch:
            root = f"{scratch}/root"
            run(["debootstrap", *DEBIAN, root, MIRROR])
            half = archive.with_suffix(".partial")
            run(["tar", "-C", root, "--exclude=./var/cache/apt/archives/*.deb", "-cf", str(half), "."])
            half.replace(archive)
    if not exists(environment, BASE):
        run([environment["DOCKER"], "import", str(archive), BASE], environment)
    return BASE


def builder_image(environment: Environment, locks: list[Path]) -> str:
    """The tag of the base with a wheel of every package in the lock files; made again when they change."""
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()
    tag = f"context1-builder:{digest[:12]}"
    if not exists(environment, tag):
        with tempfile.TemporaryDirectory(prefix="builder-") as folder:
            with ThreadPoolExecutor() as pool:  # most of the time is the index's
                list(pool.map(partial(download, folder=f"{folder}/wheels"), locks))
            (Path(folder) / "Dockerfile").write_text(BUILDER.format(base=BASE))
            docker_build(environment, "--tag", tag, folder)
    return tag


def download(lock: Path, folder: str) -> None:
    """Puts a wheel for Python 3.11 of every package in the lock file into the folder."""
    lines = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
    built = [line for line in lines if line.partition("==")[0] in SOURCES]
    pip = [sys.executable, "-m", "pip"]
    download = [*pip, "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version=3.11"]
    run([*download, "--dest", folder, *(line for line in lines if line not in built)])
    if built:
        wheel = [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, *built]
        run(wheel, dict(os.environ) | {"DS_BUILD_OPS": "0"})


def exists(environment: Environment, tag: str) -> bool:
    command = [environment["DOCKER"], "image", "inspect", tag]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def docker_build(environment: Environment, *arguments: str) -> None:
    run([environment["DOCKER"], "build", *arguments], environment | {"DOCKER_BUILDKIT": "1"})


def run(command: list[str], environment: Environment | None = None) -> None:
    """Runs it, its output shown; raises CalledProcessError if it fails."""
    program = shutil.which(command[0]) or command[0]
    subprocess.run([program, *command[1:]], env=environment, check=True, stdin=subprocess.DEVNULL)
