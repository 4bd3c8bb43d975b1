"""The child process behind `equivalence`: compares two answers with math-verify, one pair a line.

Never imported by the project; run as a script. It is a process of its own because the text comes from a model:
`9^{9^{9^9}}` is valid LaTeX that sympy would try to evaluate for ever, holding the interpreter lock. A process can be
stopped by the kernel, a thread cannot. A limit that is overrun ends this process; the parent sees the closed pipe,
counts the pair as different and starts another worker for the next one.

Protocol: a line `["true answer", "predicted answer"]` in, a line `true` or `false` out.
"""

from __future__ import annotations

import contextlib
import json
import logging
import resource
import signal
import sys

SECONDS_PER_PAIR = 5.0
MAX_MEMORY_BYTES = 2 << 30


def main() -> None:
    """Answers pairs until standard input closes."""
    with contextlib.suppress(ValueError, OSError):  # macOS refuses this limit; the time limit still holds there
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    logging.disable(logging.CRITICAL)  # math-verify warns that its timeouts are off; ours is below
    from math_verify import parse, verify

    for line in sys.stdin:
        # The default action of SIGALRM ends the process even inside C code, where a Python handler would wait.
        signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_PAIR)
        try:
            true_answer, predicted = (parse(f"\\boxed{{{x}}}", parsing_timeout=None) for x in json.loads(line))
            same = bool(verify(true_answer, predicted, timeout_seconds=None))
        except Exception:  # whatever cannot be read as mathematics is not the same
            same = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        print(json.dumps(same), flush=True)


if __name__ == "__main__":
    main()
