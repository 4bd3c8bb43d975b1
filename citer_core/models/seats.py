"""`Seats`: the seats of one model, lent to one run each; a seat and its graphs outlive the run.

Knows nothing about what a seat is used for. Owned by `LanguageModel`, so all of it goes with the model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from citer_core.models.seat import Seat

MOST_IDLE = 4


class Seats:
    """Seats that are made when none is free.

    Args:
        make: a seat for so many tokens.
    """

    def __init__(self, make: Callable[[int], Seat]) -> None:
        self._make = make
        self._idle: list[Seat] = []
        # A run that was left is ended wherever rubbish is collected, which may be while this lock is held.
        self._lock = threading.RLock()

    @contextmanager
    def lend(self, n_positions: int) -> Iterator[Seat]:
        """An empty seat with room for so many tokens, for as long as the context is open.

        One that something failed on is not lent again. At most `MOST_IDLE` wait for the next run, those used last.
        """
        seat = self._take(n_positions)
        if seat is None:
            seat = self._make(n_positions)
        else:
            seat.clear()  # not when it is given back: that may be while another is captured, which would take it along
        yield seat
        self._give(seat)

    def _take(self, n_positions: int) -> Seat | None:
        with self._lock:
            fitting = [seat for seat in self._idle if seat.capacity >= n_positions]
            if not fitting:
                return None
            best = min(fitting, key=lambda seat: seat.capacity)
            self._idle = [seat for seat in self._idle if seat is not best]
            return best

    def _give(self, seat: Seat) -> None:
        with self._lock:
            self._idle = [*self._idle, seat][-MOST_IDLE:]
