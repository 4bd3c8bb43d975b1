"""`build_site`: the folder of the page without Python: its document, its script, the pair, the recorded runs, labels.

Every address is relative, so the folder works anywhere. Needs the models only for the stored labels, which the caller
makes. Called by the command line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import citer_core
from citer_core.assets import ASSETS
from citer_core.browser_pair import MODEL_FILES, engine_script, needed_files, pair_facts
from citer_core.comparison import read_comparisons
from citer_core.errors import ModelFileError
from citer_core.files import need_folder, write_whole
from citer_core.joined_script import JoinedScript, import_map_of
from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.offline import offline_template
from citer_core.ui.about import HOW_IT_WORKS
from citer_core.ui.controls import SAMPLE_QUESTION
from citer_core.ui.evidence.messages import evidence_message
from citer_core.ui.first_paint import AT_ONCE, preload_of
from citer_core.ui.header import TAGLINE, header_markup
from citer_core.ui.markup import literal
from citer_core.ui.page_assets import plotly_script
from citer_core.ui.pricing import price_list
from citer_core.ui.run.presets import cards_markup, opening_of, presets_to_show
from citer_core.ui.site.markup import as_data, data_block, explore, hash_of
from citer_core.ui.site.one_file import one_file_template
from citer_core.ui.views import COMPARE, EVIDENCE, EXPLORE, LABELS, LEARN, View

SITE = ASSETS / "site"
ROOMS = (
    *("run", "tasks", "engine", "browser_pair", "viewer", "page", "share"),
    *("learn", "labels", "compare", "evidence", "site"),
)
FOLDERS = (*ROOMS, *MODEL_FILES, "routers/embedded", "datasets", "traces", "traces/probes", "comparisons")
SUFFIXES = frozenset({".js", ".css", ".svg", ".json", ".jsonl", ".safetensors"})
STYLES = ("viewer/viewer.css", "page/page.css", "learn/learn.css", "site/site.css")
VIEWS = (EXPLORE, COMPARE, LABELS, EVIDENCE, LEARN)
LATER = (
    *(
        "traces",
        "labels/",
        "plotly",
        "routers",
        "learn",
        "share",
        "offline",
        "one-file",
        "site/",
        "engine/",
        "datasets",
    ),
    *("compar", "evidence"),
)
SPACE = """---
title: CITER
emoji: 🔀
colorFrom: blue
colorTo: yellow
sdk: static
app_file: index.html
license: apache-2.0
short_description: Two language models write one answer, in your browser
---

Made by `python -m citer_core static`, version {version}. Two language models write one answer, token by token, in the
visitor's browser: no server computes anything. Any web server can serve this folder; it opens at `index.html`.
"""


def build_site(folder: Path, labels: Mapping[str, str]) -> list[Path]:
    """Writes the folder; the document comes last, because it names files that must be there.

    Args:
        folder: made where it does not exist; files of the same names are replaced.
        labels: analyses of labelled problems as the Labels view reads them, by their titles.

    Returns:
        All files of it.

    Raises:
        CiterError: it cannot be written, or the pair's files or a script are damaged.
    """
    need_folder(folder)
    written: list[Path] = []

    def write(name: str, text: str) -> str:
        path = folder / name
        need_folder(path.parent)
        write_whole(path, text)
        written.append(path)
        return name

    def named(stem: str, text: str) -> str:
        """Under a name that says what is in it, so a browser that keeps it never has an old one."""
        return write(f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.js", text)

    for place in FOLDERS:
        need_folder(folder / place)
        for file in sorted((ASSETS / place).iterdir()):
            if file.is_file() and file.suffix in SUFFIXES:
                written.append(folder / place / file.name)
                write_whole(written[-1], file.read_bytes())
    written.append(folder / "plotly.min.js")
    write_whole(written[-1], plotly_script().read_bytes())
    joined = JoinedScript.of(SITE / "site.js", _url)
    script = named("page", joined.module_text)
    facts = pair_facts("./", named("worker", engine_script()))
    if facts is None:
        raise ModelFileError("The bundled pair's files or their card are damaged: install again.")
    stored = {
        title: write(f"labels/stored-{number}.json", text) for number, (title, text) in enumerate(labels.items(), 1)
    }
    compared = [{**entry, "url": f"comparisons/{entry['file']}"} for entry in read_comparisons(ASSETS / "comparisons")]
    props = {
        "comparisons": compared, "evidence": write("evidence.json", _evidence()),
        "value": "", "pair": PRESETS[EMBEDDED].title, "has_cards": True, "pricing": price_list(), "labels": stored,
        "browser_pair": {**facts, "is_only": True}, "plotly": "plotly.min.js", "worker": "service_worker.js",
        "template": write("offline.html", offline_template()),
        "one_file": write("one-file.html", one_file_template()),
    }  # fmt: skip
    write("site.webmanifest", json.dumps(_manifest(), indent=2))
    write("README.md", SPACE.format(version=citer_core.__version__))
    document = _document(props, script, import_map_of([_url(module) for module in joined.modules], script))
    written.append(folder / "index.html")
    write("service_worker.js", _service_worker(folder, written, document))
    write_whole(folder / "index.html", document)
    return sorted(set(written))


def needed_bytes(folder: Path) -> int:
    """What a visitor loads before anything can be written: the pair, the document, its scripts and styles."""
    scripts = [*folder.glob("page-*.js"), *folder.glob("worker-*.js")]
    page = [folder / "index.html", *scripts, *map(folder.joinpath, STYLES)]
    return sum(path.stat().st_size for path in [*page, *needed_files()])


def _evidence() -> str:
    message = evidence_message()
    if "evidence" not in message:
        raise ModelFileError(str(message.get("notice")))
    return json.dumps(message)


def _url(path: Path) -> str:
    return path.resolve().relative_to(ASSETS.resolve()).as_posix()


def _manifest() -> dict[str, Any]:
    icon = {"src": "page/favicon.svg", "sizes": "any", "type": "image/svg+xml"}
    return {
        "name": "CITER: two models write one answer", "short_name": "CITER", "start_url": "./", "scope": "./",
        "display": "standalone", "background_color": "#ffffff", "theme_color": "#ffffff", "icons": [icon],
    }  # fmt: skip


def _service_worker(folder: Path, files: list[Path], document: str) -> str:
    """Which files it keeps at once, which later, under a name that says what is in them."""
    digest = hashlib.sha256(document.encode())
    names = []
    for file in sorted(set(files) - {folder / "README.md", folder / "index.html"}):
        names.append(file.relative_to(folder).as_posix())
        digest.update(names[-1].encode() + hashlib.sha256(file.read_bytes()).digest())
    joined = {_url(path) for room in ROOMS for path in (ASSETS / room).glob("*.js")}
    first = [name for name in names if name not in joined and not name.startswith((*LATER, "models"))]
    later = [name for name in names if name not in first]
    kept = {"first": ["./", *first], "later": later}
    text = (SITE / "service_worker.js").read_text(encoding="utf-8")
    edition = digest.hexdigest()[:12]
    return f"const FILES = {json.dumps(kept, indent=1)};\nconst EDITION = {json.dumps(edition)};\n{text}"


def _heading(view: View) -> str:
    """Of a view whose own headings are of the third order."""
    return f'<h2 class="cx-hidden">{literal(view.title)}</h2>'


def _panel(view: View, content: str = "") -> str:
    return f'<div data-panel="{view.name}" hidden>{content}</div>'


def _document(props: dict[str, Any], script: str, import_map: str) -> str:
    presets = presets_to_show(ASSETS / "traces")
    opening = opening_of(presets)
    question, data_type = (opening.question, opening.data_type) if opening else (SAMPLE_QUESTION, "math")
    policy = (
        f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {hash_of(import_map)}; style-src 'self' "
        "'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
        "base-uri 'self'; form-action 'none'"
    )
    styles = "".join(f'<link rel="stylesheet" href="{name}">' for name in STYLES)
    views = [view for view in VIEWS if props["labels"] or view is not LABELS]
    buttons = "".join(
        f'<button type="button" hidden id="cx-tab-{view.name}-button" data-opens="{view.name}"></button>'
        for view in views
    )
    preload = "".join(preload_of(f"traces/{file}") for file in opening.files) if opening else ""
    how = HOW_IT_WORKS.replace("{more}", "")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{literal(TAGLINE)}">
<title>CITER: two models write one answer</title>
<link rel="icon" href="page/favicon.svg">
<link rel="manifest" href="site.webmanifest">
{AT_ONCE}
<link rel="modulepreload" href="{script}">{preload}
{styles}
<script type="importmap">{import_map}</script>
<script type="module" src="{script}"></script>
</head>
<body class="gradio-container">
<script src="site/theme.js"></script>
<div class="cx-site">
<div id="cx-header">{header_markup(views)}</div>
<main>
{explore(question, data_type, opening.tau if opening else 0.7, cards_markup(presets))}
<div id="cx-tabs">{buttons}{_panel(EXPLORE)}{_panel(COMPARE, f'{_heading(COMPARE)}<div class="cx-compare"></div>')}
{_panel(LABELS, f'{_heading(LABELS)}<div class="cx-labels"></div>')}
{_panel(EVIDENCE, '<div class="cx-evidence"></div>')}{_panel(LEARN, f'{how}<div class="cx-learn"></div>')}</div>
</main>
</div>
{data_block("cx-props", as_data(props))}
</body>
</html>
"""
