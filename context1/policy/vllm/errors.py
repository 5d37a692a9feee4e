"""Why a try at the server came to nothing."""

from __future__ import annotations


class Failure(Exception):
    """One try failed. `again`: no token had come, and the same request may do better later."""

    def __init__(self, cause: str, text: str, again: bool, wait: float = 0.0) -> None:
        """`cause` is the counters' word for it; `wait` the seconds that the server asks for."""
        super().__init__(text)
        self.cause = cause
        self.again = again
        self.wait = wait


def malformed(what: str) -> Failure:
    """For an answer that is no good, and would not be better the next time."""
    return Failure("answer", f"a malformed answer: {what}", again=False)
