"""Finds Firefox, or installs Debian's package where we are root, and lets Playwright drive it.

Playwright has a Firefox of its own, not the one that people use. That one it drives by WebDriver BiDi, but for
one command that this Firefox does not know yet: a relay between the two answers it. `python -m tests.firefox` prints
Firefox's path; `python -m tests.firefox PATH ...` is Firefox with the relay, as Playwright starts it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser import try_to

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("firefox-esr", "firefox")
UNKNOWN = "emulation.setMediaFeaturesOverride"  # what a window prefers, which these settings of all windows say instead
PREFERENCES = {"ui.prefersReducedMotion": 1}


def find_firefox() -> Path | None:
    """`$FIREFOX`, or the one on PATH."""
    found = next(filter(None, map(shutil.which, [os.environ.get("FIREFOX", ""), *NAMES])), None)
    return None if found is None else Path(found)


def provide_firefox() -> Path | None:
    """Like `find_firefox`, but installs one where there is none; None where it cannot."""
    found = find_firefox()
    if found is None and hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        try_to(["apt-get", "update", "-qq"])
        try_to(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "firefox-esr"])
        found = find_firefox()
    return found


@contextmanager
def launch_firefox(playwright: Any) -> Iterator[Any]:
    """A Firefox that Playwright drives; skips where there is none."""
    import pytest

    pytest.importorskip("websockets", reason="the relay needs it: make dev")
    path = provide_firefox()
    if path is None:
        pytest.skip("Firefox is not here and could not be installed: install firefox-esr, or set FIREFOX")
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder) / "firefox"
        start.write_text(f'#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m tests.firefox {path} "$@"\n')
        start.chmod(0o755)
        browser = playwright.firefox.launch(
            executable_path=str(start), channel="moz-firefox", firefox_user_prefs=PREFERENCES
        )
        yield browser
        browser.close()


async def relay(command: list[str]) -> None:
    """Runs Firefox, and relays between it and the client of the address that this prints."""
    from websockets.asyncio.client import connect
    from websockets.asyncio.server import serve

    firefox = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert firefox.stdout is not None
    address = None
    async for line in firefox.stdout:
        if address := re.search(rb"WebDriver BiDi listening on (ws://\S+)", line):
            break
    assert address, "it does not listen"

    async def pass_on(client: Any) -> None:
        async with connect(f"{address[1].decode()}/session", max_size=None) as browser:

            async def asked() -> None:
                async for text in client:
                    message = json.loads(text)
                    if message["method"] == UNKNOWN:
                        await client.send(json.dumps({"type": "success", "id": message["id"], "result": {}}))
                    else:
                        await browser.send(text)
                await browser.close()

            async def told() -> None:
                async for text in browser:
                    await client.send(text)
                await client.close()

            await asyncio.gather(asked(), told(), return_exceptions=True)

    async with serve(pass_on, "127.0.0.1", 0, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        print(f"WebDriver BiDi listening on ws://127.0.0.1:{port}", file=sys.stderr, flush=True)
        async for _ in firefox.stdout:
            pass
        await firefox.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(relay(sys.argv[1:]))
    else:
        print(provide_firefox() or "no Firefox could be found or installed")
