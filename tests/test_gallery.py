"""One-file pages and the gallery of them, as text; the browser's tests open them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.errors import ModelFileError
from citer_core.joined_script import JoinedScript
from citer_core.offline import TRACE_PLACE, offline_page, offline_template
from citer_core.trace import RoutingTrace
from tests.hostile import hostile_strings
from tests.traces import made_trace, trace_of_texts


def test_a_gallery_has_every_run_and_links_to_it(tmp_path: Path) -> None:
    given = tmp_path / "My Run.json"
    given.write_text(made_trace("<b>How much?</b>").to_json(), encoding="utf-8")
    out = tmp_path / "site"
    assert main(["gallery", str(out), str(given), str(given)]) == 0
    index = (out / "index.html").read_text(encoding="utf-8")
    files = re.findall(r'href="([^"]+\.html)"', index)
    bundled = [entry["file"] for entry in json.loads((ASSETS / "traces" / "index.json").read_text())]
    assert files == [*(name.replace(".json", ".html") for name in bundled), "my-run.html", "my-run-2.html"]
    assert all((out / name).stat().st_size > 50_000 for name in files)
    assert "<b>How much" not in index and "&lt;b&gt;How much" in index


@pytest.mark.parametrize("text", ["no json", '{"schema": "other"}', '{"schema": "citer-trace", "schema_version": 1}'])
def test_what_is_no_trace_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    assert main(["gallery", str(tmp_path / "out"), str(path), "--only-given"]) == 2
    assert "bad.json" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_page_holds_its_trace_and_nothing_in_it_ends_an_element() -> None:
    trace = trace_of_texts(hostile_strings(), "</script><script>window.hacked=9</script>")
    template = offline_template()
    page = offline_page(trace, template)
    assert page.count("<script") == template.count("<script") == 3
    held = re.search(r'id="citer-trace">(.*?)</script>', page, re.DOTALL)
    assert held is not None and RoutingTrace.from_json(held.group(1)) == trace
    assert template.count(TRACE_PLACE) == 1
    assert not re.search(r'(?:src|href)="(?!data:)', page), "a one-file page refers to no other file"


def test_modules_that_cannot_be_joined_are_named(tmp_path: Path) -> None:
    def entry(source: str) -> Path:
        path = tmp_path / "entry.js"
        path.write_text(source, encoding="utf-8")
        return path

    (tmp_path / "other.js").write_text("export const one = 1;\n", encoding="utf-8")
    assert "const one" in JoinedScript.of(entry('import { one } from "./other.js";\nconsole.log(one);\n')).text
    # A type in front of an expression is a comment up to its own end only.
    typed = "/** @type {number[]} */ (globalThis.list).push(1);\nconst two = 2;\n/** The third. */\nconst three = 3;\n"
    text = JoinedScript.of(entry(typed)).text
    assert all(code in text for code in ("globalThis.list", "const two", "const three")), text
    assert "The third" not in text
    for source, message in (
        ('import { one } from "./other.js";\nconst one = 2;\n', "both declare one"),
        ('import { one as two } from "./other.js";\n', "renames"),
        ('import * as other from "./other.js";\n', "cannot be joined"),
        ("export default 1;\n", "cannot be joined"),
        ('const text = "</script>";\n', "end of a script"),
        ('import { one } from "./missing.js";\n', "cannot be read"),
    ):
        with pytest.raises(ModelFileError, match=message):
            JoinedScript.of(entry(source))


def test_a_joined_module_exports_what_its_modules_did_and_finds_what_comes_later(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "other.js").write_text(
        "export const HERE = import.meta.url;\nexport async function two() {}\nconst own = 3;\n", encoding="utf-8"
    )
    (tmp_path / "later.js").write_text("export const late = 1;\n", encoding="utf-8")
    entry = tmp_path / "entry.js"
    entry.write_text(
        'import { HERE, two } from "./deep/other.js";\n'
        'export const start = async () => [HERE, await two(), await import("./later.js")];\n',
        encoding="utf-8",
    )
    joined = JoinedScript.of(entry, lambda path: f"files/{path.name}")
    assert [path.name for path in joined.modules] == ["other.js", "entry.js"]
    assert joined.exports == ["HERE", "two", "start"]
    assert joined.module_text.rstrip().endswith("export { HERE, two, start };")
    assert 'HERE = (new URL("files/other.js", document.baseURI).href);' in joined.text
    assert 'import(new URL("./later.js", (new URL("files/entry.js", document.baseURI).href)).href)' in joined.text
    with pytest.raises(ModelFileError, match="cannot be joined"):
        JoinedScript.of(entry)
