"""What an episode is called on the server, and the seeds of its turns."""

from __future__ import annotations

import hashlib
import re

from context1.policy.policy import EpisodeKey

NAME_CHARACTERS = 64
"""Most of a task's id that is kept in a name."""


def session_name(key: EpisodeKey) -> str:
    """Names the episode in headers and logs: readable, safe whatever the task is called, unlike any other."""
    task = re.sub(r"[^A-Za-z0-9_.-]+", "_", key.task_id)[:NAME_CHARACTERS]
    return f"{key.seed}-{key.step}-{task}-{key.rollout}-{_digest(key, 'session').hex()[:8]}"


def seed_of(key: EpisodeKey, turn: int) -> int:
    """Seed of the episode's `turn`-th sample, in [0, 2^63)."""
    return int.from_bytes(_digest(key, f"turn {turn}")[:8], "little") >> 1


def _digest(key: EpisodeKey, purpose: str) -> bytes:
    name = f"{purpose}|{key.seed}|{key.step}|{key.task_id}|{key.rollout}"
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
