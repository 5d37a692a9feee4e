"""Loaded by every Python of a test's pods (and of its run on this machine), for what a test needs in a rank.

Rewards are made up, as in tests/integration/kill_rank.py: a tiny model earns none. CONTEXT1_TEST_FREEZE, as
`update:2` or `write:2`, stops rank 1 for good at its so-manieth update or written file, in the first attempt
alone: a moment at which a test can kill its pod.
"""

import os
import sys
import time
import zlib
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

# This folder has taken the place of the image's own path.
sys.path += [str(folder) for folder in sorted(Path("/opt").glob("*")) if str(folder) not in sys.path]

MOMENT, _, COUNT = os.environ.get("CONTEXT1_TEST_FREEZE", ":").partition(":")
ARMED = os.environ.get("CONTEXT1_TEST_ATTEMPT") == "0" and os.environ.get("RANK") == "1"


def freezing(function: Any) -> Any:
    calls = 0

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if ARMED and calls == int(COUNT):
            print(f"frozen in {MOMENT} {COUNT}", flush=True)
            time.sleep(3600)
        return function(*args, **kwargs)

    return wrapper


def made_up_reward(task: Any, trajectory: Any, *_: Any) -> Any:
    from context1.rewards.reward import Reward

    ids = [span.ids for span in trajectory.spans if span.kind == "sampled"]
    return Reward(zlib.crc32(str(ids).encode()) / 2**32, {"made_up": 1.0})


def change(module: Any) -> None:
    if module.__name__.endswith("scoring"):
        module.reward = made_up_reward
    elif module.__name__.endswith("trainer") and MOMENT == "update":
        module.Trainer._step = freezing(module.Trainer._step)
    elif module.__name__.endswith("checkpoint") and MOMENT == "write":
        module.torch.save = freezing(module.torch.save)


class Changed(MetaPathFinder):
    """Changes modules of the training room as they are loaded."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if not name.startswith("context1.training."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            load = spec.loader.exec_module

            def changed(module: Any) -> None:
                load(module)
                change(module)

            spec.loader.exec_module = changed  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, Changed())
