"""README and the chapter *Evidence*: made of what is stored, and what their sentences say without a number is so."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest

from citer_core.assets import ASSETS
from citer_core.evaluation.metrics import paired_difference, unpack
from citer_core.evidence.chapter import FILES, blocks, filled
from citer_core.labelling.rollouts_file import rollouts_row
from tests.core.chapter_tables import card, part

README, EVIDENCE, *_ = (file.read_text(encoding="utf-8") for file in FILES)
BENCHMARKS = ASSETS / "benchmarks"
REAL = {"GSM8K": "gsm8k", "CommonsenseQA": "cqa"}


def lines(path):
    return [json.loads(line) for line in (BENCHMARKS / path).read_text(encoding="utf-8").splitlines()]


def test_both_are_as_they_are_made_now(stored):
    made = blocks(list(stored.values()))
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        assert filled(text, made) == text, "`python -m citer_core.evidence.chapter` writes it"
    texts = [file.read_text(encoding="utf-8") for file in FILES]
    assert {name for text in texts for name in re.findall("<!-- ([a-z ]+) -->", text)} == {*made, "qwen speed"}


def test_a_part_is_filled_whatever_stood_there():
    made = {"a": "one\ntwo", "b": "not here"}
    assert filled("x\n<!-- a -->\n<!-- /a -->\ny", made) == "x\n<!-- a -->\none\ntwo\n<!-- /a -->\ny"
    assert filled("x\n<!-- a -->\nold\n\nold\n<!-- /a -->\ny", made) == "x\n<!-- a -->\none\ntwo\n<!-- /a -->\ny"
    assert filled("x", made) == "x"


def test_they_are_short():
    assert len(README.split()) <= 900 and len(EVIDENCE.split()) <= 3000


def test_the_routers_of_the_bundled_pair_are_counted_from_their_bits():
    """From the raw file, not by what the chapter is made with."""
    content = card("benchmarks/evidence/varied-wording/accuracy.json")["content"]
    table = part(EVIDENCE, "arena").splitlines()
    for label in ("CITER, round 1", "Outcome labels", "Co-LLM"):
        line = next(line for line in table if line.startswith(f"| {label} |"))
        for cell, entry in zip(line.split("|")[4].split(","), (content["math"], content["mc"]), strict=True):
            points = [p for p in entry["points"] if p["label"] == label and p["share_wanted"] == 0.1]
            right = [f"{int(p['right'], 16):b}".count("1") / entry["n"] for p in points]
            assert cell.strip() == f"{sum(right) / len(right):.1%}"


@pytest.mark.parametrize(("kind", "key"), REAL.items())
def test_the_real_pairs_points_are_whole(kind, key):
    for file in (f"qwen-{key}-200.jsonl", f"qwen-{key}-transfer.jsonl"):
        for row in lines(file):
            assert row["accuracy"]["n_correct"] == sum(unpack(row["right"], 200)) and row["accuracy"]["n"] == 200
    said, alone = part(EVIDENCE, "real arena"), ("always-slm", "always-llm")
    right = {row["router"]: row["accuracy"]["n_correct"] for row in lines(f"qwen-{key}-200.jsonl")}
    for name, words in zip(alone, re.search(r"right alone: SLM (.*), LLM (.*?)\)", said).groups(), strict=True):
        assert words.split(" and ")[kind != "GSM8K"] == f"{right[name] / 200:.1%}"


def test_what_the_sentences_on_the_real_pair_say(stored):
    real = stored["qwen"]

    def both(one, other):
        """The 95% interval of a difference over the problems of both data sets."""
        bits = [
            np.concatenate([real.bits[kind, int(real.at(kind, name, 0.1).name)][0] for kind in REAL])
            for name in (one, other)
        ]
        return paired_difference([bits[0]], [bits[1]])[1]

    assert both("citer-outcome", "max-probability")[0] > 0 and both("citer-outcome", "citer")[0] > 0, "the best labels"
    low, high = both("citer", "max-probability")
    assert low < 0 < high, "one round and the free baseline do not differ beyond doubt"
    level = real.difference("CommonsenseQA", "citer-2", "citer-outcome", 0.1)
    assert level.low <= 0 <= level.high, "a second round brings CITER as far there"
    for kind in REAL:
        routed, alone = real.at(kind, "citer-outcome", 0.1), real.at(kind, "always-llm", None)
        assert routed.tflop > alone.tflop and routed.gb < alone.gb


def test_what_the_sentences_on_transfer_say():
    table = [line.split("|")[1:-1] for line in part(EVIDENCE, "transfer").strip().splitlines()[2:]]
    ends = {}
    for tested, router, learned, _, less in table:
        low, high = map(float, re.findall(r"[+-][\d.]+", less)[1:])
        ends[tested.strip(), router.strip(), learned.strip()] = low, high
    assert len(ends) == 8
    for router in ("CITER", "Outcome labels"):
        assert ends["CommonsenseQA", router, "GSM8K"][1] < 0, "lost on the short answers"
        low, high = ends["GSM8K", router, "CommonsenseQA"]
        assert low < 0 < high, "the other way round nothing is lost"
    for kind in REAL:
        low, high = ends[kind, "Outcome labels", "both"]
        assert low <= 0 <= high, "one for both is as good as one for each"
    shipped = card("routers/qwen2.5-coder-0.5b-1.5b/citer-outcome.json")
    labelled = [card(f"benchmarks/rollouts/qwen-{key}-citer-outcome.json")["label_shares"] for key in REAL.values()]
    assert shipped["label_shares"]["n_tokens"] == sum(one["n_tokens"] for one in labelled), "it learned from both"


def test_the_free_baselines_are_level_or_ahead_in_the_first_edition():
    matched = card("benchmarks/evidence/one-wording/matched_shares.json")

    def right(name):
        points = itertools.chain.from_iterable(matched["points"][kind] for kind in ("math", "mc"))
        return [row["accuracy"]["share"] for row in points if row["router"] == name]

    assert all(free >= ours for free, ours in zip(right("max-probability"), right("citer"), strict=True))


@pytest.mark.parametrize("key", REAL.values())
def test_what_was_rolled_out_of_the_real_pair_is_whole(key):
    """Every row once, positions in order, no text; both rounds at the same places; every disagreement for outcomes."""
    places = []
    for number in (1, 2):
        rows = [rollouts_row(1).read(row, "") for row in lines(f"rollouts/qwen-{key}-{number}.jsonl")]
        assert len({row["id"] for row in rows}) == len(rows) == 300
        for row in rows:
            positions = [position for position, _ in row["rollouts"]]
            assert positions == sorted(set(positions))
            assert re.fullmatch(r"gsm8k-train-\d{4}|[0-9a-f]{32}(_\d)?", row["name"])
        places.append([(row["id"], [position for position, _ in row["rollouts"]]) for row in rows])
    assert places[0] == places[1]
    rows = [rollouts_row(2).read(row, "") for row in lines(f"rollouts/qwen-{key}-outcome.jsonl")]
    ended = [(slm, llm) for row in rows for _, slm, llm in row["rollouts"]]
    shares = card(f"benchmarks/rollouts/qwen-{key}-citer-outcome.json")["label_shares"]
    assert len({row["id"] for row in rows}) == 300 and shares["n_unknown"] == ended.count((0, 0))
    counts = [f"{ended.count(end):,}" for end in ((1, 1), (0, 1), (1, 0), (0, 0))]
    assert f"| {' | '.join(counts)} |" in part(EVIDENCE, "outcomes")


def test_what_was_graded_again_is_counted():
    for row in lines("graded-again.jsonl"):
        assert row["right_now"] - row["right_before"] == sum(2 * right - 1 for _, right in row["changed"])
