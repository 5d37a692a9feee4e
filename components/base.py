"""What every component's definition shares. Not for a running task: there `kfp.dsl` has no `component`."""

from __future__ import annotations

import functools

from kfp import dsl

IMAGE = "context1-python:0.1.0"
"""Has this package and kfp baked in; nothing is installed when a task starts."""

component = functools.partial(dsl.component, base_image=IMAGE, install_kfp_package=False)
"""Decorator of all components."""
