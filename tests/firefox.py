"""Finds Firefox, or installs Debian's package where we are root: `python -m tests.firefox` prints its path.

npm's puppeteer-core drives it (`package.json`); Playwright has a Firefox of its own, which nobody uses.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.browser import try_to

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("firefox-esr", "firefox")


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


def provide_driver() -> bool:
    """Whether node can drive it; installs what package-lock.json pins where that is missing."""
    asks = ["node", "--input-type=module", "-e", "import('puppeteer-core').catch(() => process.exit(1))"]
    if shutil.which("node") is None:
        return False
    if subprocess.run(asks, cwd=ROOT, capture_output=True, check=False).returncode:
        try_to(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--prefix", str(ROOT)])
    return subprocess.run(asks, cwd=ROOT, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    print(provide_firefox() or "no Firefox could be found or installed")
