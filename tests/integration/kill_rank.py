"""Run as each rank by test_kill.py: the real worker, which kills itself at a given moment.

`kill_rank.py JOB [MOMENT COUNT]`: the COUNT-th moment of the kind `episode`, `update`, `write` or `point`.
Rewards are made up from what was sampled: a model as small and untrained as the test's earns none, and
without them nothing is updated.
"""

import os
import signal
import sys
import zlib
from collections.abc import Callable
from typing import Any

import torch

from context1.rewards.reward import Reward
from context1.schema import Task, Trajectory
from context1.training import checkpoint, scoring, worker
from context1.training.trainer import Trainer
from context1.training.waves import Player


def dies_at(count: int, function: Callable[..., Any], rank: int) -> Callable[..., Any]:
    """The function, but its `count`-th call on `rank` is a kill -9."""
    calls = 0

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += os.environ["RANK"] == str(rank)
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)

    return wrapper


def arm(moment: str, count: int) -> None:
    """Plants the kill."""
    if moment == "episode":  # of rank 1's, as it ends
        ended = dies_at(count, lambda: None, rank=1)
        play = Player.play

        def playing(self: Player, step: int, tasks: Any, wave: Any, on_done: Any) -> Any:
            return play(self, step, tasks, wave, lambda trajectory: (ended(), on_done(trajectory)))

        Player.play = playing  # type: ignore[method-assign]
    elif moment == "update":  # after the backward pass, before the optimizer's step
        Trainer._step = dies_at(count, Trainer._step, rank=0)  # type: ignore[method-assign]
    elif moment == "write":  # of one of a checkpoint's files
        torch.save = dies_at(count, torch.save, rank=1)
    elif moment == "point":  # a checkpoint has its name, `latest` does not point at it yet
        checkpoint.atomic_write = dies_at(  # type: ignore[attr-defined]
            count, checkpoint.atomic_write, rank=0
        )


def made_up_reward(task: Task, trajectory: Trajectory, *_: Any) -> Reward:
    """A number in [0, 1) from the sampled ids."""
    ids = [span.ids for span in trajectory.spans if span.kind == "sampled"]
    return Reward(zlib.crc32(str(ids).encode()) / 2**32, {"made_up": 1.0})


if __name__ == "__main__":
    scoring.reward = made_up_reward  # type: ignore[attr-defined]
    if sys.argv[2:]:
        arm(sys.argv[2], int(sys.argv[3]))
    sys.exit(worker.main(sys.argv[1:2]))
