"""`images.lock`: the images that were pushed, each by its digest."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, ValidationError

from context1.errors import InputError

PINNED = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")


class Lock(BaseModel):
    """The file: `{"images": {"context1-base": "registry.example.com/context1-base@sha256:..."}}`."""

    images: dict[str, str]


def read_lock(path: Path) -> dict[str, str]:
    """Name of each image to its reference. Raises `InputError` for a reference that is not a digest.

    A tag can move, and what KFP has cached under it then stands for other bytes.
    """
    try:
        images = Lock.model_validate_json(path.read_bytes()).images
    except OSError as error:
        raise InputError(f"{path}: cannot read it ({error.strerror}); `make images-push` writes it") from None
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"]))
        raise InputError(f"{path}: not a lock of images: {place} {problem['msg']}") from None
    for name, reference in images.items():
        if not PINNED.fullmatch(reference):
            raise InputError(
                f"{path}: {name} is `{reference}`, not a digest (NAME@sha256:...); `make images-push` "
                "writes those"
            )
    return images


def need_images(images: dict[str, str], names: list[str], path: Path) -> dict[str, str]:
    """The lock's images of these names. Raises `InputError` for one that it lacks."""
    if missing := [name for name in names if name not in images]:
        raise InputError(f"{path}: has no {missing[0]}; push it with `make images-push`")
    return {name: images[name] for name in names}
