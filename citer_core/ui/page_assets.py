"""Which files of the project the browser may have, and the address of each. Knows the folders, not what is in them."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.web.page_files import PageFiles

FOLDERS = ("viewer", "share", "learn", "labels", "profile", "traces")


@functools.cache
def page_files() -> PageFiles:
    """Our scripts, styles and recorded runs, and plotly's script, which its Python package brings."""
    places = {name: ASSETS / name for name in FOLDERS}
    return PageFiles({**places, "traces/probes": ASSETS / "traces" / "probes", "plotly": plotly_script()})


def file_url(path: Path) -> str:
    """The address of one of them, relative to the document, so that it works under a proxy's path too."""
    return page_files().url(path)


def plotly_script() -> Path:
    """`plotly.min.js`; the package is found, not imported, because that would take a second."""
    spec = importlib.util.find_spec("plotly")
    assert spec is not None and spec.origin is not None, "plotly is in requirements.txt"
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"
