"""Compare, Labels and Learn: what each shows is what is stored, and a link opens it as it was left."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from citer_core.assets import ASSETS
from citer_core.comparison import COMPARISONS, Comparison
from citer_core.cost import H100_SXM
from citer_core.engine import Engine
from citer_core.tasks.problems import problem_from_text
from citer_core.types import settled
from citer_core.ui.evidence import evidence_message
from citer_core.ui.labels.recorded_labels import FOLDER, FREE, read_stored
from tests.label_verdicts import confusion
from tests.traces import opening_run, recorded
from tests.ui.axe import shorten, sound
from tests.ui.conftest import on_one_host
from tests.ui.journeys.conftest import opens_as_it_was_left
from tests.ui.labels import CELLS, VIEW, matrix, settle
from tests.ui.visitor import Visitor, type_over

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
# What stays of a column's text.
KEPT = """(all) => all.map((one) =>
  [...one.querySelectorAll('.cq-t:not(.cq-rejected)')].map((token) => token.textContent).join('').trimStart())"""


@on_one_host("static")
def test_compare(enter: Enter, engine: Engine) -> None:
    visitor = enter(width=1440)
    page = visitor.page
    visitor.open_view("Compare")
    first = COMPARISONS.read(ASSETS / "comparisons")[0]
    there = Comparison.read(ASSETS / "comparisons" / first["file"])
    looking_back = next(run for run in there.runs if run.settings.take_back)
    opening = [there.runs[0], there.runs[1], looking_back, there.runs[-1]]
    texts = [run.completion.lstrip() for run in opening]
    expect(page.locator(".cq-column")).to_have_count(4, timeout=20_000)
    assert page.locator(".cq-text").evaluate_all(KEPT) == texts
    looked = page.locator(".cq-column[data-way=look-back]")
    expect(looked.locator(".cq-rejected")).to_have_count(looking_back.n_discarded)
    look_at_the_recorded_comparison(visitor, there)

    # The recorded problem once more, live: this host writes what was recorded.
    page.get_by_text("Write a problem of your own").click()
    form = page.locator(".cq-form")
    page.get_by_role("button", name="Take the run from Explore").click()
    expect(form.get_by_label("The problem")).to_have_value(opening_run().prompt.question)
    go = page.get_by_role("button", name="Write it now")
    expect(go).to_be_enabled(timeout=20_000)
    form.get_by_label("The problem").fill(there.runs[0].prompt.question)
    type_over(form.get_by_label("at τ").first, "1.5")
    go.click()
    expect(form.locator(".cq-note")).not_to_be_empty()  # refused in words; what is shown stays
    expect(page.locator(".cx-compare")).not_to_contain_text("Written live")
    form.get_by_label("Routed by").select_option(there.runs[1].router.name)
    type_over(form.get_by_label("at τ").first, f"{there.runs[1].settings.threshold:g}")
    form.get_by_label("and by the router").select_option("")
    form.get_by_label("with look-back by").select_option("citer-outcome")
    type_over(form.get_by_label("Doubt budget"), "0.01")
    type_over(form.get_by_label("Take back"), "1")
    go.click()
    expect(page.locator(".cx-compare")).to_contain_text("Written live", timeout=20_000)
    expect(go).to_be_enabled(timeout=30_000)
    # Beside models alone that nobody looks at, the way that takes back all but the LLM's own, as Python writes it.
    how = replace(looking_back.settings, take_back=1.0, doubt_budget=0.01)
    problem = problem_from_text(there.runs[0].prompt.question, there.runs[0].prompt.data_type)
    events = settled(engine.start(problem, router="citer-outcome", settings=how))
    own = "".join(event.text for event in events).lstrip()
    assert page.locator(".cq-text").evaluate_all(KEPT) == [*texts[:2], own, texts[-1]]
    sound(page, "[data-panel]:not([hidden])")
    # The same share for both: each router's tau from what was measured on this pair.
    points = evidence_message()["evidence"]["regimes"][0]["kinds"]["math"]["points"]
    taus = {point["router"]: f"{point['tau']:.4g}" for point in points if point["share_wanted"] == 0.1}
    form.get_by_label("Kind").select_option("Math")
    form.get_by_label("Routed by").select_option("citer")
    form.get_by_label("and by the router").select_option("max-probability")
    form.get_by_label("Equal for both").select_option("10% LLM tokens")
    fields = form.get_by_label("at τ")
    expect(fields.first).to_have_value(taus["citer"])
    expect(fields.nth(1)).to_have_value(taus["max-probability"])
    page.goto(page.evaluate("window.citer.views.address()"))
    expect(form.locator(".cq-note")).to_have_text("This is what the link asks for. Write it when you like.")
    expect(form.get_by_label("The problem")).to_have_value(there.runs[0].prompt.question)
    expect(form.get_by_label("Take back")).to_have_value("1")


def look_at_the_recorded_comparison(visitor: Visitor, there: Comparison) -> None:
    """Kept and rejected drafts in a fifth column, the clock, and the blind test."""
    page = visitor.page
    assert there.speculative is not None
    page.get_by_role("button", name="Add a column").click()
    drafts = page.locator(".cq-column").nth(4)
    drafts.get_by_label("Who writes").select_option("speculative")
    n_kept = there.speculative.n_accepted
    expect(drafts.locator(".cq-kept")).to_have_count(n_kept)
    expect(drafts.locator(".cq-rejected")).to_have_count(there.speculative.n_drafted - n_kept)
    slider = page.get_by_label("How far the clock has come")
    slider.fill("0")
    expect(page.locator(".cq-column .cq-t:not(.cq-off)")).to_have_count(0)
    slider.fill("1000")
    expect(page.locator(".cq-column .cq-off")).to_have_count(0)
    asked = opens_as_it_was_left(page, ".cq-column", {"problem", "columns", "clock"})
    assert asked["columns"][0].split(",")[-1] == "speculative"

    page.get_by_role("button", name="Blind test").click()
    expect(page.locator(".cq-figures").first).to_be_hidden()
    assert page.locator(".cq-name").all_inner_texts() == ["Text A", "Text B"]
    page.get_by_role("button", name="A is better").click()
    expect(page.locator(".cq-blind-panel")).to_contain_text(re.compile(r"A was .+; B was .+ 1 of 1"))
    page.get_by_role("button", name="End the blind test").click()
    expect(page.locator(".cq-column")).to_have_count(5)
    page.goto(f"{visitor.home}?view=compare")
    expect(page.locator(".cq-column")).to_have_count(4, timeout=20_000)


def column(text: str) -> Any:
    """Float32 in base64, as the file has it."""
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)


@on_one_host("static")
def test_labels(enter: Enter, look: dict[str, Any]) -> None:
    """The recorded labels: shown at once and without a model, with what they say, and from risk to risk."""
    visitor = enter(**look)
    page = visitor.page
    assert not [url for url in visitor.requests if "/labels/" in url or "plotly" in url]
    visitor.open_view("Labels")
    expect(page.locator(".cl-reading h3")).to_have_text("200 math problems", timeout=20_000)
    expect(page.locator(".cl-text .cl-t").first).to_be_visible()
    entry = read_stored()[0]
    file = json.loads((FOLDER / entry.file).read_text(encoding="utf-8"))
    ours, free = column(file["confidence"]["citer"]), column(file["confidence"][FREE])
    published, label = (np.array([*map(int, digits)]) for digits in (file["label"], file["outcome"]))
    tau = page.evaluate(f"{VIEW}.view.tau")
    counts = confusion(ours, label, tau)
    shown = matrix(visitor)
    assert shown == {cell: getattr(counts, cell) for cell in CELLS}
    assert sum(shown.values()) + counts.open == entry.n_tokens

    # The baseline asked as often: no other number of LLM tokens that it can have is nearer.
    reachable = [0, *np.cumsum(np.unique(free, return_counts=True)[1]).tolist()]
    asked = min(reachable, key=lambda n: abs(n - counts.llm))
    risks = int((label[np.argsort(free, kind="stable")[asked:]] == 0).sum())
    expect(page.locator(".cl-finding")).to_contain_text(f"{risks:,}")

    # The first one that is shown is in a number: another word is often as good.
    found = np.flatnonzero((label == 0) & ~(ours < tau)).tolist()
    first = next(i for i, index in enumerate(found) if re.search(r"\d", file["words"][file["text"][index]]))
    wanted = found[first:] + found[:first]
    assert page.evaluate(f"{VIEW}.view.selected") == wanted[0]
    steps = page.get_by_role("button", name="Next risk")
    for index in wanted[1:3]:
        steps.click()
        settle(visitor)
        assert page.evaluate(f"{VIEW}.view.selected") == index
        expect(page.locator(f'.cl-text .cl-t[data-i="{index}"]')).to_be_visible()
    # The same tokens by the published labels: a choice that keeps router, tau and token, and that a link has.
    page.get_by_label("Labelled by").select_option("published")
    expect(page.locator(".cl-finding")).to_contain_text("By the published labels,")
    assert matrix(visitor) == {cell: getattr(confusion(ours, published, tau), cell) for cell in CELLS}
    shorten(page)
    sound(page, "[data-panel]:not([hidden])")
    opens_as_it_was_left(page, ".cl-text .cl-t", {"labels", "rule", "router", "tau", "problem", "tok"})


@on_one_host("served")
def test_learn(enter: Enter, is_served: bool) -> None:
    visitor = enter(width=390, theme="dark")
    page = visitor.page
    visitor.open_view("Learn")
    run = opening_run()
    card = page.get_by_role("region", name="Predict, then reveal")
    tokens = card.locator(".cx-guess")
    n_marks = run.n_tokens - 1  # the end of the text has nothing to mark
    expect(tokens).to_have_count(n_marks, timeout=20_000)

    # Predict, then reveal: the marks are scored.
    truth = [event.source == "llm" for event in run.events]
    llm = [index for index, is_llm in enumerate(truth[:n_marks]) if is_llm]
    tokens.nth(llm[0]).click()
    tokens.nth(llm[1]).focus()
    page.keyboard.press(" ")
    slm = truth.index(False)
    tokens.nth(slm).click()
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(slm + 1)).to_be_focused()
    card.get_by_role("button", name="Reveal").click()
    result = card.locator(".cx-learn-result")
    expect(result).to_contain_text(f"You found 2 of {len(llm)} tokens (✓), missed {len(llm) - 2} (▲) and marked 1")
    sound(page, "[data-panel]:not([hidden])")
    card.get_by_role("button", name="Try again").click()
    expect(result).to_be_empty()

    # The slip in a text of which the LLM took something back.
    card = page.get_by_role("region", name="Find the slip")
    file = page.locator("[data-takes-back]").first.get_attribute("data-file") or ""
    at = next(event.index for event in recorded(file.removesuffix(".json")).events if event.discarded)
    slip = card.locator(".cx-guess").nth(at)
    slip.focus()
    page.keyboard.press(" ")
    card.get_by_role("button", name="Reveal").click()
    expect(card.locator(".cx-learn-result")).to_contain_text("Found. It took back")

    # The formulas have the numbers of the run on the screen, which comes along from Explore; Back and Forward work.
    formulas = page.locator(".cx-formulas")
    cost = run.cost(H100_SXM)
    routed, alone = (
        f"{n / 1e9:.2f} GB" if n >= 1e9 else f"{n / 1e6:.0f} MB" for n in (cost.routed.n_bytes, cost.llm_only.n_bytes)
    )
    expect(formulas).to_contain_text(f"{run.n_llm_tokens} / {run.n_tokens} = {run.n_llm_tokens / run.n_tokens:.1%}")
    expect(formulas).to_contain_text(f"{routed} / {alone} = {cost.routed.n_bytes / cost.llm_only.n_bytes:.1%}")
    visitor.open_view("Explore")
    page.locator('.cx-preset[data-file="bakery-llm.json"]').click()
    expect(visitor.tokens).to_have_count(n := recorded("bakery-llm").n_tokens)
    visitor.open_view("Learn")
    expect(formulas).to_contain_text(f"{n} / {n} = 100.0%")
    assert "view=learn" in page.url
    page.go_back()
    expect(page.locator("#cx-explore")).to_be_visible()
    expect(formulas).to_be_hidden()
    page.go_forward()
    expect(formulas).to_be_visible()
    opens_as_it_was_left(page, ".cx-guess", {"exercise", "truth", "slip"})
    if is_served:  # files have none
        visitor.open_view("API")
        expect(page.locator(".cx-endpoints").first).to_be_visible()
        sound(page, "[data-panel]:not([hidden])")
