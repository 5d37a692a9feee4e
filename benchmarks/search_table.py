"""Rows of a benchmark: what was measured, and the bar that it must reach."""

from __future__ import annotations


class Rows:
    """Prints a row at a time; `missed` holds the labels of those below their bar."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def title(self, text: str) -> None:
        print(f"\n{text}", flush=True)

    def row(
        self, label: str, value: float, unit: str, *, least: float | None = None, most: float | None = None
    ) -> None:
        """A bar is stated by `least` or `most`, in the row's unit."""
        number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
        bar = f"must be >= {least:,g}" if least is not None else f"must be <= {most:,g}" if most else ""
        failed = (least is not None and value < least) or (most is not None and value > most)
        if failed:
            self.missed.append(label)
        print(f"  {label:<50} {number:>8} {unit:<7} {bar}{'  MISSED' if failed else ''}".rstrip(), flush=True)

    def note(self, text: str) -> None:
        print(f"  {text}", flush=True)

    def end(self) -> int:
        """Says which bars were missed; the exit code."""
        print("\n" + (f"missed: {'; '.join(self.missed)}" if self.missed else "all bars are reached"))
        return int(bool(self.missed))
