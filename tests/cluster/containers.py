"""Containers as a strict cluster runs them: a read-only root, any user, no capabilities; and no network."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from context1 import __version__

Environment = dict[str, str]
STRICT = (
    "--rm", "--network=none", "--read-only", "--tmpfs=/tmp:rw,exec,mode=1777", "--user=12345:0",
    "--cap-drop=ALL", "--security-opt=no-new-privileges", "--shm-size=256m",
)  # fmt: skip


def contained(
    docker: Environment,
    image: str,
    *command: str,
    folder: Path | None = None,
    env: dict[str, str] | None = None,
) -> str:
    """Output of a command in a new container, with `folder` at /data. Raises RuntimeError if it fails."""
    options = [f"--env={name}={value}" for name, value in (env or {}).items()]
    if folder:
        options.append(f"--volume={folder}:/data")
    run = [docker["DOCKER"], "run", *STRICT, *options, "--entrypoint=", f"{image}:{__version__}", *command]
    done = subprocess.run(
        run, env=docker, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{image}: {' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def inspected(docker: Environment, image: str) -> Any:
    """What `docker image inspect` knows."""
    command = [docker["DOCKER"], "image", "inspect", f"{image}:{__version__}"]
    return json.loads(subprocess.run(command, env=docker, capture_output=True, check=True).stdout)[0]
