"""`MemoryKeeper`: hands freed memory back to the system while something is computed, and once nothing is any more.

The C library keeps what a thread has freed for that thread's next request, and a page computes in many threads, so that
a process would hold the sum of their peaks for ever. Looks at the process's size, and asks the library for what is free
only where it has grown: that takes some 30 ms of one core, without the interpreter's lock. Knows nothing about what is
computed; `app` makes one, and the engine's slot tells it who computes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from citer_core.system_memory import resident_bytes, trim

LOOK_S = 1.0
QUIET_S = 0.5
LATE_S = 4.0
MOST_WHILE_BUSY = 48_000_000  # bytes of growth until memory is asked for back
MOST_AT_REST = 2_000_000


class MemoryKeeper:
    """One thread, which begins with the first computation and sleeps while there is none.

    Args:
        look_s: between two looks while something is computed.
        quiet_s: from the end of a computation to the look after it; others may begin meanwhile.
        late_s: from there to another look.
        resident: says the process's bytes in memory, None where that is not known; then it does nothing.
        give: hands free memory back.
    """

    def __init__(
        self,
        *,
        look_s: float = LOOK_S,
        quiet_s: float = QUIET_S,
        late_s: float = LATE_S,
        resident: Callable[[], int | None] = resident_bytes,
        give: Callable[[], None] = trim,
    ) -> None:
        self._look_s, self._quiet_s, self._late_s = look_s, quiet_s, late_s
        self._resident, self._give = resident, give
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._n_busy = 0
        self._floor: int | None = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Something is computed from now on; returns at once, from any thread."""
        with self._lock:
            self._n_busy += 1
            if self._thread is None:
                self._floor = self._resident()
                self._thread = threading.Thread(target=self._keep, name="memory-keeper", daemon=True)
                self._thread.start()
        self._changed.set()

    def end(self) -> None:
        """It has ended; once for each `begin`."""
        with self._lock:
            self._n_busy -= 1
        self._changed.set()

    def _keep(self) -> None:
        while self._floor is not None:
            self._changed.wait()
            self._changed.clear()
            while self._n_busy:
                self._changed.wait(self._look_s)
                self._changed.clear()
                self._look(MOST_WHILE_BUSY)
            for pause in (self._quiet_s, self._late_s):  # the answer is still on its way when its computation has ended
                if self._changed.wait(pause):
                    break
                self._look(MOST_AT_REST)

    def _look(self, most: int) -> None:
        """Gives back where the process has grown by more than `most` bytes since it last did."""
        now = self._resident()
        if now is None or self._floor is None or now - self._floor <= most:
            return
        self._give()
        self._floor = self._resident()
