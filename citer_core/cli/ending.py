"""How a command ends: every outcome as an exit code, and every failure as one line of words.

    0    done
    1    the machine ran out in mid-work (disk or memory full), or this program has a fault and shows where
    2    wrong usage or input, or a place that cannot be written; found before the work
    3    the LLM's server was lost; what was finished is kept
    129  the terminal was closed (SIGHUP)
    130  interrupted with Ctrl-C
    141  the reader of our output went away (`| head`)
    143  told to end (SIGTERM)

Whichever it is, files that were being written are whole or gone, because the stack is unwound as after any exception.
Knows nothing about commands; called by `main`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TextIO

from citer_core.cli.terminal import escape_controls
from citer_core.errors import CiterError, MachineError, ServerError
from citer_core.files import AGAIN, why
from citer_core.system_memory import MEMORY_FULL, is_out_of_memory

EXIT_MACHINE, EXIT_USAGE, EXIT_SERVER_LOST, EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 1, 2, 3, 130, 141
_SIGNAL_NAMES = ("SIGTERM", "SIGHUP")  # the second is not known on Windows
_ASK_AGAIN_S = 0.1


class _ToldToEndError(BaseException):
    """A signal asked this process to end; not an `Exception`, so that it is not taken for a failure of the work."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code_of(work: Callable[[], int]) -> int:
    """Does the work and returns the exit code; what is to be said of a failure goes to standard error."""
    try:
        with _signals():
            code = work()
            sys.stdout.flush()
    except CiterError as error:
        _tell(f"error: {error}")
        code = _code_of(error)
    except KeyboardInterrupt:
        _tell("\ninterrupted: what was finished is kept.")
        code = EXIT_INTERRUPTED
    except _ToldToEndError as told:
        _tell(f"\nended by {signal.Signals(told.number).name}: what was finished is kept.")
        code = 128 + told.number
    except BrokenPipeError:
        code = EXIT_BROKEN_PIPE
    except Exception as error:
        words = _of_the_machine(error)
        if words is None:  # a fault of this program: who mends it needs to know where
            raise
        _tell(f"error: {words}")
        code = EXIT_MACHINE
    _let_go_of_output()
    return code


def prepare_streams() -> None:
    r"""Makes standard output and error fit to be written: open, and with `\u...` for what their encoding lacks."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed by what started us (`>&-`): the next file would get its number
            _reserve(number)
            setattr(sys, name, _nowhere("r" if name == "stdin" else "w"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _code_of(error: CiterError) -> int:
    if isinstance(error, MachineError):
        return EXIT_MACHINE
    return EXIT_SERVER_LOST if isinstance(error, ServerError) else EXIT_USAGE


def _of_the_machine(error: Exception) -> str | None:
    """What a failure says that no command has put into words; None where it is not the machine's."""
    if is_out_of_memory(error):
        return f"{MEMORY_FULL} Then run the same command again: what is finished is kept."
    if not isinstance(error, OSError):
        return None
    # Files of ours are written by `files`, which names them; without a name it is standard output.
    what = error.filename if isinstance(error.filename, str) else "The output"
    return f"{what} could not be read or written ({why(error)}). {AGAIN}"


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Turns signals that would end the process on the spot into an exception, so that it can clear up.

    They wait, Ctrl-C too, while torch is being imported: its C++ calls Python on the way and cannot unwind, so that an
    exception there aborts the process. One that meets a callback from which no exception gets out is sent again: a lock
    of the import system has one.
    """

    def send_again(number: int) -> None:
        again = threading.Timer(_ASK_AGAIN_S, signal.raise_signal, (number,))
        again.daemon = True
        again.start()

    def lost(ignored: sys.UnraisableHookArgs) -> None:
        if isinstance(ignored.exc_value, _ToldToEndError):
            send_again(ignored.exc_value.number)
        elif isinstance(ignored.exc_value, KeyboardInterrupt):
            send_again(signal.SIGINT)
        else:
            usual_hook(ignored)

    def told(number: int, frame: FrameType | None) -> None:
        if _is_torch_being_imported():
            send_again(number)
        elif number == signal.SIGINT:
            signal.default_int_handler(number, frame)
        else:
            raise _ToldToEndError(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNAL_NAMES if hasattr(signal, name)]
    usual = dict.fromkeys(numbers, signal.SIG_DFL) | {signal.SIGINT: signal.default_int_handler}
    # One that is ignored stays so: that is what `nohup` does.
    ours = {number: handler for number, handler in usual.items() if signal.getsignal(number) is handler}
    for number in ours:
        signal.signal(number, told)
    usual_hook, sys.unraisablehook = sys.unraisablehook, lost
    try:
        yield
    finally:
        sys.unraisablehook = usual_hook
        for number, handler in ours.items():
            signal.signal(number, handler)


def _is_torch_being_imported() -> bool:
    return bool(getattr(getattr(sys.modules.get("torch"), "__spec__", None), "_initializing", False))


def _tell(text: str) -> None:
    with contextlib.suppress(OSError):  # there is no place left to say it
        print(escape_controls(text), file=sys.stderr, flush=True)


def _let_go_of_output() -> None:
    """Python flushes both once more at exit; what cannot be written must flush into nothing instead."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _reserve(number: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        handle = os.open(os.devnull, os.O_RDWR)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)


def _nowhere(mode: str) -> TextIO:
    return open(os.devnull, mode, encoding="utf-8")  # type: ignore[return-value]  # noqa: PTH123
