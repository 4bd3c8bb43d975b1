"""The folder for temporary files: one a process, gone with it, and after a kill at the next start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from citer_core.web.before_gradio import PREFIX, clear_leftovers

HOLD = (
    "import sys; from citer_core.web.before_gradio import own_scratch; folder = own_scratch();"
    "(folder / 'left.bin').write_bytes(b'x'); print(folder, flush=True); sys.stdin.read()"
)


def start(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    env = {**os.environ, "GRADIO_TEMP_DIR": str(parent)}
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=-1, stdout=-1, text=True, env=env)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_killed_process_leaves_it_and_the_next_one_clears_it(tmp_path: Path) -> None:
    parent = tmp_path / "made for it"
    killed, left = start(parent)
    assert left.parent == parent and (left / "left.bin").exists()
    assert clear_leftovers(parent) == [], "its process lives"
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert left.exists()
    foreign = parent / f"{PREFIX}of-nobody"  # no lock in it: not known to be ours
    foreign.mkdir()
    (parent / f"{PREFIX}link").symlink_to(tmp_path)
    calm, folder = start(parent)
    assert not left.exists() and folder.exists() and foreign.exists() and tmp_path.exists()
    calm.communicate("")
    assert calm.returncode == 0 and not folder.exists()
