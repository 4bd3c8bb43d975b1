"""`large_import`: importing a library of thousands of modules without getting in the way of the rest of the process.

Standard library only. Called where a process starts.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder


@contextmanager
def large_import(name: str, before_each: Callable[[], None] | None = None) -> Iterator[None]:
    """Around the first import of a module; around later ones it does nothing.

    gradio and torch with transformers leave half a million objects. Python's collector goes through all of them each
    time their number has grown by a quarter, and finds nothing: a fifth of the time that the imports take. So it rests
    meanwhile. What is there afterwards stays until the process ends; later collections, each of which would stop a run
    for a fifth of a second, leave it out (`gc.freeze`).

    Args:
        name: of the module.
        before_each: called before each module that this thread imports meanwhile. It may wait, so that other threads
            get on, which an import leaves little room for.
    """
    if name in sys.modules:
        # Nothing large comes now; and what is there may hold models, which a collection has to find when they go.
        yield
        return
    was_enabled = gc.isenabled()
    gc.disable()
    pauses = _Pauses(before_each)
    sys.meta_path.insert(0, pauses)
    try:
        yield
        gc.freeze()
    finally:
        sys.meta_path.remove(pauses)
        if was_enabled:
            gc.enable()


class _Pauses(MetaPathFinder):
    """Finds nothing: being asked is what it is there for."""

    def __init__(self, before_each: Callable[[], None] | None) -> None:
        self._before_each, self._thread = before_each, threading.get_ident()

    def find_spec(self, *_: object) -> None:
        if self._before_each is not None and threading.get_ident() == self._thread:
            self._before_each()
