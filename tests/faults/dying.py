"""Runs a command again and again, each time killed with SIGKILL at another moment, until it is done.

    python -m tests.faults.dying SEED MOMENTS PARTS ARGUMENTS...

One process imports everything once and forks; its children die at the n-th moment at which something is about to be,
half is, or has just been written, with n drawn at random. So each kill costs milliseconds, and is a real one. Prints
how often it killed. MOMENTS says between which moments each kill comes, `1-12,1-4` that there are two; a path in their
place kills as soon as it is there, or up to 50 ms later. PARTS is the number of rows in a part of labels.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import safetensors.torch


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Moments:
    """Counts what touches the disk, and dies at the n-th."""

    def __init__(self, n: int) -> None:
        self.left = n

    def passed(self) -> bool:
        self.left -= 1
        return self.left == 0

    def install(self) -> None:
        replace, rename, fsync = os.replace, os.rename, os.fsync
        write_bytes, write_text, save = Path.write_bytes, Path.write_text, safetensors.torch.save_file

        def around(original):
            def wrapped(*arguments, **options):
                if self.passed():
                    die()
                result = original(*arguments, **options)
                if self.passed():
                    die()
                return result

            return wrapped

        def half_bytes(path, content):
            if self.passed():
                write_bytes(path, content[: len(content) // 2])
                die()
            return write_bytes(path, content)

        def half_text(path, content, *arguments, **options):
            if self.passed():
                write_text(path, content[: len(content) // 2], *arguments, **options)
                die()
            return write_text(path, content, *arguments, **options)

        def half_tensors(tensors, path, *arguments, **options):
            save(tensors, path, *arguments, **options)
            if self.passed():
                os.truncate(path, Path(path).stat().st_size // 2)
                die()

        os.replace, os.rename, os.fsync = around(replace), around(rename), around(fsync)
        Path.write_bytes, Path.write_text = half_bytes, half_text
        safetensors.torch.save_file = half_tensors
        from citer_core.labelling import label_files
        from citer_core.routing import stored

        label_files.save_file = stored.save_file = half_tensors


def main() -> None:
    seed, moments, part_size, *arguments = sys.argv[1:]
    kills = moments.split(",")
    draw = random.Random(int(seed))
    from citer_core.cli.main import main as command
    from citer_core.engine import Engine  # noqa: F401
    from citer_core.labelling import label_files
    from citer_core.training import finetune, iterate, publish_router  # noqa: F401

    label_files.PART_SIZE = int(part_size)
    label_files.label_dataset.__kwdefaults__["part_size"] = int(part_size)
    label_files.shard_starts.__defaults__ = (int(part_size),)
    killed = 0
    while True:
        kill = kills[killed] if killed < len(kills) else ""
        awaited = Path(kill) if "/" in kill else None
        n = draw.randint(*map(int, kill.split("-"))) if kill and not awaited else 0
        pid = os.fork()
        if pid == 0:
            if n:
                Moments(n).install()
            code = command(arguments)
            sys.stdout.flush()
            os._exit(code)
        if awaited:
            while not awaited.exists() and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 0.05))
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            print(f"killed {killed} times, ended with {os.WEXITSTATUS(status)}", flush=True)
            sys.exit(os.WEXITSTATUS(status))
        killed += 1


if __name__ == "__main__":
    main()
