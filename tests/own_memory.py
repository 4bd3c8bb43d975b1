"""How much a piece of code makes its process grow at most: not what the process held before, from other tests."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path
from types import TracebackType

STATUS = Path("/proc/self/status")
FORGET_THE_PEAK = "5"  # what proc(5) says to write into clear_refs for it


class OwnMemory:
    """`with OwnMemory() as taken: ...`, then `taken.n_bytes`: the peak of resident memory in it less what was held when
    it began; None where the system does not say (it takes Linux's files)."""

    n_bytes: int | None = None

    def __enter__(self) -> OwnMemory:
        gc.collect()
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text(FORGET_THE_PEAK)
        self._held = _status("VmHWM")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        peak = _status("VmHWM")
        self.n_bytes = None if peak is None or self._held is None else peak - self._held


def _status(name: str) -> int | None:
    with contextlib.suppress(OSError):
        for line in STATUS.read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None
