"""Peak memory of this process and all its descendants."""

from __future__ import annotations

import threading

import psutil


class PeakMemory:
    """Samples while used as a context manager; `peak` is in bytes, shared pages counted once (PSS)."""

    def __init__(self, every: float = 1.0) -> None:
        self.peak = 0
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        own = psutil.Process()
        while True:
            self.peak = max(self.peak, sum(_bytes(p) for p in [own, *own.children(recursive=True)]))
            if self._stop.wait(self._every):
                return


def _bytes(process: psutil.Process) -> int:
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", full.rss))
    except psutil.Error:  # it ended between the listing and the look
        return 0
