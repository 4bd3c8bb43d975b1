"""The examples of CONTRIBUTING.md are carried out, on copies: what it says is enough is enough."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import yaml

from citer_core.assets import ASSETS
from citer_core.joined_script import JoinedScript
from citer_core.routing import routers
from citer_core.routing.router import RouterFeatures
from citer_core.routing.routers import training_free_routers
from tests.forked import Forked, anew

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
TSC = ROOT / "node_modules" / "typescript" / "bin" / "tsc"
OTHER = (".safetensors", ".json", ".jsonl", ".png", ".md")
# As much of a document as a panel asks for while it is made and told what to show.
DOCUMENT = """
class Element {
  constructor() { this.textContent = ""; this.children = []; }
  setAttribute() {}
  append(...children) { this.children.push(...children); this.textContent += children.filter((c) => typeof c === "string").join(""); }
}
globalThis.document = { createElement: () => new Element(), createElementNS: () => new Element() };
"""  # noqa: E501


@dataclass(frozen=True)
class Edit:
    """One block of an example: a new file, or lines of one that is there."""

    file: str
    how: str
    anchor: str
    code: str

    def apply(self, folder: Path) -> None:
        """Changes the only file of that name below a folder; of a new one the panels' folder is the place."""
        if self.how == "new":
            place = folder if "/" in self.file else next(folder.rglob("panels.js")).parent
            (place / self.file).parent.mkdir(exist_ok=True)
            (place / self.file).write_text(self.code, encoding="utf-8")
            return
        (path,) = folder.rglob(self.file)
        text = path.read_text(encoding="utf-8")
        assert text.count(self.anchor) == 1, f"{self.file} has {self.anchor!r} {text.count(self.anchor)} times"
        if self.how == "before":
            changed = re.sub(rf"(.*{re.escape(self.anchor)}.*\n)", lambda line: self.code + line[1], text)
        elif self.how == "after":
            changed = re.sub(rf"(.*{re.escape(self.anchor)}.*\n)", lambda line: line[1] + self.code, text)
        else:
            changed = text.replace(self.anchor, self.code.rstrip("\n"))
        path.write_text(changed, encoding="utf-8")


def edits(title: str) -> list[Edit]:
    """The blocks of one section."""
    section = TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]
    found = []
    for head, code in re.findall(r"```(?:js|python)\n(?://|#) ([^\n]*)\n(.*?)```", section, re.DOTALL):
        if head.endswith(" (new)"):
            found.append(Edit(head.removesuffix(" (new)"), "new", "", code))
        else:
            file, how, anchor = re.fullmatch(r"(\S+), (after|before|instead of): (.*)", head).groups()
            found.append(Edit(file, how, anchor, code))
    return found


@pytest.fixture
def browser_modules(tmp_path):
    """A copy of the page's modules."""
    for folder in ASSETS.iterdir():
        if folder.is_dir() and any(folder.glob("*.js")):
            shutil.copytree(folder, tmp_path / folder.name)
    return tmp_path


def url_of(folder, name):
    (path,) = folder.rglob(name)
    return path.as_uri()


def node(script):
    done = subprocess.run(
        ["node", "--input-type=module", "-"], input=DOCUMENT + script, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_way_of_one_token_goes_through_twelve_files_that_are_there():
    way = TEXT.split("## The way of one token")[1].split("\n## ")[0]
    named = set(re.findall(r"`([\w/]+\.(?:py|js))`", way))
    assert len(named) == 12
    assert all(any(any(folder.rglob(name)) for folder in (ROOT / "citer_core", ASSETS)) for name in named)


def test_a_router(tmp_path, monkeypatch):
    (edit,) = edits("Add a router")
    assert (ROOT / edit.file).parent == Path(routers.__file__).parent
    (tmp_path / "duel.py").write_text(edit.code, encoding="utf-8")
    monkeypatch.setattr(routers, "__path__", [*routers.__path__, str(tmp_path)])
    routers._classes.cache_clear()
    try:
        duel = training_free_routers()["duel"]
        logits = torch.tensor([[0.6, 0.2, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]]).log()
        scores = duel.confidence(RouterFeatures(torch.zeros(3, 8), logits))
        assert scores.tolist() == pytest.approx([0.75, 0.5, 1.0])
    finally:
        routers._classes.cache_clear()
        sys.modules.pop("citer_core.routing.routers.duel", None)


@needs_node
def test_a_counter(browser_modules):
    for edit in edits("Add a counter"):
        edit.apply(browser_modules)
    JoinedScript.of(browser_modules / "app" / "app.js", Path.as_posix)
    shown = node(
        f"""
        const {{ RunSeries }} = await import("{url_of(browser_modules, "series.js")}");
        const {{ Counters }} = await import("{url_of(browser_modules, "counters.js")}");
        const cost = {{ bytes: 1, flops: 1, seconds: 1 }};
        const series = new RunSeries({{ step: () => cost, alone: () => cost }});
        const event = {{ slm_s: 0, router_s: 0, llm_s: 0 }};
        for (const isLlm of [0, 0, 1, 1, 1, 0]) series.push(event, isLlm, isLlm);
        const counters = new Counters();
        counters.update({{ series, shown: 6, decisions: {{ firstFlip: -1 }}, prices: {{}} }});
        console.log(counters.values.stretch.textContent, counters.notes.stretch.textContent);
        """
    )
    assert shown.startswith("2") and shown.endswith(" tokens in one go")  # 6 tokens, 2 hand-offs


@needs_node
def test_a_panel(browser_modules):
    for edit in edits("Add a panel"):
        edit.apply(browser_modules)
    joined = JoinedScript.of(browser_modules / "app" / "app.js", Path.as_posix)
    assert "class Longest {" in joined.module_text
    shown = node(
        f"""
        const {{ Longest }} = await import("{url_of(browser_modules, "longest.js")}");
        const panel = new Longest();
        panel.update({{ shown: 0, decisions: {{ isLlm: [] }} }});
        console.log(JSON.stringify(panel.root.textContent));
        panel.update({{ shown: 6, decisions: {{ isLlm: [0, 1, 1, 1, 0, 0] }} }});
        console.log(panel.root.textContent);
        """
    )
    assert shown.splitlines() == ['""', "Longest stretch by one model: 3 tokens."]


@needs_node
def test_a_view(browser_modules):
    row, module, filled = edits("Add a view")
    (browser_modules / "views.py").write_text((ROOT / "citer_core/ui/views.py").read_text(encoding="utf-8"))
    for edit in (row, module, filled):
        edit.apply(browser_modules)
    views = runpy.run_path(str(browser_modules / "views.py"))
    assert '<a href="?view=variety" data-view="variety">Variety</a>' in views["header"](views["VIEWS"])
    assert 'id="cx-tab-variety"' in views["panels"](views["VIEWS"], {}) and "variety" in views["FOLDERS"]
    names = JoinedScript.of(browser_modules / "app" / "app.js", Path.as_posix).module_text
    assert "variety/variety.js" in names
    shown = node(
        f"""
        const {{ mountVariety }} = await import("{url_of(browser_modules, "variety.js")}");
        const panel = {{ replaceChildren: (child) => console.log(child.textContent) }};
        const events = [" a", "b", " a"].map((text) => ({{ text }}));
        await mountVariety(panel, {{ viewer: {{ trace: () => ({{ events }}) }} }});
        """
    )
    assert shown == "2 different tokens."


@pytest.fixture(scope="module")
def with_min_p(tmp_path_factory) -> Path:
    """A copy of the package and the page's modules with the example's setting; the rest of the assets are links."""
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(ROOT / "citer_core", folder / "citer_core")
    (folder / "assets").mkdir()
    for path in ASSETS.iterdir():
        (folder / "assets" / path.name).symlink_to(path)
    for room in ("run", "engine"):
        (folder / "assets" / room).unlink()
        shutil.copytree(ASSETS / room, folder / "assets" / room)
    for edit in edits("Add a setting of decoding"):
        edit.apply(folder / ("assets" if edit.file.endswith(".js") else "citer_core"))
    in_copy(folder, "import runpy; runpy.run_module('citer_core.trace_schema_js', run_name='__main__')")
    return folder


def in_copy(folder: Path, code: str) -> str:
    """What code prints that imports from the copy."""
    code = anew("citer_core") + f"sys.path.insert(0, {str(folder)!r})\nsys.dont_write_bytecode = True\n" + code
    process = Forked(code, cwd=folder, env=dict(os.environ))
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def settings_table() -> set[str]:
    """The files that the section on settings lists."""
    section = TEXT.split("\n## Add a setting of decoding\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(.*?)` \|", section, re.MULTILINE))


def test_a_setting_changes_the_files_of_its_table_alone(with_min_p):
    assert len(settings_table()) == 4
    changed = {
        path.relative_to(with_min_p).as_posix()
        for room in ("citer_core", "assets/run", "assets/engine")
        for path in (with_min_p / room).rglob("*")
        if path.is_file()
        and path.suffix != ".pyc"
        and path.read_bytes() != (ROOT / path.relative_to(with_min_p)).read_bytes()
    }
    assert changed == settings_table()


def test_no_other_file_knows_a_setting_by_its_name():
    inner = ("routing", "models", "training", "embedded")  # where it acts; `make-cot` has settings of its own
    files = [
        *(path for path in (ROOT / "citer_core").rglob("*.py") if path.parent.name not in inner),
        *(path for path in ASSETS.rglob("*.js") if path.parent.name != "engine"),  # acts on it, or refuses it
    ]
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if re.search(r"\btop_p\b|\btopP\b|top-p", path.read_text(encoding="utf-8")) and path.name != "make_cot.py"
    }
    assert naming == settings_table() - {"citer_core/routing/sampling.py", "assets/engine/sampling.js"}


USES_MIN_P = """
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch

import citer_core
from citer_core.assets import ASSETS
from citer_core.cli.main import build_parser
from citer_core.cli.decoding_arguments import given_settings
from citer_core.decode_settings import DecodeSettings, settings_words
from citer_core.errors import CiterError
from citer_core.routing.server import sampling_at
from citer_core.routing.sampling import choose_token
from citer_core.trace import RoutingTrace
from citer_core.ui.form import explore
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.asked import read_asked

assert Path(citer_core.__file__).is_relative_to(Path.cwd())
found = {}

asked = {"question": "1 + 1?", "data_type": "math", "settings": {"min_p": 0.5, "temperature": 1}}
found["request"] = read_asked(ProblemBook({}), json.dumps(asked)).settings.min_p
asked["settings"]["min_p"] = 2
try:
    read_asked(ProblemBook({}), json.dumps(asked))
except CiterError as error:
    found["refused"] = str(error)
found["words"] = settings_words()

for arguments in (["--min-p", "0.5"], ["--settings", '{"min_p": 0.5}']):
    args = build_parser().parse_args(["route", "--question", "x", *arguments])
    found.setdefault("flags", []).append(given_settings(args))

control = '<label>([^<]*)<input type="number" data-name="min_p" ([^>]*)>'
found["control"] = re.search(control, explore("x", "math", 0.7)).groups()

settings = DecodeSettings(temperature=1.0, min_p=0.5)
logits = torch.tensor([0.4, 0.3, 0.17, 0.13]).log()
drawn = lambda how: sorted(Counter(choose_token(logits, replace(how, seed=seed), 0) for seed in range(200)))
found["drawn"] = [drawn(settings), drawn(replace(settings, min_p=0.0))]
found["server"] = sampling_at(settings, 0).others
found["newer"] = [settings.newer(), replace(settings, min_p=0.0).newer()]

stored = (ASSETS / "traces" / "qwen-bridge.json").read_text(encoding="utf-8").removesuffix("\\n")
old = RoutingTrace.from_json(stored)
new = replace(old, settings=settings)
found["traces"] = [old.to_json() == stored, RoutingTrace.from_json(new.to_json()) == new]
found["trace"] = json.loads(new.to_json())
print(json.dumps(found))
"""


def test_a_setting_is_everywhere_that_a_person_meets_it(with_min_p):
    found = json.loads(in_copy(with_min_p, USES_MIN_P))
    assert found["request"] == 0.5 and found["flags"] == [{"min_p": 0.5}] * 2
    assert found["refused"].startswith("min_p is 2; it must be a number from 0 to 1. 0 cuts off nothing")
    assert "min_p, a number from 0 to 1 (0; Only when sampling)" in found["words"]
    assert found["control"] == ["Min-p", 'min="0" max="1" step="0.01" value="0"']
    assert found["drawn"] == [[0, 1], [0, 1, 2, 3]]  # 0.17 is less than half of 0.4
    assert found["server"] == [["min_p", 0.5]] and found["newer"] == [{"min_p": 0.5}, {}]
    assert found["traces"] == [True, True] and found["trace"]["settings"]["min_p"] == 0.5


@needs_node
def test_the_bundled_pairs_engine_takes_the_new_setting(with_min_p):
    sampling = url_of(with_min_p / "assets" / "engine", "sampling.js")
    drawn = node(
        f"""
        const {{ drawnAt, refuseUnknownSettings }} = await import("{sampling}");
        const settings = {{ threshold: 0.7, max_new_tokens: 9, temperature: 1, top_p: 1, seed: 5, min_p: 0.5 }};
        refuseUnknownSettings(settings);
        const logits = Float32Array.from([0.4, 0.3, 0.17, 0.13], Math.log);
        const drawn = (how) => Array.from({{ length: 200 }}, (_, index) => drawnAt(logits, how, index).id);
        const some = [settings, {{ ...settings, min_p: 0 }}].map((how) => [...new Set(drawn(how))].sort());
        console.log(JSON.stringify(some));
        """
    )
    assert json.loads(drawn) == [[0, 1], [0, 1, 2, 3]]  # as in Python


@needs_node
def test_a_link_carries_the_new_setting_and_checks_it(with_min_p):
    shutil.copytree(ASSETS / "app", with_min_p / "linked" / "app")
    shutil.copytree(with_min_p / "assets" / "run", with_min_p / "linked" / "run")
    shown = node(
        f"""
        const {{ buildLink, readLink }} = await import("{url_of(with_min_p / "linked", "link.js")}");
        const settings = {{ ...readLink("?q=x").problem.settings, temperature: 1, min_p: 0.5 }};
        const problem = {{ question: "x", data_type: "math", router: "citer", settings }};
        const link = buildLink("http://h/", {{ preset: null, problem, dials: {{}}, token: null }});
        console.log(JSON.stringify([link, readLink(new URL(link).search).problem, readLink("?q=x&min_p=7").refused]));
        """
    )
    link, problem, refused = json.loads(shown)
    assert "&min_p=0.5" in link and problem["settings"]["min_p"] == 0.5
    assert refused == ["min_p is 7; it must be a number from 0 to 1."]


@pytest.mark.slow
@needs_node
@pytest.mark.skipif(not TSC.is_file(), reason="npm ci has not been run, which make lint does")
def test_all_of_them_pass_the_type_checker(tmp_path, with_min_p):
    shutil.copytree(ASSETS, tmp_path / "assets", ignore=lambda _, names: [n for n in names if n.endswith(OTHER)])
    shutil.copy(with_min_p / "assets" / "run" / "trace_schema.js", tmp_path / "assets" / "run")
    shutil.copy(ROOT / "tsconfig.json", tmp_path)
    for edit in (*edits("Add a counter"), *edits("Add a panel"), *edits("Add a view")[1:]):
        edit.apply(tmp_path / "assets")
    done = subprocess.run(["node", TSC, "--project", tmp_path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_the_hosted_workflow_runs_what_a_person_runs():
    job = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]["test"]
    commands = [step["run"].removesuffix(" PYTHON=python") for step in job["steps"] if "run" in step]
    assert commands == ["make lint", "make test"]
    here = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert [line for line in here if line.startswith("make ")] == ["make -j2 -k lint test"]
    low, *between, high = (tuple(map(int, version.split("."))) for version in job["strategy"]["matrix"]["python"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={low[0]}.{low[1]},<{high[0]}.{high[1] + 1}"
    assert [minor for _, minor in between] == list(range(low[1] + 1, high[1]))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"({low[0]}, {low[1]}) <= sys.version_info[:2] <= ({high[0]}, {high[1]})" in makefile


def test_hooks_before_a_commit_call_what_is_installed():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repo,) = config["repos"]
    installed = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    assert repo["repo"] == "local"
    for hook in repo["hooks"]:
        program, *_ = hook["entry"].split()
        assert program == "make" or f"\n{Path(program).name}==" in installed
