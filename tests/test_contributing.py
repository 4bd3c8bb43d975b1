"""The examples of CONTRIBUTING.md are carried out, on copies: what it says is enough is enough."""

from __future__ import annotations

import re
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
from citer_core.ui.page_script import ENTRY

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
            (next(folder.rglob("panels.js")).parent / self.file).write_text(self.code, encoding="utf-8")
            return
        (path,) = folder.rglob(self.file)
        text = path.read_text(encoding="utf-8")
        assert text.count(self.anchor) == 1, f"{self.file} has {self.anchor!r} {text.count(self.anchor)} times"
        if self.how == "after":
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
            file, how, anchor = re.fullmatch(r"(\S+), (after|instead of): (.*)", head).groups()
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


def test_the_routers_code_passes_the_linter():
    (edit,) = edits("Add a router")
    ruff = Path(sys.executable).with_name("ruff")
    for how in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [ruff, *how, "--stdin-filename", edit.file, "-"], input=edit.code, text=True, capture_output=True, cwd=ROOT
        )
        assert done.returncode == 0, done.stdout + done.stderr


@needs_node
def test_a_counter(browser_modules):
    for edit in edits("Add a counter"):
        edit.apply(browser_modules)
    JoinedScript.of(browser_modules / ENTRY, Path.as_posix)
    shown = node(
        f"""
        const {{ RunSeries }} = await import("{url_of(browser_modules, "series.js")}");
        const {{ Counters }} = await import("{url_of(browser_modules, "counters.js")}");
        const cost = {{ bytes: 1, flops: 1, seconds: 1 }};
        const series = new RunSeries({{ step: () => cost, alone: () => cost }});
        const event = {{ slm_s: 0, router_s: 0, llm_s: 0 }};
        for (const isLlm of [0, 0, 1, 1, 1, 0]) series.push(event, isLlm, isLlm);
        const counters = new Counters();
        counters.update({{ series, shown: 6, decisions: {{ firstFlip: -1 }} }});
        console.log(counters.values.stretch.textContent, counters.notes.stretch.textContent);
        """
    )
    assert shown.startswith("2") and shown.endswith(" tokens in one go")  # 6 tokens, 2 hand-offs


@needs_node
def test_a_panel(browser_modules):
    for edit in edits("Add a panel"):
        edit.apply(browser_modules)
    joined = JoinedScript.of(browser_modules / ENTRY, Path.as_posix)
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
@pytest.mark.skipif(not TSC.is_file(), reason="npm ci has not been run, which make lint does")
def test_both_pass_the_type_checker(tmp_path):
    shutil.copytree(ASSETS, tmp_path / "assets", ignore=lambda _, names: [n for n in names if n.endswith(OTHER)])
    shutil.copy(ROOT / "tsconfig.json", tmp_path)
    for edit in (*edits("Add a counter"), *edits("Add a panel")):
        edit.apply(tmp_path / "assets")
    done = subprocess.run(["node", TSC, "--project", tmp_path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_a_setting_is_named_where_the_table_says_and_nowhere_else():
    section = TEXT.split("\n## Add a setting of decoding\n")[1].split("\n## ")[0]
    table = {name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall("`(.*?)`", row)}
    inner = ("routing", "models", "training", "embedded")  # where it acts; `make-cot` has settings of its own
    files = [
        *(path for path in (ROOT / "citer_core").rglob("*.py") if path.parent.name not in inner),
        *ASSETS.rglob("*.js"),
    ]
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if re.search(r"\btop_p\b|\btopP\b", path.read_text(encoding="utf-8")) and path.name != "make_cot.py"
    }
    assert naming == table


def test_the_files_on_the_way_of_a_token_are_there():
    way = TEXT.split("\n## The way of one token\n")[1].split("\n## ")[0]
    named = re.findall(r"`([\w/]+\.(?:py|js))`", way)
    assert len(named) > 20
    for name in named:
        place = ROOT / "citer_core" / name if name.endswith(".py") else next(ASSETS.rglob(name), None)
        assert place is not None and place.is_file(), name


def test_the_hosted_workflow_runs_what_a_person_runs():
    job = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]["test"]
    commands = [step["run"].removesuffix(" PYTHON=python") for step in job["steps"] if "run" in step]
    here = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert commands == ["make lint", "make test"] == [line for line in here if line.startswith("make ")]
    low, high = (tuple(map(int, version.split("."))) for version in job["strategy"]["matrix"]["python"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={low[0]}.{low[1]},<{high[0]}.{high[1] + 1}"
    assert high[1] == low[1] + 1  # and none in between


def test_hooks_before_a_commit_call_what_is_installed():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repo,) = config["repos"]
    installed = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    assert repo["repo"] == "local"
    for hook in repo["hooks"]:
        program, *_ = hook["entry"].split()
        assert program == "make" or f"\n{Path(program).name}==" in installed
