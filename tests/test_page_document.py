"""The page's document: what stands in it before any script has run, and the policy that lets only that run."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from citer_core.assets import ASSETS
from citer_core.html_page import hash_of
from citer_core.ui.document import Document, opening_text, usual_props
from citer_core.ui.presets import opening_of, read_presets
from citer_core.ui.views import API, EXPLORE, LABELS, VIEWS
from tests.traces import opening_run

VOID = {"meta", "link", "input", "br", "img"}


def document(views=VIEWS, **how):
    how.setdefault("presets", read_presets(ASSETS / "traces"))
    content = {API.name: "<p>call it</p>"}
    return Document(usual_props(None), views, content, script="page.js", import_map="{}", traces="traces", **how)


class Outline(HTMLParser):
    """Elements by their id, and whether all of them end where they should."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.open: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if (name := dict(attrs).get("id")) is not None:
            self.ids.append(name)
        if tag == "script":
            self.scripts.append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open[-5:])
        self.open.pop()


def test_it_is_whole_with_text_one_script_and_a_panel_for_each_view():
    outline = Outline(document().body.decode())
    assert outline.open == [] and len(outline.ids) == len(set(outline.ids))
    assert {f"cx-{view.name}" for view in VIEWS} <= {*outline.ids}
    assert {"cx-early-run", "cx-props", "cx-generate", "cx-tau-number"} <= {*outline.ids}
    assert [one["src"] for one in outline.scripts if "src" in one] == ["page.js"]
    few = Outline(document((EXPLORE, LABELS)).body.decode())
    assert "cx-labels" in few.ids and "cx-api" not in few.ids


def test_without_recorded_runs_there_is_a_problem_all_the_same():
    text = document(presets=[]).body.decode()
    assert "Mia buys 4 pens" in text and 'id="cx-early-run"' not in text and 'class="cx-preset"' not in text


def test_its_policy_names_every_script_that_stands_in_it_and_no_other():
    page = document()
    inline = re.findall(r"<script(?: type=\"importmap\")?>(.*?)</script>", page.body.decode(), re.S)
    assert len(inline) == 3, "an import map, the theme, the opening text"
    named = re.findall(r"'sha256-[^']+'", page.policy)
    assert {*named} == {hash_of(text) for text in inline} and page.policy.count("unsafe-eval") == 1
    assert "'unsafe-inline'" not in page.policy.split("style-src")[0]
    assert f'content="{page.policy}"' in page.text


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
