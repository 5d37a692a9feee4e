"""The process group that the ranks of a training run share; one process is a group of one."""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")

RENDEZVOUS = "CONTEXT1_RENDEZVOUS"
"""File through which the ranks of one machine find each other; without it, MASTER_ADDR and MASTER_PORT."""
TIMEOUT = timedelta(minutes=60)
"""Longest wait for a slower rank: a wave of rollouts may take this long."""


def start(device: Literal["auto", "cpu", "cuda"] = "auto") -> torch.device:
    """Joins the group named by RANK, WORLD_SIZE and the rendezvous; alone when they are not set.

    Returns this rank's device. Also sets what DeepSpeed reads from the environment when it is imported.
    """
    cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    os.environ.setdefault("DS_ACCELERATOR", "cuda" if cuda else "cpu")
    os.environ.setdefault("DS_BUILD_OPS", "0")
    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    local = int(os.environ.setdefault("LOCAL_RANK", "0"))
    if not dist.is_initialized():
        rank_, world_ = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        file = os.environ.get(RENDEZVOUS)
        store: Any = None
        if world_ == 1:
            store = dist.HashStore()
        elif file:
            store = dist.FileStore(str(Path(file).absolute()), world_)
        dist.init_process_group(
            "nccl" if cuda else "gloo", store=store, rank=rank_, world_size=world_, timeout=TIMEOUT
        )
    if cuda:
        torch.cuda.set_device(local)
    return torch.device("cuda", local) if cuda else torch.device("cpu")


def stop() -> None:
    """Leaves the group."""
    if dist.is_initialized():
        dist.destroy_process_group()


def rank() -> int:
    """This process's number, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def first_of_machine() -> bool:
    """Whether this is the rank that tends its machine's folder."""
    return not dist.is_initialized() or os.environ.get("LOCAL_RANK", "0") == "0"


def world() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def barrier() -> None:
    """Waits until every rank is here."""
    if world() > 1:
        dist.barrier()


def gathered(item: T) -> list[T]:
    """The item of each rank, in rank order, on every rank."""
    if world() == 1:
        return [item]
    items: list[Any] = [None] * world()
    dist.all_gather_object(items, item)
    return items


def prepared_deepspeed() -> Any:
    """The deepspeed module, without its chatter and without its just-in-time build.

    On CPU it would compile a shared-memory all-reduce at start: a minute, and a C++ compiler that the
    machine may not have. gloo does the same.
    """
    import deepspeed  # slow to import, and it reads the environment that start() has set

    logging.getLogger("DeepSpeed").setLevel(logging.WARNING)
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    return deepspeed
