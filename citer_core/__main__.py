"""Entry point of `python -m citer_core`, and of `citer` where the package is installed."""

from __future__ import annotations

import sys  # built in: whatever takes time to read is read where Ctrl-C is expected


def program() -> None:
    """Runs the command line and ends the process."""
    try:
        import signal

        # Ctrl-C ends the process at once while the program is still being read: NumPy, when it is interrupted on its
        # way in, says instead that its installation is broken. Where it was ignored, as under `nohup`, it stays so.
        is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if is_ours:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from citer_core.cli.main import main

        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = main()
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        code = 130
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is left to be done: a second Ctrl-C ends without a word
    raise SystemExit(code)


if __name__ == "__main__":
    program()
