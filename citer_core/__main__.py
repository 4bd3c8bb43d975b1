"""Entry point of `python -m citer_core`."""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":
    try:
        from citer_core.cli.main import main

        code = main()
    except KeyboardInterrupt:  # while the program was still being read
        print("\ninterrupted", file=sys.stderr)
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be done: a second Ctrl-C ends without a word
    raise SystemExit(code)
