"""Where the files that come with the project are. Knows only the folder, never what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ASSETS: Final[Path] = Path(__file__).resolve().parent.parent / "assets"
