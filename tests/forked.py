"""Processes without the seconds of a start: forked from one that has imported all of it (POSIX)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = (
    "citer_core.cli.main", "citer_core.engine", "citer_core.models.gguf_conversion", "citer_core.training.finetune",
    "citer_core.training.iterate", "citer_core.training.publish_router", "citer_core.ui.server", "tests.fakes",
)  # fmt: skip
CONTEXT: Any = get_context("forkserver")
CONTEXT.set_forkserver_preload(list(IMPORTED))


def anew(*names: str) -> str:
    """What stands before code that is to import modules again, as another environment or folder has them."""
    return f"import sys\nfor name in [*sys.modules]:\n    if name.startswith({names!r}): del sys.modules[name]\n"


HUB_ANEW = anew("huggingface_hub", "citer_core.models.download")


class Forked:
    """`python -c CODE ARGUMENTS`, with the words of `subprocess.Popen`.

    What Python itself does at its start and its end is not the same; the rest of the environment is.
    """

    def __init__(
        self,
        code: str,
        *arguments: str,
        env: dict[str, str],
        stdout: int | IO[str] = subprocess.PIPE,
        stderr: int | IO[str] = subprocess.PIPE,
        start_new_session: bool = False,
        cwd: Path = ROOT,
    ) -> None:
        self.stdout, out = _pipe(stdout)
        self.stderr, err = _pipe(stderr)
        self._process = CONTEXT.Process(target=_run, args=(code, arguments, env, cwd, start_new_session, out, err))
        self._process.start()
        self.pid = self._process.pid
        for end in (out, err):
            end.close()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(["forked"], timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 120) -> tuple[str | None, str | None]:
        """A process that takes longer is killed, as its return code then says."""
        late = threading.Timer(timeout, self.kill)
        late.start()
        with ThreadPoolExecutor(2) as both:
            out, err = both.map(_rest, (self.stdout, self.stderr))
        self.wait()
        late.cancel()
        return out, err


def _pipe(given: int | IO[str]) -> tuple[IO[str] | None, Connection]:
    """What the parent reads, and what the child writes to."""
    if given != subprocess.PIPE:
        return None, Connection(os.dup(given.fileno()), readable=False)  # type: ignore[union-attr]
    reader, writer = os.pipe()
    return os.fdopen(reader, encoding="utf-8", errors="replace"), Connection(writer, readable=False)


def _rest(pipe: IO[str] | None) -> str | None:
    if pipe is None or pipe.closed:
        return None
    with pipe:
        return pipe.read()


def _run(
    code: str, arguments: tuple[str, ...], env: dict[str, str], cwd: Path, leads: bool, out: Connection, err: Connection
) -> None:
    if leads:
        os.setsid()
    for number, end in enumerate((out, err), start=1):
        os.dup2(end.fileno(), number)
        end.close()
    # Those of the server may be of files that can be sought in, as pytest's are.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    tempfile.tempdir = None
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
