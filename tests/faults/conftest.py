"""What the tests of faults share: their row of the table, a disk that is full, and processes that are killed."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from citer_core.cli.main import main
from tests.cli.examples import LABEL_LITTLE as LABEL
from tests.core.conftest import _bundled_pair_is_loaded_once, folders, server, tiny_pair, tokenizer  # noqa: F401
from tests.faults.table import ROOT, FaultRow, read_table
from tests.forked import Forked

FULL = ("No space left on device", "File too large")


@pytest.fixture
def row(request: pytest.FixtureRequest) -> FaultRow:
    """The table's row of this very test, whose words it must find."""
    name = request.node.originalname
    file = Path(request.node.path).relative_to(ROOT).as_posix()
    (found,) = [row for row in read_table() if (row.file, row.test) == (file, name)]
    return found


class SmallDisk:
    """A folder whose disk can be full: a file system of its own where one may be mounted, else a limit of this process.

    The first gives "No space left on device", the second "File too large"; in the code both take the same way.
    """

    def __init__(self, folder: Path, *, is_mounted: bool) -> None:
        self.folder, self.is_mounted = folder, is_mounted
        self._filler = folder / ".filler"
        self._limit = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self, left: int = 0) -> None:
        """Leaves about so many bytes, in steps of 4,096."""
        if not self.is_mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (left, self._limit[1]))
            return
        with self._filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(65536))
        os.truncate(self._filler, max(0, self._filler.stat().st_size - left))

    def make_room(self) -> None:
        if self.is_mounted:
            self._filler.unlink(missing_ok=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limit)


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    try:
        is_mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        is_mounted = False
    found = SmallDisk(folder, is_mounted=is_mounted)
    try:
        yield found
    finally:
        found.make_room()
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=True)


@pytest.fixture(scope="package")
def labels(tmp_path_factory):
    """Labels of four generated rows, which no test changes."""
    folder = tmp_path_factory.mktemp("made") / "labels"
    assert main([*LABEL, "--output-dir", str(folder)]) == 0
    return folder


COMMAND = "import runpy; runpy.run_module('citer_core', run_name='__main__')"


def child(*arguments: str, code: str = COMMAND, starts: bool = False, **options) -> subprocess.Popen[str] | Forked:
    """`python -m citer_core ...` or a piece of code, as a process of its own with both outputs read.

    `starts`: by starting Python, for tests of what that does, and of its end; else it is forked.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | options.pop("env", {})
    if not starts:
        return Forked(code, *arguments, env=environment, **options)
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "errors": "replace"} | options
    # Under nohup this process ignores SIGHUP, and what it starts would inherit that.
    settings = {"preexec_fn": functools.partial(signal.signal, signal.SIGHUP, signal.SIG_DFL), **settings}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=ROOT, env=environment, **settings)


def fake_command(**engine) -> str:
    """Code of a child whose engine is a scripted one."""
    options = ", ".join(f"{name}={value!r}" for name, value in engine.items())
    return (
        "import sys; from tests import fakes; from citer_core.cli.main import main\n"
        f"fakes.install(fakes.FakeEngine({options})); sys.exit(main(sys.argv[1:]))"
    )
