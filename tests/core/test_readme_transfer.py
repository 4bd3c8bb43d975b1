"""What the chapter on evidence says of routers on the other data set of the real pair is what is stored of them."""

from __future__ import annotations

import json

import numpy as np

from citer_core.assets import ASSETS
from citer_core.evidence.real_regime import REAL_PAIR, of_qwen
from citer_core.evidence.statistics import paired_difference, unpack
from citer_core.evidence.transfer import TRAINED_ON
from tests.core.chapter_tables import card, part

EVIDENCE = (ASSETS / "docs" / "evidence.md").read_text(encoding="utf-8")
SECTION = EVIDENCE.split("\n### Routers of the other data set, and of both\n")[1].split("\n## ")[0]


def stored_points():
    """Each point with the data set that it was tested on; CommonsenseQA's first, as in the chapter."""
    for file, kind in reversed(REAL_PAIR.items()):
        path = ASSETS / "benchmarks" / f"{file.removesuffix('-200')}-transfer.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines():
            yield kind, json.loads(line)


def test_table_of_transfer_on_the_real_pair():
    regime = of_qwen(ASSETS / "benchmarks")
    table = part(SECTION, "qwen transfer table").strip().splitlines()[2:]
    for line, (kind, row) in zip(table, stored_points(), strict=True):
        router, _, end = row["router"].rpartition("-")
        right = row["accuracy"]
        low, high = right["interval_95"]
        own = regime.bits[kind, int(regime.at(kind, router, 0.1).name)][0]
        mean, (least, most) = paired_difference([unpack(row["right"], right["n"])], [own])
        assert right["n_correct"] == sum(unpack(row["right"], right["n"]))
        assert [cell.strip() for cell in line.strip("|").split("|")] == [
            kind,
            router,
            TRAINED_ON[end],
            f"{row['threshold']:g}",
            f"{row['llm_token_share']:.1%}",
            f"{right['n_correct']} of {right['n']} ({low:.0%} to {high:.0%})",
            f"{row['cut_share']:.1%}",
            f"{100 * mean:+.1f} ({100 * least:+.1f} to {100 * most:+.1f})",
        ]
        assert row["date"] in SECTION and row["hardware"] in SECTION.replace("\n", " ")


def test_what_the_chapter_says_of_transfer():
    text = SECTION.replace("\n", " ")
    regime = of_qwen(ASSETS / "benchmarks")
    found = {}
    for kind, row in stored_points():
        router, _, end = row["router"].rpartition("-")
        own = regime.at(kind, router, 0.1)
        right = unpack(row["right"], 200)
        mean, (low, high) = paired_difference([right], [regime.bits[kind, int(own.name)][0]])
        found[router, end, kind] = (sum(right), own.right, mean, low, high)
    n_right, _, mean, low, high = found["citer", "gsm8k", "CommonsenseQA"]
    slm = regime.at("CommonsenseQA", "always-slm", None).right
    assert n_right <= slm and f"`citer` has {n_right} right, no more than the SLM alone ({slm})" in text
    assert f"and {-100 * mean:.1f} points fewer than its own ({100 * low:+.1f} to {100 * high:+.1f})" in text
    _, _, mean, low, high = found["citer-outcome", "gsm8k", "CommonsenseQA"]
    assert high < 0 and f"{-100 * mean:.1f} points fewer ({100 * low:+.1f} to {100 * high:+.1f})" in text
    n_right, own, _, low, high = found["citer", "cqa", "GSM8K"]
    assert low < 0 < high and f"has {n_right} right on GSM8K, where its own has {own}" in text
    n_right, own, _, low, high = found["citer-outcome", "cqa", "GSM8K"]
    assert low < 0 < high and f"`citer-outcome` of CommonsenseQA {n_right}, where its own has {own}" in text
    row = next(row for _, row in stored_points() if row["router"] == "citer-outcome-cqa")
    free = regime.bits["GSM8K", int(regime.at("GSM8K", "max-probability", 0.1).name)][0]
    mean, (low, high) = paired_difference([unpack(row["right"], 200)], [free])
    ahead = f"{100 * mean:.1f} points more than max-probability ({100 * low:+.1f} to {100 * high:+.1f}), though it has"
    assert low > 0 and ahead in text
    for kind, place in (("CommonsenseQA", "right on CommonsenseQA"), ("GSM8K", "on GSM8K")):
        n_right, own, mean, low, high = found["citer", "both", kind]
        ends = f"({100 * mean:+.1f} points, {100 * low:+.1f} to {100 * high:+.1f})"
        assert low < 0 < high and f"{n_right} {place}, its own {own} {ends}" in text
    n_right, own, *_ = found["citer-outcome", "both", "CommonsenseQA"]
    assert n_right == own and f"as many right as its own there ({own})" in text
    n_right, _, mean, low, high = found["citer-outcome", "both", "GSM8K"]
    llm = regime.at("GSM8K", "always-llm", None)
    assert low < 0 < high and n_right >= llm.right and f"no fewer than the LLM alone ({llm.right})" in text
    own = f"{100 * mean:.1f} points more than its own ({100 * low:+.1f} to {100 * high:+.1f}, no difference shown)"
    assert f"on GSM8K {n_right}, {own}" in text
    shipped = card("routers/qwen2.5-coder-0.5b-1.5b/citer-outcome.json")
    training = shipped["training"]
    assert shipped["label_shares"]["n_tokens"] == sum(
        card(f"benchmarks/rollouts/qwen-{name}-citer-outcome.json")["label_shares"]["n_tokens"]
        for name in ("gsm8k", "cqa")
    )
    ours, free = (f"{training[name]:.3f}" for name in ("auc", "auc_max_probability"))
    assert f"(AUC {ours} on labels of its own, max-probability {free})" in text


def test_the_shipped_router_of_both_is_ahead_of_the_free_baseline():
    text = SECTION.replace("\n", " ")
    regime = of_qwen(ASSETS / "benchmarks")
    ours = {kind: row for kind, row in stored_points() if row["router"] == "citer-outcome-both"}
    free = {kind: regime.bits[kind, int(regime.at(kind, "max-probability", 0.1).name)][0] for kind in ours}
    bits = {kind: np.array(unpack(row["right"], 200)) for kind, row in ours.items()}
    mean, (low, high) = paired_difference([bits["GSM8K"]], [free["GSM8K"]])
    assert low > 0 and f"{100 * mean:.1f} more than max-probability ({100 * low:+.1f} to {100 * high:+.1f})" in text
    mean, (low, high) = paired_difference(*([np.concatenate(list(of.values()))] for of in (bits, free)))
    words = f"Over the 400 problems it is {100 * mean:.1f} points ahead of max-probability"
    assert low > 0 and f"{words} ({100 * low:+.1f} to {100 * high:+.1f})" in text
    both = {kind: np.array(unpack(row["right"], 200)) for kind, row in stored_points() if row["router"] == "citer-both"}
    mean, (low, high) = paired_difference(*([np.concatenate([of[kind] for kind in bits])] for of in (bits, both)))
    ahead = f"ahead of it by {100 * mean:.1f} points over the 400 problems ({100 * low:+.1f} to {100 * high:+.1f})"
    assert low > 0 and ahead in text
    saved = ours["GSM8K"]["n_bytes"] / 200 / 1e9 / regime.at("GSM8K", "always-llm", None).gb
    assert f"for {saved:.0%} of the bytes of its answers" in text
