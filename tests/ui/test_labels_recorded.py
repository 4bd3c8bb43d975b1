"""The recorded labels on a server: rolled out by the pair that read them, and every set of them."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import expect

from citer_core.evaluation.branches import roll_out_branches
from citer_core.ui.labels.stored import FOLDER, read_stored
from tests.ui.conftest import Served, Visitor
from tests.ui.labels import VIEW, labelled_text, matrix

pytestmark = pytest.mark.ui


def test_a_recorded_token_is_rolled_out_and_every_recorded_set_can_be_chosen(
    open_tab: Callable[..., Visitor], labelled: Served
) -> None:
    visitor = open_tab()
    page = visitor.page
    engine = labelled.slot.wait(0)
    assert engine is not None
    router = engine.default_router
    entries = read_stored()
    file = json.loads((FOLDER / entries[0].file).read_text(encoding="utf-8"))
    tau = engine.router(router).default_threshold
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
