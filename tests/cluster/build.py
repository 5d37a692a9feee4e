"""Builds the CPU images and leaves them in archives for the cluster tests (`make cluster-images`).

    python -m tests.cluster.build [chart] [stages]

Needs root and `make cluster-tools`, but no image from elsewhere. A second run builds what changed.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from context1 import __version__
from tests.cluster.base import base_image, builder_image, docker_build, run
from tests.cluster.dockerd import docker_daemon

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "cluster"
ARCHIVE, PIPELINE_ARCHIVE = FOLDER / "images.tar", FOLDER / "pipeline.tar"
"""The images of the chart, and those of the stages."""
IMAGES = {"chart": ("agent", "serve-cpu"), "stages": ("base", "train-cpu", "eval-cpu")}
LOCKS = {
    "chart": ("agent/requirements.lock", "serve/requirements-cpu.lock"),
    "stages": ("base/requirements.lock", "eval/requirements-cpu.lock", "train/requirements.lock"),
}
STUB = ROOT / "tests" / "cluster" / "stub"
TOOLS = ("dockerd", "debootstrap", "tar")
NAMES = {
    "chart": (ARCHIVE, ("context1-agent", "context1-serve-cpu", "context1-stub")),
    "stages": (PIPELINE_ARCHIVE, ("context1-base", "context1-train-cpu", "context1-eval-cpu")),
}


def main() -> None:
    wanted = sys.argv[1:] or list(IMAGES)
    if unknown := set(wanted) - set(IMAGES):
        sys.exit(f"no images of {', '.join(sorted(unknown))}; there are: {', '.join(IMAGES)}")
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        sys.exit(f"missing: {', '.join(missing)}; `make cluster-tools` installs them")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the daemon ends with this process
    FOLDER.mkdir(parents=True, exist_ok=True)
    run([sys.executable, str(ROOT / "scripts" / "fetch_o200k.py")])
    with docker_daemon(FOLDER / "docker") as environment:
        with timed("base"):
            base = base_image(environment, FOLDER / "base.tar")
        with timed("packages"):
            locks = [ROOT / "images" / lock for part in wanted for lock in LOCKS[part]]
            builder = builder_image(environment, locks)
        options = f"--network host --build-arg BASE={base} --build-arg BUILDER={builder}"
        for image in [image for part in wanted for image in IMAGES[part]]:
            with timed(image):
                build = [sys.executable, str(ROOT / "scripts/images.py"), image, "--options", options]
                run(build, environment)
        with timed("stub"):
            tag = f"context1-stub:{__version__}"
            docker_build(environment, "--build-arg", f"BASE={base}", "--tag", tag, str(STUB))
        for archive, names in (NAMES[part] for part in wanted):
            with timed(archive.name):
                save(environment, archive, [f"{name}:{__version__}" for name in names])


def save(environment: dict[str, str], archive: Path, tags: list[str]) -> None:
    half = archive.with_suffix(".partial")  # a half-written one is never taken for whole
    run([environment["DOCKER"], "save", "--output", str(half), *tags], environment)
    half.replace(archive)


@contextmanager
def timed(what: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    print(f"--- {what}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
