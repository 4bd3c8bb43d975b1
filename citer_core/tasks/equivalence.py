r"""Whether two final answers mean the same number or expression.

Most answers are plain numbers or the same text and are settled here, exactly. The rest goes to sympy in a child process
(`math_worker` says why, and by which rules), started at the first such pair: sympy takes half a second to import, and
this process never pays for it. Safe to call from any thread; never raises. Needs POSIX for the child.
`assets/tasks/answers.js` mirrors what is settled here.
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
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from citer_core.tasks.answer_patterns import GROUPED, LOOSE_SPACE, NUMBER, PROSE
from citer_core.tasks.plain_text import clean, fold, unwrapped

MAX_ANSWER_CHARS = 500

_GROUPED, _LOOSE_SPACE, _NUMBER, _PROSE = map(re.compile, (GROUPED, LOOSE_SPACE, NUMBER, PROSE))


def same_answer(true_answer: str, predicted: str) -> bool:
    r"""Compares two answers as mathematics: 2,125 = 2125 = 2125.0, `\frac{1}{2}` = 0.5, `2\sqrt{2}` = `\sqrt{8}`.

    Args:
        true_answer: content of the solution's box.
        predicted: content of the completion's box.

    Returns:
        Whether they are equal; False for what cannot be read, differs and is longer than 500 characters, or takes more
        than 5 seconds of the processor's time or 2 GiB to compare.
    """
    if max(len(true_answer), len(predicted)) > MAX_ANSWER_CHARS:
        return true_answer == predicted
    return _same(true_answer, predicted)


@lru_cache(maxsize=4096)
def _same(true_answer: str, predicted: str) -> bool:
    latex = [_without_edges(clean(answer)) for answer in (true_answer, predicted)]
    left, right = map(_plain, latex)
    if not left or not right:
        return False
    numbers = _number(left), _number(right)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] == numbers[1]
    # Words compare without letter case, unknowns with it.
    is_words = _PROSE.match(fold(left)) or (len(left) > 1 and "\\text" in latex[0] + latex[1])
    return left == right or bool(is_words and fold(left) == fold(right)) or _WORKER.same(*latex)


def _without_edges(latex: str) -> str:
    return latex.replace("\n", "").lstrip(" *=:").rstrip(" .,;:*=\\")


def _plain(latex: str) -> str:
    text = _LOOSE_SPACE.sub("", unwrapped(latex))
    while text.startswith("{") and text.find("}") == len(text) - 1:
        text = text[1:-1].strip(" .")
    return text


def _number(text: str) -> Fraction | None:
    if _GROUPED.match(text):
        text = text.replace(",", "").replace(" ", "")
    return Fraction(text) if _NUMBER.match(text) else None


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
