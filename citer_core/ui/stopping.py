"""`Stopping`: how a page's process ends when it is told to: runs say so to their readers, then the server closes.

SIGTERM and Ctrl-C ask for it; a second one, or `PATIENCE_S` without an end, ends the process on the spot. Called
by `app`.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from citer_core.ui.run.desk import RunDesk

logger = logging.getLogger(__name__)
FAREWELL = (
    "This server is being stopped, so the run ended here. What was written is shown; run it again when it is back."
)
PATIENCE_S = 5.0  # for all of it
TELLING_S = 1.5  # of these: for the runs' last messages
# A service that ends when it is told to has done nothing wrong; Ctrl-C is what shells expect of it.
CODES = {"SIGTERM": 0, "SIGHUP": 0, "SIGINT": 130}


class Stopping:
    """The end of one process; made, and waited for, in its main thread."""

    def __init__(self, desk: RunDesk) -> None:
        self._desk = desk
        self._asked = threading.Event()
        self._code = 0

    def install(self) -> None:
        """Takes the signals. One that is ignored stays so, as `nohup` wants it."""
        for name in CODES:
            number = getattr(signal, name, None)  # Windows has fewer
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def wait(self) -> None:
        """Returns when the process has been told to end."""
        while not self._asked.wait(0.5):  # in steps, because some systems deliver no signal to a wait without an end
            pass

    def end(self, close: Callable[[], object]) -> NoReturn:
        """Tells the runs, closes the server, and ends the process with its exit code.

        Python is not taken down: a thread that computes or loads a model comes back from C++ into a Python that is
        gone, and C++ ends the process with SIGABRT.

        Args:
            close: closes the server; may take seconds.
        """
        last_resort = threading.Timer(PATIENCE_S, os._exit, (self._code,))
        last_resort.daemon = True
        last_resort.start()
        n_runs = self._desk.end_all(FAREWELL)
        logger.info("told to end: %d runs are ended first", n_runs)
        deadline = time.monotonic() + TELLING_S
        while self._desk.n_live and time.monotonic() < deadline:
            time.sleep(0.02)
        if n_runs:
            time.sleep(0.3)  # their last messages are on the way
        close()
        logger.info("ended")
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, AttributeError):  # closed, or never there
                stream.flush()
        os._exit(self._code)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        code = CODES[signal.Signals(number).name]
        if self._asked.is_set():
            os._exit(code or 128 + number)
        self._code = code
        self._asked.set()
