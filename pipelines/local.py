"""Pipelines on this machine, by kfp's local runners: a process a step, or a container a step."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kfp import dsl, local

from context1.errors import InputError

PASSED = (
    "CONTEXT1_",
    "MLFLOW_",
    "AWS_",
    "OMP_",
    "DS_",
    "PROGRESS_",
    "PYTHONUNBUFFERED",
    "NO_PROXY",
    "no_proxy",
)
"""Beginnings of the variables that containers get of ours: settings, tracking, storage, threads."""


def run(
    pipeline: dsl.base_component.BaseComponent,
    arguments: dict[str, Any],
    folder: Path,
    runner: local.SubprocessRunner | local.DockerRunner,
) -> None:
    """Runs the pipeline with these arguments; the runner's files are in `folder`.

    Raises `RuntimeError` if a step fails, after the exit handler has run.
    """
    local.init(runner, pipeline_root=str(folder))
    with warnings.catch_warnings():
        # kfp suspects every image whose name does not say `python`.
        warnings.filterwarnings("ignore", "You may be attemping", RuntimeWarning)
        # And says of each step that what only pods have is not to be had here.
        warnings.filterwarnings("ignore", "Task '.*': settings .* have no effect", UserWarning)
        pipeline(**arguments)


def subprocesses() -> local.SubprocessRunner:
    """Steps as processes of this Python, with its packages."""
    return local.SubprocessRunner(use_venv=False)


def containers(folders: Iterable[Path], environment: Mapping[str, str] | None = None) -> local.DockerRunner:
    """Steps as containers that see these folders at their own paths, on the host's network.

    They run as a pod of a namespace with `restricted` would: no capabilities, a read-only root file system,
    and as the user that started them, so that what they write is theirs. Raises `InputError` without docker.
    """
    import docker
    from kfp.local import docker_task_handler as handler

    try:
        client = docker.from_env()
        client.ping()
        client.close()
    except docker.errors.DockerException as error:
        raise InputError(
            f"--runner docker: no docker daemon answers ({error}); start one, or use subprocess"
        ) from None
    volumes = {str(folder.resolve()): {"bind": str(folder.resolve()), "mode": "rw"} for folder in folders}
    handler.run_docker_container = _container_step(volumes)
    ours = {name: value for name, value in os.environ.items() if name.startswith(PASSED)}
    return local.DockerRunner(
        environment={"HOME": "/tmp", **ours, **(environment or {})},
        user=f"{os.getuid()}:{os.getgid()}",
        network_mode="host",
        read_only=True,
        tmpfs={"/tmp": "rw,exec,mode=1777"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        shm_size="1g",
    )


def _container_step(ours: Mapping[str, Any]) -> Any:
    """What runs a step in place of kfp's function, which can take a failed container for a good one.

    kfp removes the container before it asks for the exit code, and reads the answer "not found" as success.
    """

    def run_step(client: Any, image: str, command: list[str], volumes: dict[str, Any], **options: Any) -> int:
        _need_image(client, image)
        container = client.containers.create(image, command, volumes={**volumes, **ours}, **options)
        try:
            container.start()
            for piece in container.logs(stream=True, follow=True):
                print(piece.decode(errors="replace"), end="")
            return int(container.wait()["StatusCode"])
        finally:
            container.remove(force=True)

    return run_step


def _need_image(client: Any, image: str) -> None:
    import docker

    try:
        client.images.get(image)
    except docker.errors.ImageNotFound:
        if "@" not in image:
            raise RuntimeError(
                f"image {image} is not here: build it with `make images`, or name a lock with --images"
            ) from None
        print(f"Pulling {image}")
        client.images.pull(image)
