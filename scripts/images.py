"""Builds the container images with docker (`make images`); $DOCKER names another docker.

The GPU images take gigabytes, and serve-gpu FlashInfer's package index; building them needs no GPU.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from context1 import __version__  # noqa: E402 - the scripts are in no package

IMAGES = {
    "base": ("context1-base", "base", []),
    "train-cpu": ("context1-train-cpu", "train", ["VARIANT=cpu"]),
    "train-gpu": ("context1-train", "train", ["VARIANT=gpu"]),
    "eval-cpu": ("context1-eval-cpu", "eval", ["VARIANT=cpu"]),
    "eval-gpu": ("context1-eval", "eval", ["VARIANT=gpu"]),
    "agent": ("context1-agent", "agent", []),
    "serve-cpu": ("context1-serve-cpu", "serve", ["VARIANT=cpu"]),
    "serve-gpu": ("context1-serve", "serve", ["VARIANT=gpu"]),
}
"""What is built -> name of the image, folder in images/, build arguments."""
DOCKER = os.environ.get("DOCKER", "docker")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("images", nargs="+", choices=IMAGES)
    parser.add_argument("--options", default="", help="given to `docker build`: '--build-arg BASE=NAME'")
    parsed = parser.parse_args()

    labels = [f"VERSION={__version__}", f"REVISION={git('rev-parse', 'HEAD')}"]
    labels.append(f"SOURCE={git('config', '--get', 'remote.origin.url')}")
    for image in parsed.images:
        _, folder, arguments = IMAGES[image]
        command = [DOCKER, "build", "--tag", tag_of(image), "--file", f"images/{folder}/Dockerfile"]
        command += [word for argument in arguments + labels for word in ("--build-arg", argument)]
        command += [*shlex.split(parsed.options), "."]
        print(f"=== {tag_of(image)}", flush=True)
        environment = os.environ | {"DOCKER_BUILDKIT": "1"}
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0:
            sys.exit(f"{tag_of(image)} was not built")


def tag_of(image: str) -> str:
    """The local name of an image of this version: `context1-base:0.1.0`."""
    return f"{IMAGES[image][0]}:{__version__}"


def refuse_missing(images: list[str]) -> None:
    """Ends the program if docker lacks one, and says how to build it."""
    command = [DOCKER, "image", "inspect", "--format", "{{.Id}}"]
    found = [subprocess.run([*command, tag_of(image)], capture_output=True, check=False) for image in images]
    missing = [image for image, done in zip(images, found, strict=True) if done.returncode != 0]
    if missing:
        reason = next(done for done in found if done.returncode != 0).stderr.decode(errors="replace").strip()
        names = " ".join(missing)
        sys.exit(f'not built: {names}; build with: make images IMAGES="{names}" (docker: {reason})')


def git(*arguments: str) -> str:
    """What git answers here; empty outside a repository, or if it has no answer."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
