"""The recorded labels: shown at once and without a model, with what they say, from risk to risk, and rolled out."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from citer_core.evaluation.branches import roll_out_branches
from citer_core.evaluation.curves import confusion
from citer_core.ui.labels.stored import FOLDER, FREE, read_stored
from tests.ui.conftest import Served, Visitor
from tests.ui.labels import VIEW, labelled_text, matrix, settle

pytestmark = pytest.mark.ui


def column(text: str) -> Any:
    """Float32 in base64, as the file has it."""
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)


def test_it_opens_with_what_a_whole_set_says_and_goes_from_risk_to_risk(
    open_tab: Callable[..., Visitor], labelled: Served
) -> None:
    visitor = open_tab()
    page = visitor.page
    engine = labelled.slot.wait(0)
    assert engine is not None
    router = engine.default_router
    entries = read_stored()
    file = json.loads((FOLDER / entries[0].file).read_text(encoding="utf-8"))
    ours, free = column(file["confidence"][router]), column(file["confidence"][FREE])
    label = np.array([int(digit) for digit in file["label"]])
    tau = engine.router(router).default_threshold
    counts = confusion(ours, label, tau)
    shown = matrix(visitor)
    assert shown == {cell: getattr(counts, cell) for cell in shown}

    # The baseline asked as often: no other number of LLM tokens that it can have is nearer.
    n_llm = counts.waste + counts.caught
    reachable = [0, *np.cumsum(np.unique(free, return_counts=True)[1]).tolist()]
    asked = min(reachable, key=lambda n: abs(n - n_llm))
    risks = int((label[np.argsort(free, kind="stable")[asked:]] == 0).sum())
    expect(page.locator(".citer-labels code").first).to_have_text(entries[0].command)
    lead = page.locator(".cl-finding")
    expect(lead).to_be_in_viewport()
    words = lead.inner_text()
    assert f"{router} at τ {tau:.2f}" in words and f" {n_llm / len(label):.1%}" in words
    (fewer, least), (more, most) = sorted([(router, counts.risk), (FREE, risks)], key=lambda one: one[1])
    said = f"{fewer} leaves {least} risk{'' if least == 1 else 's'}, {more} {most}, at"
    assert words.startswith(said if least != most else f"{router} and {FREE} leave {least}")

    # The first one that is shown is in a number: another word is often as good.
    found = np.flatnonzero((label == 0) & ~(ours < tau)).tolist()
    first = next(i for i, index in enumerate(found) if re.search(r"\d", file["words"][file["text"][index]]))
    wanted = found[first:] + found[:first]
    assert page.evaluate(f"{VIEW}.view.selected") == wanted[0]
    steps = page.get_by_role("button", name="Next risk")
    for number, index in enumerate([*wanted[1:5], *([wanted[0]] if len(wanted) <= 5 else [])], start=2):
        steps.click()
        settle(visitor)
        assert page.evaluate(f"{VIEW}.view.selected") == index
        expect(page.locator(f'.cl-text .cl-t[data-i="{index}"]')).to_be_visible()
        place = (first + number - 1) % len(wanted) + 1
        expect(page.locator(".cl-reading")).to_contain_text(f"risk {place} of {len(wanted)}")
    page.get_by_role("button", name="Previous risk").click()
    settle(visitor)

    # Its tokens are rolled out by the pair that read them, which reads that problem again.
    index = page.evaluate(f"{VIEW}.view.selected")
    page.get_by_role("button", name="Roll out both branches").click()
    expect(page.locator(".cl-branch")).to_have_count(2, timeout=10_000)
    starts = np.cumsum([0, *(problem["n"] for problem in file["problems"])])
    number = int(np.searchsorted(starts, index, side="right")) - 1
    text, at = labelled_text(labelled, f"math {number + 1}"), index - int(starts[number])
    ids = int(text.slm_ids[at]), int(text.llm_ids[at])
    branches = roll_out_branches(engine.pair, engine.router(router), text.example, at, ids, tau)
    for node, branch in zip(page.locator(".cl-branch").all(), (branches.slm, branches.llm), strict=True):
        written = branch.token + "".join(piece for piece, _ in branch.pieces)
        assert node.locator(".cl-branch-text").evaluate("node => node.textContent") == f"… {written}"

    choice = page.get_by_label("Recorded labels")
    for place, entry in enumerate(entries[1:], start=1):
        choice.select_option(str(place))
        expect(page.locator(".cl-reading h3")).to_have_text(entry.title, timeout=10_000)
        assert sum(matrix(visitor).values()) == entry.n_tokens
        expect(page.locator(".cl-source .cl-caption")).to_contain_text(entry.date)


def test_the_real_pairs_labels_are_chosen_without_its_models_and_their_signs_are_spelled(
    open_tab: Callable[..., Visitor],
) -> None:
    """Its tokenizer cuts LaTeX's commands in the middle."""
    entry = next(entry for entry in read_stored() if "Qwen" in entry.pair)
    page = open_tab().page
    page.get_by_label("Recorded labels").select_option(label=entry.title)
    expect(page.locator(".cl-finding")).to_contain_text("leaves", timeout=20_000)
    expect(page.get_by_text(f"{entry.pair}, recorded {entry.date}")).to_be_visible()
    expect(page.locator(".cl-reading")).to_contain_text("Problem 1 of 44")
    text = page.locator(".cl-text")
    assert "\\times" in (text.text_content() or ""), "what was written stays"
    signs = text.locator(".cv-mark-tex").evaluate_all("all => all.map((one) => [one.textContent, one.dataset.mark])")
    assert ["imes", "×"] in signs and ["\\t", "\u200a"] in signs
