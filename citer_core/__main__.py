"""Entry point of `python -m citer_core`, and of `citer` where the package is installed."""

from __future__ import annotations

import sys  # built in: whatever takes time to read is read where Ctrl-C is expected


def program() -> None:
    """Runs the command line and ends the process."""
    try:
        from citer_core.cli.main import main

        code = main()
    except KeyboardInterrupt:  # while the program was still being read
        print("\ninterrupted", file=sys.stderr)
        code = 130
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be done: a second Ctrl-C ends without a word
    raise SystemExit(code)


if __name__ == "__main__":
    program()
