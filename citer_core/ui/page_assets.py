"""Which files of the project the browser may have, and the address of each. Knows the folders, not what is in them."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

from citer_core.assets import ASSETS
from citer_core.ui.views import FOLDERS as VIEW_FOLDERS
from citer_core.web.page_files import Chapters, PageFiles

SCRIPTS = ("run", "tasks", "engine", "transport", "viewer", "inside", "app", "share", *VIEW_FOLDERS)
FOLDERS = (
    *(*SCRIPTS, "comparisons", "traces", "labelled", "lessons"),
    *("models/slm", "models/llm", "models/tokenizer", "routers/embedded", "datasets"),
)
CHAPTERS = "use pairs method evidence speed gpu server api publish security faults files".split()


@functools.cache
def page_files() -> PageFiles:
    """Our scripts, styles and recorded runs, the bundled pair, and plotly's script, which its Python package brings."""
    places = {name: ASSETS / name for name in FOLDERS}
    return PageFiles({**places, "traces/probes": ASSETS / "traces" / "probes", "plotly": plotly_script()})


@functools.cache
def chapters() -> Chapters:
    """What there is to read about the project, in the order of README, and what it links to."""
    docs = [ASSETS / "docs" / f"{name}.md" for name in CHAPTERS]
    rest = sorted(set((ASSETS / "docs").glob("*.md")) - set(docs))
    others = [ASSETS / "learn" / "scaling.md", ASSETS / "models" / "README.md", ASSETS / "models" / "card.json"]
    return Chapters(ASSETS, [*docs, *rest, *others])


def file_url(path: Path) -> str:
    """The address of one of them, relative to the document, so that it works under a proxy's path too."""
    return page_files().url(path)


def path_in_assets(path: Path) -> str:
    """The address of one of them where all of `assets` lies beside the document."""
    return path.resolve().relative_to(ASSETS.resolve()).as_posix()


def files_root() -> str:
    """The address, relative to the document, below which every file stands as it does in `assets`."""
    return page_files().root


def plotly_script() -> Path:
    """`plotly.min.js`; the package is found, not imported, because that would take a second."""
    spec = importlib.util.find_spec("plotly")
    assert spec is not None and spec.origin is not None, "plotly is in requirements.txt"
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"
