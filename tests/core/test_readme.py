"""The numbers in README.md and in the chapters are those of the cards and the stored benchmarks, to the digit."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from citer_core.assets import ASSETS
from citer_core.measuring.crossing import measured_crossing
from citer_core.measuring.profile_file import read_profile
from citer_core.tasks.datasets import bundled_rows
from tests.core.chapter_tables import card, part

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EVIDENCE, SPEED = ((ASSETS / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("evidence", "speed"))
CHAPTERS = sorted((ASSETS / "docs").glob("*.md"))


@pytest.mark.parametrize(("which", "label"), [("slm", "SLM"), ("llm", "LLM")])
def test_pair_table(which, label):
    model = card("models/card.json")["models"][which]
    cells = [f"{model['n_params']:,}", *(f"{model['accuracy'][kind]['share']:.1%}" for kind in ("math", "mc"))]
    assert f"| {label} | {' | '.join(cells)} |" in EVIDENCE


@pytest.mark.parametrize("kind", ["math", "mc"])
def test_router_table(kind):
    router = card("routers/embedded/citer.json")
    for point, label in zip(router["test"][kind], ("SLM only", "CITER", "LLM only (routed at tau = 1)"), strict=True):
        cells = [f"{point['accuracy']['share']:.1%}", f"{point['llm_token_share']:.1%}", f"{point['bytes_share']:.1%}"]
        assert f"| {kind} | {label} | {' | '.join(cells)} |" in EVIDENCE
    assert f"tau = {router['recommended_threshold']:g}" in EVIDENCE
    assert f"AUC {router['training']['auc']:.3f}" in EVIDENCE
    assert f"{router['training']['auc_max_probability']:.3f} for max-probability" in EVIDENCE


def test_speed_table():
    bench, alone = card("benchmarks/decode.json"), card("benchmarks/decode-1-thread.json")
    for name, row in bench["contenders"].items():
        other = alone["contenders"][name]["tokens_per_s"]
        assert f"| {name} | {row['tokens_per_s']:,.0f} | {other:,.0f} |" in SPEED
    for result in (bench, alone):
        assert f"{result['speedup_over_reprefill_at_30']:.1f} times" in SPEED
        assert result["date"] in SPEED and f"`{result['command']}`" in SPEED
    assert bench["hardware"] in SPEED


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


def test_batch_table():
    bench = card("benchmarks/batch.json")
    for threshold, row in bench["thresholds"].items():
        speeds = f"{row['single_tokens_per_s']:,.0f} | {row['batch_tokens_per_s']:,.0f} | {row['ratio']:.1f}"
        assert row["same_tokens"]
        assert f"| {threshold} | {row['llm_token_share']:.1%} | {speeds} |" in SPEED
    assert f"`{bench['command']}`" in SPEED


def test_matched_table():
    """Of the first edition."""
    matched = card("benchmarks/evidence/one-wording/matched_shares.json")
    for name in {row["router"] for row in matched["points"]["math"]}:
        line = next(line for line in EVIDENCE.splitlines() if line.startswith(f"| {name} |") and line.count("|") == 10)
        cells = [cell.strip() for cell in line.strip("|").split("|")[1:]]
        points = [row for kind in ("math", "mc") for row in matched["points"][kind] if row["router"] == name]
        for cell, row in zip(cells, points, strict=True):
            assert cell.split(" ")[0] == f"{row['accuracy']['share']:.1%}"
            missed = abs(row["llm_token_share"] - row["share_wanted"]) > 0.03
            assert (f"(at {row['llm_token_share']:.0%})" in cell) == missed
    assert matched["date"] in EVIDENCE

    def right(name: str) -> list[float]:
        return [
            row["accuracy"]["share"]
            for kind in ("math", "mc")
            for row in matched["points"][kind]
            if row["router"] == name
        ]

    pairs = list(zip(right("max-probability"), right("citer"), strict=True))
    assert all(free >= trained for free, trained in pairs) and any(free == trained for free, trained in pairs)
    assert "the free baseline is level or ahead." in " ".join(README.split())


def test_the_first_edition():
    text = part(EVIDENCE, "one wording table").replace("\n", " ")
    first = card("benchmarks/pair_one_wording.json")
    for router in first["routers"].values():
        assert f"{router['auc']:.3f}" in text and f"{router['auc_max_probability']:.3f} for max-probability" in text
    cases = first["routers"]["citer"]["label_shares"]
    assert f"{cases['1']:.1%} / {cases['2']:.1%} / {cases['3']:.2%}".replace("% /", " /") in EVIDENCE
    slm, llm = (
        [f"{first['models'][which]['accuracy'][kind]['share']:.1%}" for kind in ("math", "mc")]
        for which in ("slm", "llm")
    )
    alone = f"SLM {slm[0]} math and {slm[1]} mc, LLM {llm[0]} and {llm[1]}."
    assert alone in EVIDENCE.replace("\n", " ")


def test_shortcut_numbers():
    case = card("benchmarks/shortcut_one_wording.json")["cases"]["2"]
    low, high = case["interval_95"]
    assert f"right for {case['share_right']:.0%} of the {case['n_decided']} tokens" in EVIDENCE
    assert f"95% interval {low:.0%} to\n{high:.0%}" in EVIDENCE
    both, slm_only = case["slm_right_llm_right"], case["slm_right_llm_wrong"]
    assert both + slm_only == case["n_decided"] - case["n_right"]
    assert f"In the other {both + slm_only} the SLM's own token" in EVIDENCE
    assert f"in {both} of them" in EVIDENCE and f"in {slm_only} as the LLM's did not" in EVIDENCE


def test_profile_numbers():
    profile = card("benchmarks/profile.json")
    text = part(SPEED, "profile").replace("\n", " ")
    even = profile["break_even"]
    crossing = measured_crossing(read_profile(ASSETS / "benchmarks" / "profile.json").check)
    assert f"real runs save time up to about {crossing.at:.0%} LLM tokens" in text
    assert f"measured, between {crossing.low:.0%} and {crossing.high:.0%}" in text
    assert f"the fit says {even['time']:.0%}, and bytes are saved below {even['bytes']:.0%}" in text
    for row in profile["check"]:
        share = row["llm_share"]
        name = "the LLM alone" if share is None else f"at {share:.0%}"
        numbers = f"{row['predicted_tokens_per_s']:,.0f} and {row['measured_tokens_per_s']:,.0f}"
        assert f"{name} {numbers}" in text
    assert all(profile[fact] in text for fact in ("date", "hardware", "command"))


@pytest.mark.parametrize("kind", ["math", "mc"])
def test_short_table(kind):
    """README's one table."""
    router = card("routers/embedded/citer.json")
    alone, routed, llm = router["test"][kind]
    right = [f"{point['accuracy']['share']:.1%}" for point in (alone, routed, llm)]
    short = part(README, "short table")
    assert f"| {kind} | {right[0]} | {right[1]} | {routed['llm_token_share']:.1%} | {right[2]} |" in short
    assert f"CITER at tau = {router['recommended_threshold']:g} " in short
    assert f"{len(bundled_rows(kind))} problems of\neach format" in README


def test_readme_is_a_door_and_not_the_house():
    assert len(README.split()) <= 900


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


def test_what_the_evidence_takes():
    parts = (ROOT / "assets/benchmarks/evidence/varied-wording").glob("*.json")
    minutes = sum(json.loads(part.read_text())["seconds"] for part in parts) / 60
    (said,) = re.findall(r"take (\d+) minutes\s+with\s+`--workers 2`", EVIDENCE)
    assert int(said) == round(minutes) and minutes < 90
