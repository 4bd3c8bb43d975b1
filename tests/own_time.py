"""What a piece of code itself takes: not what other threads of the tests' process do beside it, not a collection of
all that other tests have left (half a second in a process that has held models), and not what the machine is busy with.
"""

from __future__ import annotations

import gc
import time
from types import TracebackType


class OwnTime:
    """`with OwnTime() as spent: ...`, then `spent.seconds`: processor seconds of this thread, without collections."""

    seconds: float

    def __enter__(self) -> OwnTime:
        self._collects = gc.isenabled()
        gc.disable()
        self._began = time.thread_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.thread_time() - self._began
        if self._collects:
            gc.enable()
