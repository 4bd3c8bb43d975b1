"""The numbers in README.md and in the chapters are those of the cards and the stored benchmarks, to the digit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from citer_core.assets import ASSETS
from tests.core.chapter_tables import card, part

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SPEED = (ASSETS / "docs" / "speed.md").read_text(encoding="utf-8")
CHAPTERS = sorted((ASSETS / "docs").glob("*.md"))


def test_qwen_speed():
    text = part(SPEED, "qwen speed").replace("\n", " ")
    short, long = card("benchmarks/decode-qwen.json"), card("benchmarks/decode-qwen-4-shots.json")
    for name, row in short["contenders"].items():
        speeds = f"| {name} | {row['tokens_per_s']:.1f} | {long['contenders'][name]['tokens_per_s']:.1f} |"
        if "speedup_over_llm_passes" in row:
            speeds += f" {row['speedup_over_llm_passes']:.2f} | {row['speedup_estimated_from_bytes']:.2f} |"
        assert speeds in text
    for result in (short, long):
        assert result["date"] in text and result["hardware"] in text and f"`{result['command']}`" in text
        assert f"{result['speedup_over_reprefill_at_30']:.1f} times" in text
        assert f"{result['n_prompt']} " in text
    llm, slm, again = (
        1000 / short["contenders"][name]["tokens_per_s"]
        for name in (
            "LLM alone, the routed loop's passes",
            "routed at 0%",
            "routed at 30%, LLM re-prefilled at every call",
        )
    )
    assert f"step of the SLM takes {slm:.0f} ms and one of the LLM {llm:.0f} ms, a ratio of {llm / slm:.1f}" in text
    assert f"costs only {(again - slm) / 0.3 / llm:.1f} steps of the LLM" in text


@pytest.mark.parametrize("file", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *CHAPTERS], ids=lambda file: file.name)
def test_links_lead_somewhere(file):
    """Files, by a path from the file that names them; a heading that is linked is there."""
    for target in re.findall(r"\]\(([^)\s]+)\)", file.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (file.parent / target).is_file(), target


def test_readme_leads_to_every_chapter():
    assert [file.name for file in CHAPTERS if f"](assets/docs/{file.name})" not in README] == []


def test_front_matter():
    """What a Space reads; a version that is not the pinned one would serve another page than the tests do."""
    root = Path(__file__).resolve().parents[2]
    _, head, _ = README.split("---\n", 2)
    facts = dict(line.split(": ", 1) for line in head.strip().splitlines())
    pins = dict(line.split("#")[0].strip().split("==") for line in requirements(root) if "==" in line)
    assert facts["sdk"] == "gradio" and facts["sdk_version"] == pins["gradio[mcp]"]
    assert (root / facts["app_file"]).is_file()
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    low, high = (part.lstrip("<>=") for part in project["requires-python"].split(","))
    version = tuple(map(int, facts["python_version"].strip('"').split(".")))
    assert tuple(map(int, low.split("."))) <= version < tuple(map(int, high.split(".")))
    assert facts["license"] == project["license"].lower() and (root / "LICENSE").is_file()
    assert len(facts["short_description"]) <= 60 and facts["title"]
    allowed = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}  # others fail a Space's build
    assert {facts["colorFrom"], facts["colorTo"]} <= allowed and len(facts["emoji"]) == 1


def requirements(root):
    return (root / "requirements.txt").read_text(encoding="utf-8").splitlines()
