"""Whether two final answers mean the same number or expression.

Most answers are plain numbers and are settled here with `decimal`. The rest goes to math-verify in a child process
(`math_worker` says why), started at the first such pair: sympy takes half a second to import, and this process never
pays for it. Safe to call from any thread; never raises. Needs POSIX for the child.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import sys
import threading
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

MAX_ANSWER_CHARS = 500

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_THIN = re.compile(r"\\[,;:!]|\\(?:left|right)(?![a-zA-Z])|\\?\$")
# A space between digits says something: `3 1/2` is not `31/2`.
_SPACE = re.compile(r"(?<!\d)(?:\\ |[\s~])+|(?:\\ |[\s~])+(?!\d)")
_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}\\]*)\}")


def same_answer(true_answer: str, predicted: str) -> bool:
    r"""Compares two answers as mathematics: 2,125 = 2125 = 2125.0, `\frac{1}{2}` = 0.5, `2\sqrt{2}` = `\sqrt{8}`.

    Args:
        true_answer: content of the solution's box.
        predicted: content of the completion's box.

    Returns:
        Whether they are equal; False for what cannot be read, is longer than 500 characters, or takes more than
        5 seconds or 2 GiB to compare.
    """
    # Verdicts are kept, but not those of long texts, which would fill the memory.
    is_short = max(len(true_answer), len(predicted)) <= MAX_ANSWER_CHARS
    return (_same_kept if is_short else _same)(true_answer, predicted)


def _same(true_answer: str, predicted: str) -> bool:
    left, right = _plain(true_answer), _plain(predicted)
    if not left or not right:
        return False
    if left.casefold() == right.casefold() and (left == right or _is_words(true_answer)):
        return True
    numbers = _number(left), _number(right)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] == numbers[1]
    if max(len(true_answer), len(predicted)) > MAX_ANSWER_CHARS:
        return False
    return _WORKER.same(true_answer, predicted)


_same_kept = lru_cache(maxsize=4096)(_same)


def _plain(answer: str) -> str:
    r"""Without spacing, dollar signs, `\text{}` and a full stop at the end; `{,}` and `\,` group thousands."""
    answer = _TEXT.sub(r"\1", answer).replace("{,}", ",").replace("\N{MINUS SIGN}", "-")
    return _SPACE.sub("", _THIN.sub("", answer)).rstrip(".")


def _is_words(answer: str) -> bool:
    """Words compare without case; `x` and `X` are two unknowns."""
    return bool(_TEXT.search(answer)) or bool(re.fullmatch(r"[A-Za-z]{2,}+[A-Za-z\s.]*+", answer))


def _number(plain: str) -> Decimal | None:
    if _THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    return Decimal(plain) if plain.isascii() and _NUMBER.fullmatch(plain) else None


class _Worker:
    """One `math_worker` process, started when needed and again after it died; one pair at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def same(self, true_answer: str, predicted: str) -> bool:
        """Asks the child; False where it cannot be started or dies over the pair."""
        with self._lock:
            try:
                verdict = self._ask(json.dumps([true_answer, predicted]))
            except OSError:
                verdict = ""
            except BaseException:  # Ctrl-C while waiting: the verdict would be read as the next pair's
                self._stop()
                raise
            if not verdict:
                self._stop()
            return verdict.strip() == "true"

    def forget(self) -> None:
        """Lets go of the child without ending it: after a fork it is the parent's."""
        self._lock = threading.Lock()
        self._process = None

    def close(self) -> None:
        """Ends the child, if there is one."""
        with self._lock:
            self._stop()

    def _ask(self, line: str) -> str:
        """One line to the child and its answer; empty where it died."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    @staticmethod
    def _start() -> subprocess.Popen[str]:
        # -P keeps this folder off the child's path, where our `datasets.py` would hide the library of that name.
        script = Path(__file__).with_name("math_worker.py")
        return subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            # Ctrl-C in the terminal is for us. The child ends when its input closes, which it does however we end.
            # PR_SET_PDEATHSIG would end it with the thread that started it.
            start_new_session=True,
        )

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        with suppress(OSError):  # closing flushes what the dead child never read
            process.communicate()


_WORKER = _Worker()
atexit.register(_WORKER.close)
os.register_at_fork(after_in_child=_WORKER.forget)
