"""Where the files that come with the project are. Knows only the places, never what is in them.

In a clone they stand beside the package; in an installed one setup.py has put them into it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE = Path(__file__).resolve().parent
_IS_INSTALLED = (_PACKAGE / "data").is_dir()
ASSETS: Final[Path] = _PACKAGE / "data" if _IS_INSTALLED else _PACKAGE.parent / "assets"
APP: Final[Path] = (_PACKAGE if _IS_INSTALLED else _PACKAGE.parent) / "app.py"
