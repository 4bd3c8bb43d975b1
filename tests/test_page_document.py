"""What is added to gradio's document."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from citer_core.assets import ASSETS
from citer_core.ui.document import PageDocument
from citer_core.ui.first_paint import opening_text
from citer_core.ui.gradio_files import GradioFiles
from citer_core.ui.run.presets import opening_of, read_presets
from tests.traces import opening_run

GRADIO = b"""<html><head><meta charset="utf-8" /><base href="./" />
<meta property="og:title" content="Gradio" /><meta
    name="twitter:title"
    content="Gradio" /><meta name="viewport" content="width=device-width">
<script type="module" crossorigin src="./assets/a.js"></script>
<link rel="stylesheet" crossorigin href="./assets/a.css"></head>
<body style=""><gradio-app></gradio-app></body></html>"""

LATER = [(b" crossorigin", b"./assets/a.css"), (b"", b"later.css")]


def test_our_head_comes_before_every_script_and_behind_the_base() -> None:
    page = PageDocument("<style>p {}</style>", '{"tokens":[]}')(GRADIO)
    assert page.index(b"<base") < page.index(b"<style>p {}") < page.index(b"<script")
    assert page.count(b"<style>p {}") == 1 and b'"Gradio"' not in page and b"viewport" in page
    assert page.index(b"</gradio-app>") < page.index(b'<script type="application/json"') < page.index(b"</body>")
    baseless = PageDocument("<style></style>", None)(GRADIO.replace(b'<base href="./" />', b""))
    assert b"<head><style></style><meta" in baseless and b"cx-early" not in baseless


def test_nothing_that_the_first_text_does_not_need_holds_it_back() -> None:
    page = PageDocument("<style>p {}</style>", '{"tokens":[]}', ["later.css"])(GRADIO)
    assert b'rel="stylesheet"' not in page and b'type="module"' not in page
    assert b'<link rel="modulepreload" crossorigin href="./assets/a.js" data-begins>' in page
    sheets = [b'<link rel="preload" as="style"%s href="%s" data-later>' % sheet for sheet in LATER]
    assert page.index(sheets[0]) < page.index(sheets[1]), (
        "ours come behind gradio's, over which they have the last word"
    )
    textless = PageDocument("<style>p {}</style>", None, ["later.css"])(GRADIO)
    assert b'type="module"' in textless and textless.count(b'rel="stylesheet"') == 2 and b"data-" not in textless


def test_gradios_sheets_come_as_one_before_the_theme_and_ours() -> None:
    files = GradioFiles()
    themed = GRADIO.replace(b"<script", b'<script>window.gradio_config = {"theme_hash": "ab12"};</script><script', 1)
    page = PageDocument("<style>p {}</style>", '{"tokens":[]}', ["later.css"], files)(themed)
    joined = b'<link rel="preload" as="style" href="%s" data-later>' % files.url.encode()
    theme = b'<link rel="preload" as="style" href="theme.css?v=ab12">'
    assert page.index(b"./assets/a.css") < page.index(joined) < page.index(theme) < page.index(b"later.css")
    names = json.loads(page.split(b'id="cx-gradio-files">')[1].split(b"</script>")[0])
    assert names == {"scripts": files.scripts, "sheets": files.sheets} and len(names["sheets"]) > 20
    textless = PageDocument("<style>p {}</style>", None, ["later.css"], files)(themed)
    assert b"cx-gradio-files" not in textless and b"citer/gradio-" not in textless, "nobody would use them"


def test_a_chapter_to_read_stays_as_it_is() -> None:
    chapter = b"<html><head><title>Use</title></head><body><h1>Use</h1></body></html>"
    assert PageDocument("<style>p {}</style>", '{"tokens":[]}')(chapter) == chapter


def test_a_page_behind_a_password_says_nothing_of_ours() -> None:
    closed = GRADIO.replace(b"<script", b'<script>window.gradio_config = {"auth_required": true};</script><script')
    page = PageDocument("<style>p {}</style>", '{"tokens":["secret"]}')(closed)
    assert b"p {}" not in page and b"secret" not in page
    assert b'href="./assets/a.css"></head>' in page, "gradio's own form of a login has its sheet where it was"


def test_the_text_is_the_opening_runs_with_its_writers_and_cannot_end_the_script(tmp_path: Path) -> None:
    opening = opening_of(read_presets(ASSETS / "traces"))
    assert opening is not None
    text = opening_text(ASSETS / "traces", opening.file, is_probed=opening.is_probed)
    assert text is not None
    tokens = json.loads(text)["tokens"]
    assert [(token, writer) for token, writer, _ in tokens] == [(e.text, e.source) for e in opening_run().events]
    decisive = [index for index, token in enumerate(tokens) if token[2]]
    assert decisive and all(
        event.source == "llm" and event.token_id != event.slm_token_id
        for event in (opening_run().events[index] for index in decisive)
    )
    run = opening_run()
    evil = replace(run, events=(replace(run.events[0], text="</script><b>"), *run.events[1:]))
    (tmp_path / opening.file).write_text(evil.to_json(), encoding="utf-8")
    found = opening_text(tmp_path, opening.file, is_probed=False)
    assert found is not None and "<" not in found and json.loads(found)["tokens"][0][0] == "</script><b>"


def test_a_damaged_run_is_left_out_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opening = opening_of(read_presets(ASSETS / "traces"))
    assert opening is not None
    with caplog.at_level(logging.WARNING):
        assert opening_text(tmp_path, opening.file, is_probed=True) is None
        (tmp_path / opening.file).write_text("{", encoding="utf-8")
        assert opening_text(tmp_path, opening.file, is_probed=True) is None
    assert len(caplog.records) == 2
