"""The view Evidence: drawn from what is stored, every choice of it, and a point's way to Explore."""

from __future__ import annotations

import csv
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from citer_core.ui.evidence.messages import evidence_message
from tests.ui.axe import violations
from tests.ui.conftest import Visitor


@pytest.mark.ui
def test_curves_points_and_questions(visit: Callable[..., Visitor]) -> None:
    content = evidence_message()["evidence"]
    visitor = visit(width=1440)
    page = visitor.page
    visitor.open_view("Evidence")
    first = content["regimes"][0]
    kind, entry = next(iter(first["kinds"].items()))
    expect(page.locator(".citer-evidence .cl-heading").first).to_have_text(entry["lead"], timeout=20_000)
    expect(page.locator(".citer-evidence .ce-more")).to_have_text(entry["more"])
    plot = page.locator(".ce-plot")
    expect(plot).to_have_attribute("data-drawn", f"{first['name']} {kind} share", timeout=30_000)
    expect(page.locator(".ce-question")).to_have_count(len(content["claims"]))

    for claim, panel in zip(content["claims"], page.locator(".ce-question").all(), strict=True):
        expect(panel.locator(".ce-drawn tbody th[scope=row]")).to_have_count(
            sum(len(figure["rows"]) for figure in claim["figures"])
        )
    # Commands are code, wherever they stand: nobody reads a backtick.
    commands = [claim["command"].strip("`") for claim in content["claims"] if claim["command"]]
    assert commands == page.locator(".ce-question .ce-said > :last-child code").all_inner_texts()
    expect(page.locator(".citer-evidence")).not_to_contain_text("`")
    lesson = content["lesson"]["figure"]["rows"]
    expect(page.locator(".ce-lesson .ce-dot")).to_have_count(sum(row["value"] is not None for row in lesson))
    heights = "(cells) => cells.map((cell) => cell.getBoundingClientRect().height)"
    assert max(page.locator(".ce-lesson .ce-range").evaluate_all(heights)) < 30, "an interval stands in one line"
    page.locator(".ce-lesson .ce-csv").scroll_into_view_if_needed()
    with page.expect_download() as saved:
        page.locator(".ce-lesson .ce-csv").click()
    rows = list(csv.reader(saved.value.path().read_text(encoding="utf-8").splitlines()))
    assert [(row[1], float(row[2])) for row in rows[1:]] == [(row["label"], row["value"]) for row in lesson]

    for regime in content["regimes"]:
        page.locator(f".citer-evidence [data-name='{regime['name']}']").click()
        for name, other in regime["kinds"].items():
            page.locator(f".citer-evidence [data-name='{name}']").click()
            expect(page.locator(".citer-evidence .cl-heading").first).to_have_text(other["lead"])
            # Only what the page has can be opened, and only there is it said.
            what = "to open its router" if any(point["opens"] for point in other["points"]) else "for its numbers"
            expect(page.locator(".ce-detail")).to_contain_text(f"Choose a point {what}")
    page.get_by_text("All points as a table").click()
    expect(page.locator(".citer-evidence .cl-numbers tbody tr")).to_have_count(len(other["points"]))
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert violations(page, ".citer-evidence", tags=()) == []

    # A curve is hidden and shown by its button, and stays so on other axes and for other problems.
    page.locator(f".citer-evidence [data-name='{first['name']}']").click()
    page.locator(f".citer-evidence [data-name='{kind}']").click()
    drawn = plot.locator(".scatterlayer .trace")
    labels = {point["label"] for point in entry["points"] if point["share"] is not None}
    key = page.locator(".ce-key")
    assert set(key.locator(".ce-curve").all_text_contents()) == labels
    best, hidden = key.get_by_role("button", name=entry["best"]), key.locator(".ce-curve[aria-pressed=false]")
    expect(best).to_have_attribute("aria-pressed", "true")
    n_hidden = hidden.count()
    assert 0 < n_hidden < len(labels) and f"{n_hidden} more curves" in key.inner_text()
    expect(drawn).to_have_count(len(labels) - n_hidden)
    best.focus()
    page.keyboard.press("Space")
    expect(drawn).to_have_count(len(labels) - n_hidden - 1)
    key.locator("summary").click()
    other = key.locator(".cl-details .ce-curve").first
    other.click()
    expect(drawn).to_have_count(len(labels) - n_hidden)
    page.locator(".citer-evidence [data-name='bytes_share']").click()
    expect(plot).to_have_attribute("data-drawn", f"{first['name']} {kind} bytes_share")
    expect(best).to_have_attribute("aria-pressed", "false")
    expect(other).to_have_attribute("aria-pressed", "true")
    page.locator(".citer-evidence [data-name='share']").click()
    # By its router: another pair calls the same one otherwise.
    alone = key.locator(".ce-curve").first
    name = alone.inner_text()
    alone.click()
    page.locator(".citer-evidence [data-name='qwen']").click()
    expect(alone).not_to_have_text(name)
    expect(alone).to_have_attribute("aria-pressed", "false")
    page.locator(f".citer-evidence [data-name='{first['name']}']").click()
    page.locator(f".citer-evidence [data-name='{kind}']").click()

    # A point by the keyboard: one stop for all, arrows between them, Enter opens exactly that router and tau.
    expect(plot).to_have_attribute("data-drawn", f"{first['name']} {kind} share")
    stops = plot.locator("path.point[tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    name = page.evaluate("document.activeElement.getAttribute('aria-label')")
    chosen = entry["points"][int(page.evaluate("document.activeElement.dataset.number"))]
    assert name.startswith(f"{chosen['label']} at τ") and f"{chosen['right']:g} of {chosen['n']} right" in name
    expect(page.locator(".ce-detail")).to_contain_text(f"{chosen['right']:g} of {chosen['n']} right")
    expect(page.locator(".ce-detail a")).to_have_count(int(chosen["opens"]))
    if chosen["opens"]:
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "router=" in url)
        asked = parse_qs(urlsplit(page.url).query)
        assert asked["router"] == [chosen["router"]] and float(asked["tau"][0]) == chosen["tau"]


@pytest.mark.ui
def test_a_figure_on_a_phone_has_lines_of_one_length_and_whole_words(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390)
    page = visitor.page
    visitor.open_view("Evidence")
    figure = page.locator(".ce-lesson .ce-drawn")
    expect(figure.locator(".ce-range").first).to_be_visible(timeout=20_000)
    size = "(nodes, of) => nodes.map((node) => Math.round(node.getBoundingClientRect()[of]))"
    (width,) = set(figure.locator(".ce-line svg").evaluate_all(size, "width"))  # else dots could not be compared
    assert width > 100
    for cell in (".ce-range", "[scope=row]", ".ce-value"):
        assert max(figure.locator(cell).evaluate_all(size, "height")) < 30, f"{cell} stands in one line"
    assert figure.locator("tbody tr").first.evaluate("(row) => row.getBoundingClientRect().right") <= 390
    finding = page.locator(".ce-question[data-name=free-1] .ce-finding")
    claim = next(claim for claim in evidence_message()["evidence"]["claims"] if claim["name"] == "free-1")
    for panel, found in zip(finding.all(), [claim["found"], *claim["others"]], strict=True):
        expect(panel.locator("li")).to_have_text(list(found["lines"]))
        expect(panel.locator(".cl-note")).to_contain_text(found["where"])
