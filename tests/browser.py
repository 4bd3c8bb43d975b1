"""Finds a Chromium for the page's tests, or installs one: `python -m tests.browser` prints its path.

In this order: `$CHROMIUM`; the headless shell, a Chromium or Chrome on PATH; one that Playwright downloaded earlier;
Debian's package, where we are root and have apt-get; Playwright's own download. The shell first: it is the browser
without its windows, which Playwright takes for headless pages too, and opening our page costs it half the time. What
measures speed asks for a whole one, as people have it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SHELL = "chromium-headless-shell"
WHOLE = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL_TIMEOUT_S = 600
# A container's root has no user namespace to sandbox in, and often a tiny /dev/shm.
LAUNCH_ARGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")


def find_browser(*, is_whole: bool = False) -> Path | None:
    """The executable of a browser that is already here, or None; `is_whole`: one that can open windows."""
    if named := os.environ.get("CHROMIUM"):
        path = shutil.which(named)
        if path is None:
            raise SystemExit(f"error: CHROMIUM is {named!r}, which is no executable. Correct or unset it.")
        return Path(path)
    for name in WHOLE if is_whole else (SHELL, *WHOLE):
        if path := shutil.which(name):
            return Path(path)
    return _downloaded_browser()


def provide_browser(*, is_whole: bool = False) -> Path:
    """Like `find_browser`, but installs one where there is none; ends the program with advice where it cannot."""
    found = find_browser(is_whole=is_whole)
    if found is None and hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        try_to(["apt-get", "update", "-qq"])
        for package in WHOLE[:1] if is_whole else (SHELL, *WHOLE[:1]):
            try_to(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package])
            if found := find_browser(is_whole=is_whole):
                break
    if found is None:
        try_to([sys.executable, "-m", "playwright", "install", "chromium"])
        found = find_browser(is_whole=is_whole)
    if found is None:
        raise SystemExit("error: no browser for the page's tests. Install chromium, or set CHROMIUM to its executable.")
    return found


def _downloaded_browser() -> Path | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return path if path.exists() else None


def try_to(command: list[str]) -> None:
    """Runs a step that may fail because another way is left; its output goes to standard error."""
    print("+", " ".join(command), file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(command, check=False, stdout=sys.stderr, timeout=INSTALL_TIMEOUT_S, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    print(provide_browser())
