"""What killed processes have left in our cache, and clearing it: `NAME.PID.partial`, which no process resumes.

Downloads are not of these: a part of a file is kept and resumed (`models.download`). A process that writes such a
name removes it at an ordinary end, so that only SIGKILL, a full memory or a lost machine leave it.
Called at the start of the page and before a conversion. Standard library only.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import time
from pathlib import Path

logger = logging.getLogger(__name__)
_NAME = re.compile(r".+\.(\d{1,10})\.partial")
DEPTH = 3  # datasets/NAME/SPLIT.jsonl.PID.partial
SAFE_AGE_S = 60.0  # a process of the same number may have begun a moment ago, in a container where numbers start anew
FOLDERS = ("converted", "datasets", "hashes")


def clear_leftovers(cache: Path, *, began: float | None = None) -> list[Path]:
    """Removes files and folders of processes that are gone.

    Args:
        cache: our cache folder; it need not exist.
        began: when this process began, in seconds since the epoch; None is now. What is older and has this process's
            own number is from another one: in a container every start may have the same number.

    Returns:
        What was removed.
    """
    began = time.time() if began is None else began
    removed = []
    for place in (cache / name for name in FOLDERS):
        for level in range(1, DEPTH):
            for path in place.glob("*/" * (level - 1) + "*.partial"):
                if path.is_symlink() or not _is_left(path, began):
                    continue
                with contextlib.suppress(OSError):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                    removed.append(path)
    if removed:
        logger.info("cleared what %d interrupted pieces of work had left in %s", len(removed), cache)
    return removed


def _is_left(path: Path, began: float) -> bool:
    found = _NAME.fullmatch(path.name)
    if found is None:
        return False
    number = int(found.group(1))
    try:
        changed = max((part.stat().st_mtime for part in [path, *path.glob("*")]), default=began)
        if number == os.getpid():
            return changed < began - SAFE_AGE_S
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # another user's process, or what we may not look at
        return False
    return False
