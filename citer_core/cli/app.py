"""`app`: serves the page. The same as `python app.py`, for where there is no clone.

All flags are those of app.py, which reads them itself; knows nothing of the page.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from citer_core.assets import APP

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

NAME = "app"


def add_parser(subparsers: Subparsers) -> None:
    """Adds `app` to the list of commands; its flags are read elsewhere."""
    subparsers.add_parser(NAME, help="serve the page (its flags: app --help)", add_help=False)


def run(flags: Sequence[str]) -> int:
    """Serves until it is told to end; app.py ends the process with an exit code of its own."""
    sys.argv = [str(APP), *flags]
    runpy.run_path(str(APP), run_name="__main__")
    return 0
