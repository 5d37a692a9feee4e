"""Keep freed memory in the process instead of handing it back to the kernel after every tensor."""

from __future__ import annotations

import ctypes
import functools

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8


@functools.cache
def keep_heap() -> bool:
    """Sets glibc's allocator so that tensors of a few megabytes are not mapped and unmapped time and again.

    The page faults of that cost a tiny model's training a fifth of its time. Returns False where the C
    library has no `mallopt`; nothing changes there.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    done = mallopt(_MMAP_THRESHOLD, 1 << 30) and mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    # One arena: threads (the sampler's, for one) share the kept memory.
    return bool(done and mallopt(_ARENA_MAX, 1))
