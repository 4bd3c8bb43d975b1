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
from tests.ui.axe import overflow
from tests.ui.conftest import on_one_host
from tests.ui.journeys.conftest import opens_as_it_was_left
from tests.ui.labels import CELLS, VIEW, matrix, settle
from tests.ui.visitor import Visitor, type_over

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
# How many pieces of tokens stand out of their column, to the right.
PAST_THE_EDGE = """(text) => {
  const { right } = text.getBoundingClientRect();
  const rects = [...text.querySelectorAll('.cq-t')].flatMap((token) => [...token.getClientRects()]);
  return rects.filter((rect) => rect.right > right + 0.5).length;
}"""
TEXTS = "all => all.map((one) => one.textContent)"
# What stays of a column's text.
KEPT = """(all) => all.map((one) =>
  [...one.querySelectorAll('.cq-t:not(.cq-rejected)')].map((token) => token.textContent).join('').trimStart())"""


@on_one_host("static")
def test_compare(enter: Enter, is_served: bool) -> None:
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
    expect(looked).to_contain_text(f"took {looking_back.n_discarded} token")
    expect(page.locator(".cq-findings li").first).to_contain_text("Speculative decoding moved")
    if is_served:  # what is recorded is the same files on both
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
    assert [form.get_by_label(name).input_value() for name in ("with look-back by", "Doubt budget", "Take back")] == [
        "citer-outcome", "0.35", "0.2"
    ]  # fmt: skip
    type_over(form.get_by_label("Doubt budget"), "0.01")
    type_over(form.get_by_label("Take back"), "1")
    go.click()
    expect(page.locator(".cx-compare")).to_contain_text("Written live", timeout=20_000)
    expect(go).to_be_enabled(timeout=30_000)
    # Beside models alone that nobody looks at, the way that takes back all but the LLM's own, as Python writes it.
    how = replace(looking_back.settings, take_back=1.0, doubt_budget=0.01)
    problem = problem_from_text(there.runs[0].prompt.question, there.runs[0].prompt.data_type)
    events = settled(Engine.load().start(problem, router="citer-outcome", settings=how))
    own = "".join(event.text for event in events).lstrip()
    assert page.locator(".cq-text").evaluate_all(KEPT) == [*texts[:2], own, texts[-1]]
    expect(looked.get_by_label("Who writes")).to_have_value("citer-outcome@0;back=1;doubt=0.01;final=0.02")
    expect(looked).to_contain_text(f"took {looked.locator('.cq-rejected').count()} token")
    is_right = there.runs[0].answer.is_correct  # a bundled problem, whose answer the page knows
    expect(page.locator(".cq-verdict").first).to_have_text("✓ right" if is_right else "✗ wrong")
    # The same share for both: each router's tau from what was measured on this pair.
    regime = evidence_message()["evidence"]["regimes"][0]
    points = [point for point in regime["kinds"]["math"]["points"] if point["share_wanted"] == 0.1]
    taus = {point["router"]: f"{point['tau']:.4g}" for point in points}
    form.get_by_label("Kind").select_option("Math")
    form.get_by_label("Routed by").select_option("citer")
    form.get_by_label("and by the router").select_option("max-probability")
    equal = form.get_by_label("Equal for both")
    equal.select_option("10% LLM tokens")
    expect(form.locator(".cq-note")).to_contain_text("over the 1,000 problems of this kind in Evidence")
    fields = form.get_by_label("at τ")
    assert [fields.nth(k).input_value() for k in range(2)] == [taus["citer"], taus["max-probability"]]
    # Or the same bytes, between two points that were measured.
    equal.select_option("25% of the LLM’s bytes")
    expect(form.locator(".cq-note")).to_contain_text("came to about 25% of the LLM’s bytes, over the 1,000 problems")
    for k, router in enumerate(("citer", "max-probability")):
        near = [one for one in regime["kinds"]["math"]["points"] if one["router"] == router and one["share_wanted"]]
        assert fields.nth(k).input_value() == f"{np.interp(0.25, *columns(near)):.4g}"
    equal.select_option("10% LLM tokens")
    form.get_by_label("Kind").select_option("Free text")
    expect(form.locator(".cq-note")).to_contain_text("Not measured here at 10% LLM tokens: citer, max-probability.")
    form.get_by_label("Kind").select_option("Math")
    type_over(fields.first, "0.5")
    expect(equal).to_have_value("")
    # Sampled, without drafts; and a link that fills all of it in again.
    expect(form.get_by_label("Seed")).to_be_hidden()
    type_over(form.get_by_label("Temperature"), "0.8")
    type_over(form.get_by_label("Seed"), "7")
    go.click()
    expect(page.locator(".cx-compare")).to_contain_text("Sampled at temperature 0.8, seed 7.", timeout=20_000)
    expect(go).to_be_enabled(timeout=30_000)
    page.goto(page.evaluate("window.citer.views.address()"))
    expect(form.locator(".cq-note")).to_have_text("This is what the link asks for. Write it when you like.")
    expect(form.get_by_label("The problem")).to_have_value(there.runs[0].prompt.question)
    expect(form.get_by_label("Seed")).to_have_value("7")
    expect(form.get_by_label("Take back")).to_have_value("1")


def look_at_the_recorded_comparison(visitor: Visitor, there: Comparison) -> None:
    page = visitor.page
    assert there.speculative is not None
    # A token's space is not drawn where its line ends, wherever that is.
    for width in range(1440, 1250, -19):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".cq-text").nth(3).evaluate(PAST_THE_EDGE) == 0

    # Speculative decoding comes as a fifth column: kept and rejected drafts.
    page.get_by_role("button", name="Add a column").click()
    drafts = page.locator(".cq-column").nth(4)
    drafts.get_by_label("Who writes").select_option("speculative")
    n_kept = there.speculative.n_accepted
    expect(drafts.locator(".cq-kept")).to_have_count(n_kept)
    expect(drafts.locator(".cq-rejected")).to_have_count(there.speculative.n_drafted - n_kept)
    # At the clock's start nothing is there; on its way drafts wait for the LLM.
    slider = page.get_by_label("How far the clock has come")
    slider.fill("0")
    expect(page.locator(".cq-column .cq-t:not(.cq-off)")).to_have_count(0)
    slider.fill("20")
    assert drafts.locator(".cq-draft").count() > 0
    slider.fill("1000")
    expect(page.locator(".cq-column .cq-off")).to_have_count(0)
    assert overflow(page) == 0
    wider = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert page.locator(".cq-column").evaluate_all(wider) == 0, "a column runs into the next one"
    page.get_by_label("What the clock counts").select_option("tokens")
    asked = opens_as_it_was_left(page, ".cq-column", {"problem", "columns", "clock"})
    assert asked["columns"][0].split(",")[-1] == "speculative" and asked["clock"] == ["tokens"]
    expect(page.locator(".cq-column")).to_have_count(5)

    # The blind test hides who wrote and keeps a score.
    page.get_by_role("button", name="Blind test").click()
    expect(page.locator(".cq-column")).to_have_count(2)
    expect(page.locator(".cq-figures").first).to_be_hidden()
    assert page.locator(".cq-name").all_inner_texts() == ["Text A", "Text B"]
    background = page.locator(".cq-text .cq-t").evaluate_all(
        "all => [...new Set(all.map((one) => getComputedStyle(one).backgroundColor))]"
    )
    assert background == ["rgba(0, 0, 0, 0)"]  # no colour tells who wrote
    page.get_by_role("button", name="A is better").click()
    expect(page.locator(".cq-blind-panel")).to_contain_text(
        re.compile(r"A was .+; B was .+ So far you preferred .+ 1 of 1")
    )
    expect(page.locator(".cq-figures").first).to_be_visible()
    page.get_by_role("button", name="Another pair").click()
    page.get_by_role("button", name="No difference").click()
    page.get_by_role("button", name="End the blind test").click()
    expect(page.locator(".cq-column")).to_have_count(5)
    page.reload()
    expect(page.get_by_role("button", name="Blind test (2 so far)")).to_be_visible(timeout=20_000)


def columns(points: list[dict[str, float]]) -> tuple[list[float], list[float]]:
    """Bytes and tau of measured points, in the order of the bytes."""
    ordered = sorted(points, key=lambda one: one["bytes_share"])
    return [one["bytes_share"] for one in ordered], [one["tau"] for one in ordered]


def column(text: str) -> Any:
    """Float32 in base64, as the file has it."""
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float64)


@on_one_host("served")
def test_labels(enter: Enter) -> None:
    """The recorded labels: shown at once and without a model, with what they say, and from risk to risk."""
    visitor = enter()
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
    for number, index in enumerate([*wanted[1:5], *([wanted[0]] if len(wanted) <= 5 else [])], start=2):
        steps.click()
        settle(visitor)
        assert page.evaluate(f"{VIEW}.view.selected") == index
        expect(page.locator(f'.cl-text .cl-t[data-i="{index}"]')).to_be_visible()
        place = (first + number - 1) % len(wanted) + 1
        expect(page.locator(".cl-reading")).to_contain_text(f"risk {place} of {len(wanted)}")
    page.get_by_role("button", name="Previous risk").click()
    settle(visitor)
    # The same tokens by the published labels: a choice that keeps router, tau and token, and that a link has.
    page.get_by_label("Labelled by").select_option("published")
    expect(page.locator(".cl-finding")).to_contain_text("By the published labels,")
    assert matrix(visitor) == {cell: getattr(confusion(ours, published, tau), cell) for cell in CELLS}
    opens_as_it_was_left(page, ".cl-text .cl-t", {"labels", "rule", "router", "tau", "problem", "tok"})


@on_one_host("served")
def test_learn(enter: Enter) -> None:
    visitor = enter()
    page = visitor.page
    visitor.open_view("Learn")
    run = opening_run()
    card = page.get_by_role("region", name="Predict, then reveal")
    tokens = card.locator(".cx-guess")
    n_marks = run.n_tokens - 1  # the end of the text has nothing to mark
    expect(tokens).to_have_count(n_marks, timeout=20_000)
    expect(tokens.locator(".cv-mark-tex[data-mark='×']")).to_have_count(2)  # LaTeX is spelled as in Explore

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
    expect(page.locator(".cx-guess-missed")).to_have_count(len(llm) - 2)
    expect(tokens.nth(slm)).to_have_attribute("aria-checked", "true")
    card.get_by_label("What counts as needing the LLM").select_option("changed")
    expect(result).to_contain_text("Score")
    card.get_by_role("button", name="Try again").click()
    expect(result).to_be_empty()

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
    page.locator("#cx-size").click()
    assert page.locator(".cx-glossary").evaluate("(node) => node.currentCSSZoom") == pytest.approx(1.2)
    assert overflow(page) == 0
    also = {"slip"} if page.locator("[data-takes-back]").count() else set()
    opens_as_it_was_left(page, ".cx-guess", {"exercise", "truth", *also})
