"""The view Evidence: drawn from what is stored, every choice of it, and a point's way to Explore."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from citer_core.ui.evidence.messages import evidence_message
from tests.ui.conftest import Visitor


@pytest.mark.ui
def test_curves_points_and_questions(visit: Callable[..., Visitor]) -> None:
    content = evidence_message()["evidence"]
    visitor = visit()
    page = visitor.page
    visitor.open_view("Evidence")
    first = content["regimes"][0]
    kind, entry = next(iter(first["kinds"].items()))
    expect(page.locator(".citer-evidence .cl-heading").first).to_have_text(entry["lead"], timeout=20_000)
    plot = page.locator(".ce-plot")
    expect(plot).to_have_attribute("data-drawn", f"{first['name']} {kind} share", timeout=30_000)
    expect(page.locator(".ce-question")).to_have_count(len(content["claims"]))

    k = next(i for i, point in enumerate(entry["points"]) if point["router"] == "citer")
    plot.evaluate("(node, k) => node.emit('plotly_click', { points: [{ customdata: k }] })", k)
    chosen = entry["points"][k]
    expect(page.locator(".ce-detail")).to_contain_text(f"{chosen['right']:g} of {chosen['n']} right")
    links = page.locator(".ce-detail a")
    expect(links).to_have_count(int(chosen["opens"]))
    if chosen["opens"]:
        asked = parse_qs(urlsplit(links.get_attribute("href") or "").query)
        assert asked["router"] == ["citer"] and float(asked["tau"][0]) == chosen["tau"]

    for regime in content["regimes"]:
        page.locator(f".citer-evidence [data-name='{regime['name']}']").click()
        for name, other in regime["kinds"].items():
            page.locator(f".citer-evidence [data-name='{name}']").click()
            expect(page.locator(".citer-evidence .cl-heading").first).to_have_text(other["lead"])
    page.get_by_text("All points as a table").click()
    expect(page.locator(".citer-evidence tbody tr")).to_have_count(len(other["points"]))
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    found = Axe().run(page, context=".citer-evidence").response["violations"]
    assert [violation["id"] for violation in found] == []
