"""What every component's definition shares. Not for a running task: there `kfp.dsl` has no `component`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kfp import dsl

from context1 import __version__

BASE, TRAIN, EVAL = "context1-base", "context1-train", "context1-eval"
"""The images that steps run on; each has this package and kfp baked in, so nothing is installed at start."""


def placeholder(image: str) -> str:
    """What compiled pipelines hold until a digest takes its place: `context1-base:0.1.0`."""
    return f"{image}:{__version__}"


def component(image: str = BASE) -> Callable[..., Any]:
    """Decorator of all components: a Python function that runs on `image`."""
    return functools.partial(dsl.component, base_image=placeholder(image), install_kfp_package=False)
