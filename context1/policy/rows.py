"""Which seat holds which row of the store."""

from __future__ import annotations

from context1.policy.seats import Seat
from context1.policy.store import RowStore


class Rows:
    """The table of rows and their holders; moves keys and values along with the holders."""

    def __init__(self, store: RowStore) -> None:
        self.store = store
        self.count = store.rows
        self._holders: list[Seat | None] = [None] * store.rows

    def of(self, seat: Seat) -> int:
        """The row of a placed seat."""
        assert seat.row is not None
        return seat.row

    def release(self, seat: Seat) -> None:
        """The seat gives up its row and what it has cached."""
        if seat.row is not None:
            self._holders[seat.row] = None
        seat.row = None
        seat.cached = seat.cached[:0]

    def clear(self) -> None:
        """Every seat gives up its row."""
        for seat in list(self._holders):
            if seat is not None:
                self.release(seat)

    def place(self, seats: list[Seat]) -> None:
        """Moves `seats` into the rows 0..len-1, with what they have cached; others make way or lose their
        row.
        """
        inside = range(len(seats))
        wanted = {id(seat) for seat in seats}
        free = [row for row in inside if id(self._holders[row]) not in wanted]
        movers = [seat.row for seat in seats if seat.row is not None and seat.row >= len(seats)]
        self.exchange(free[: len(movers)], movers)
        vacant = iter(free[len(movers) :])
        for seat in seats:
            if seat.row is None:
                row = next(vacant)
                holder = self._holders[row]
                if holder is not None:
                    self.release(holder)
                self._holders[row], seat.row = seat, row

    def exchange(self, first: list[int], second: list[int], width: int | None = None) -> None:
        """Swaps rows pairwise, holders and contents; `width` positions, or all that any holder has cached."""
        if width is None:
            width = max((len(seat.cached) for seat in self._holders if seat is not None), default=0)
        self.store.swap(first, second, width)
        for left, right in zip(first, second, strict=True):
            self._holders[left], self._holders[right] = self._holders[right], self._holders[left]
            for row in (left, right):
                seat = self._holders[row]
                if seat is not None:
                    seat.row = row
