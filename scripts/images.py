"""Builds the container images with docker (`make images`); $DOCKER names another docker.

Of the three, `serve-gpu` takes gigabytes and FlashInfer's package index; building it needs no GPU.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = {
    "agent": ("context1-agent", "agent", []),
    "serve-cpu": ("context1-serve-cpu", "serve", ["VARIANT=cpu"]),
    "serve-gpu": ("context1-serve", "serve", ["VARIANT=gpu"]),
}
"""What is built -> name of the image, folder in images/, build arguments."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("images", nargs="+", choices=IMAGES)
    parser.add_argument("--registry", default="", help="put before the names: registry.example.com/ai")
    parser.add_argument("--options", default="", help="given to `docker build`: '--build-arg BASE=NAME'")
    parsed = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from context1 import __version__

    labels = [f"VERSION={__version__}", f"REVISION={git('rev-parse', 'HEAD')}"]
    labels.append(f"SOURCE={git('config', '--get', 'remote.origin.url')}")
    for image in parsed.images:
        name, folder, arguments = IMAGES[image]
        tag = "/".join([*filter(None, [parsed.registry]), f"{name}:{__version__}"])
        command = [os.environ.get("DOCKER", "docker"), "build", "--tag", tag]
        command += ["--file", f"images/{folder}/Dockerfile"]
        command += [word for argument in arguments + labels for word in ("--build-arg", argument)]
        print(f"=== {tag}", flush=True)
        environment = os.environ | {"DOCKER_BUILDKIT": "1"}
        command += [*shlex.split(parsed.options), "."]
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0:
            sys.exit(f"{tag} was not built")


def git(*arguments: str) -> str:
    """What git answers here; empty outside a repository, or if it has no answer."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
