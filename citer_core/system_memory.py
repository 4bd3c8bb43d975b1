"""Memory of this process and of its machine: what is free for it, what it holds, and giving back what it let go; and
`MemoryKeeper`: hands freed memory back while something is computed, and once nothing is any more.

Reads Linux's own files; elsewhere nothing is known, and that is what is said. Imports torch only for a GPU, which is
asked about only once torch is there. Called where pairs are loaded and freed; `app` makes a keeper, and the engine's
slot tells it who computes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from citer_core.hardware import group_folders

_NO_MEMORY = ("can't allocate memory", "not enough memory", "Cannot allocate memory", "std::bad_alloc")
V2_NAMES = ("memory.max", "memory.current")
MEMORY_FULL = (
    "the memory of this machine is full. Choose smaller models, the number format bfloat16 or a smaller batch, or end "
    "other programs."
)
M_ARENA_MAX = -8  # of glibc's malloc.h
V1_NAMES = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def free_bytes(device: str = "cpu", root: Path = Path("/")) -> int | None:
    """Bytes that a pair on this device may still take; None where that is not known.

    Args:
        device: as torch spells it. For a GPU it is the GPU's memory, else the machine's.
        root: where `proc` and `sys` are; tests have their own.

    Returns:
        What the machine has available, or less where a control group (version 1 or 2) of this process or above it has
        a limit. Pages of files that can be dropped count as free.
    """
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.mem_get_info(device)[0]) if torch.cuda.is_available() else None
    if device != "cpu":
        return None
    known = [_available(root), *(_left_in(folder) for folder in group_folders(root, "memory", ["memory"]))]
    return min((n_bytes for n_bytes in known if n_bytes is not None), default=None)


def resident_bytes(root: Path = Path("/")) -> int | None:
    """Bytes of this process that are in memory, pages of shared files included; None where that is not known."""
    return _kib(root / "proc/self/status", "VmRSS")


def give_back() -> None:
    """Collects what nothing refers to any more and hands its memory back to the system, as far as that is possible.

    A freed tensor of a few MB stays with the allocator otherwise, and so do thousands of small objects.
    """
    gc.collect()
    trim()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a failure is for lack of memory, in whichever way Python, torch or the system says so."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # torch's, not imported for this
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, Exception) and any(words in str(error) for words in _NO_MEMORY)


def trim() -> None:
    """Hands the C library's free memory back to the system, in some 30 ms and without the interpreter's lock."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library, or no such way to reach it
        ctypes.CDLL(None).malloc_trim(0)


def share_one_heap() -> None:
    """Has all threads of this process allocate from one heap of the C library; before the first thread is started.

    glibc gives each thread a heap of its own, sixteen on two cores, and `trim` hands back what is free inside of these
    but not their ends: each kept tens of MB of the largest thing that was ever computed in it. Big blocks are rare, and
    Python's own are taken under the interpreter's lock, so threads hardly wait for the one heap.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # as above
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def _available(root: Path) -> int | None:
    return _kib(root / "proc/meminfo", "MemAvailable")


def _kib(path: Path, name: str) -> int | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), None)
    except (OSError, ValueError, IndexError):
        return None


def _left_in(folder: Path) -> int | None:
    """Bytes that a group may still take, or None where it is not limited or no such group is there."""
    for limit_name, usage_name in (V2_NAMES, V1_NAMES):
        try:
            limit = (folder / limit_name).read_text(encoding="utf-8").strip()
            usage = int((folder / usage_name).read_text(encoding="utf-8"))
            if limit == "max" or int(limit) >= 2**60:  # version 1 has a huge number for no limit
                return None
            return max(0, int(limit) - usage + _droppable(folder))
        except (OSError, ValueError):
            continue
    return None


def _droppable(folder: Path) -> int:
    """Bytes of file pages that the system would drop first, of those that count as used."""
    for name in ("inactive_file", "total_inactive_file"):
        try:
            lines = (folder / "memory.stat").read_text(encoding="utf-8").splitlines()
        except OSError:
            return 0
        for line in lines:
            if line.split(" ")[0] == name:
                return int(line.split()[1])
    return 0


LOOK_S = 1.0
QUIET_S = 0.5
LATE_S = 4.0
MOST_WHILE_BUSY = 48_000_000  # bytes of growth until memory is asked for back
MOST_AT_REST = 2_000_000


class MemoryKeeper:
    """One thread, which begins with the first computation and sleeps while there is none.

    The C library keeps what a thread has freed for that thread's next request, and a page computes in many threads, so
    that a process would hold the sum of their peaks for ever. Looks at the process's size, and asks the library for
    what is free only where it has grown: that takes some 30 ms of one core, without the interpreter's lock.

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
