"""Where work beside the event loop runs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any


def executor(threads: int, name: str, connections: int = 0, shared: Executor | None = None) -> Executor:
    """So many threads; 0: the caller's own, for training, whose event loop has nothing else to do.

    What waits for a server (`connections`) gets as many as those. What computes takes the `shared` threads,
    if there are any: more that compute than there are cores keep the event loop from its turn.
    """
    if shared and not connections:
        return shared
    threads = max(threads, connections)
    return ThreadPoolExecutor(threads, name) if threads else _InThisThread()


class _InThisThread(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
