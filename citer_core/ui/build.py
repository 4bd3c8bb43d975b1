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
from citer_core.browser_pair import MODEL_FILES, engine_script, lab_script, needed_files, pair_facts
from citer_core.comparison import COMPARISONS
from citer_core.errors import ModelFileError
from citer_core.files import need_folder, write_whole
from citer_core.joined_script import JoinedScript, import_map_of
from citer_core.offline import offline_template
from citer_core.ui.about_pair import told_of_bundled
from citer_core.ui.document import ENTRY, Document, usual_props
from citer_core.ui.evidence import evidence_message
from citer_core.ui.messages import Message
from citer_core.ui.one_file import one_file_template
from citer_core.ui.page_assets import SCRIPTS, path_in_assets, plotly_script
from citer_core.ui.presets import presets_to_show, recorded_kinds
from citer_core.ui.profile import RecordedProfiles
from citer_core.ui.views import API, LABELS, LEARN, VIEWS, how_it_works
from citer_core.ui.views import FOLDERS as VIEW_FOLDERS

FOLDERS = (
    *(*SCRIPTS, *MODEL_FILES, "routers/embedded", "datasets"),
    *("traces", "traces/probes", "comparisons", "lessons"),
)
SUFFIXES = frozenset({".js", ".css", ".svg", ".json", ".jsonl", ".safetensors"})
LATER = (
    *("lab-worker", "traces", "plotly", "routers", "share", "answers/", "app/", "engine/", "datasets", "inside"),
    *("comparisons/", "lessons/", *(f"{name}/" for name in VIEW_FOLDERS)),
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
    joined = JoinedScript.of(ENTRY, path_in_assets)
    script = named("page", joined.module_text)
    facts = pair_facts("./", named("worker", engine_script()), named("lab-worker", lab_script()))
    if facts is None:
        raise ModelFileError("The bundled pair's files or their card are damaged: install again.")
    stored = [
        {"title": title, "pair": "Recorded", "file": file, "url": write(f"labels/{file}", text)}
        for file, (title, text) in ((f"stored-{k}.json", entry) for k, entry in enumerate(labels.items(), 1))
    ]
    compared = [{**entry, "url": f"comparisons/{entry['file']}"} for entry in COMPARISONS.read(ASSETS / "comparisons")]
    answers = {
        "evidence": _sound(evidence_message(), "evidence"),
        "profile": _sound(RecordedProfiles(ASSETS / "benchmarks").message(), "profile"),
        "offline_page": {"template": offline_template()},
        "one_file_page": {"template": one_file_template()},
    }
    presets = presets_to_show(ASSETS / "traces")
    props = {
        **usual_props({**facts, "is_only": True}), "comparisons": compared, "labels": stored, "plotly": "plotly.min.js",
        "worker": "service_worker.js", **told_of_bundled(recorded_kinds(presets)),
        "stored": {name: write(f"answers/{name}.json", json.dumps(answer)) for name, answer in answers.items()},
    }  # fmt: skip
    write("site.webmanifest", json.dumps(_manifest(), indent=2))
    write("README.md", SPACE.format(version=citer_core.__version__))
    document = Document(
        props,
        [view for view in VIEWS if view is not API and (stored or view is not LABELS)],
        {LEARN.name: how_it_works()},
        script=script,
        import_map=import_map_of([path_in_assets(module) for module in joined.modules], script),
        presets=presets,
        traces="traces",
        head='<link rel="icon" href="app/favicon.svg"><link rel="manifest" href="site.webmanifest">',
    ).text
    written.append(folder / "index.html")
    write("service_worker.js", _service_worker(folder, written, document))
    write_whole(folder / "index.html", document)
    return sorted(set(written))


def needed_bytes(folder: Path) -> int:
    """What a visitor loads before anything can be written: the pair, the document, its scripts and styles."""
    scripts = [*folder.glob("page-*.js"), *folder.glob("worker-*.js")]
    page = [folder / "index.html", *scripts]
    return sum(path.stat().st_size for path in [*page, *needed_files()])


def _sound(message: Message, name: str) -> Message:
    """A message that is what it should be.

    Raises:
        ModelFileError: a stored file is damaged.
    """
    if name not in message:
        raise ModelFileError(str(message.get("notice")))
    return message


def _manifest() -> dict[str, Any]:
    icon = {"src": "app/favicon.svg", "sizes": "any", "type": "image/svg+xml"}
    return {
        "name": "CITER: two models write one answer", "short_name": "CITER", "startpath_in_assets": "./", "scope": "./",
        "display": "standalone", "background_color": "#ffffff", "theme_color": "#ffffff", "icons": [icon],
    }  # fmt: skip


def _service_worker(folder: Path, files: list[Path], document: str) -> str:
    """Which files it keeps at once, which later, under a name that says what is in them."""
    digest = hashlib.sha256(document.encode())
    names = []
    for file in sorted(set(files) - {folder / "README.md", folder / "index.html"}):
        names.append(file.relative_to(folder).as_posix())
        digest.update(names[-1].encode() + hashlib.sha256(file.read_bytes()).digest())
    joined = {path_in_assets(path) for room in SCRIPTS for path in (ASSETS / room).glob("*.js")}
    first = [name for name in names if name not in joined and not name.startswith((*LATER, "models"))]
    later = [name for name in names if name not in first]
    kept = {"first": ["./", *first], "later": later}
    text = (ASSETS / "app" / "service_worker.js").read_text(encoding="utf-8")
    edition = digest.hexdigest()[:12]
    return f"const FILES = {json.dumps(kept, indent=1)};\nconst EDITION = {json.dumps(edition)};\n{text}"
