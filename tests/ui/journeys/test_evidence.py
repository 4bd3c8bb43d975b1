"""Evidence: what it shows is what is stored, and a link opens it as it was left."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from citer_core.ui.evidence import evidence_message
from tests.ui.axe import shorten, sound
from tests.ui.conftest import on_one_host
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]


@on_one_host("static")
def test_evidence(enter: Enter) -> None:
    """Curves, points and questions: drawn from what is stored, every choice of it, and a point's way to Explore."""
    content = evidence_message()["evidence"]
    visitor = enter(width=1440, theme="dark")
    page = visitor.page
    visitor.open_view("Evidence")
    first = content["regimes"][0]
    kind, entry = next(iter(first["kinds"].items()))
    expect(page.locator(".citer-evidence .cl-heading").first).to_have_text(entry["lead"], timeout=20_000)
    plot = page.locator(".ce-plot")
    expect(plot).to_have_attribute("data-drawn", f"{first['name']} {kind} bytes_share", timeout=30_000)
    n_rows = page.locator(".ce-question").evaluate_all(
        "all => all.map((one) => one.querySelectorAll('.ce-drawn tbody th[scope=row]').length)"
    )
    n_own = [sum(len(figure["rows"]) for figure in claim["figures"]) for claim in content["claims"]]
    assert n_rows == [n_own[0] + page.locator(".ce-arena th[scope=row]").count(), *n_own[1:]]
    lesson = content["lesson"]["figure"]["rows"]
    rows = list(csv.reader(visitor.saved(page.locator(".ce-lesson .ce-csv")).decode().splitlines()))
    assert [(row[1], float(row[2])) for row in rows[1:]] == [(row["label"], row["value"]) for row in lesson]

    # Another pair has problems of its own.
    other = content["regimes"][1]
    page.locator(f".citer-evidence [data-name='{other['name']}']").click()
    expect(page.locator(".citer-evidence .cl-heading").first).to_have_text(next(iter(other["kinds"].values()))["lead"])
    page.locator(f".citer-evidence [data-name='{first['name']}']").click()
    # The arena opens where the contenders of its pair meet, and keeps the focus where one chooses another place.
    arena = content["arena"][0]
    choice, level = page.locator(".ce-arena select").first, arena["levels"][1]["name"]
    expect(choice).to_have_value(arena["level"])
    choice.press("ArrowUp")
    expect(choice).to_have_value(level)
    # A window of Firefox that has saved a file has no focus, and what is focused in it is not said to be.
    assert choice.evaluate("(node) => node === document.activeElement")
    # A curve is hidden and shown by its button, and stays so on other axes and for other problems.
    drawn = plot.locator(".scatterlayer .trace")
    labels = {point["label"] for point in entry["points"]}
    key = page.locator(".ce-key")
    assert set(key.locator(".ce-curve").all_text_contents()) == labels
    best, hidden = (
        key.get_by_role("button", name=entry["best"], exact=True),
        key.locator(".ce-curve[aria-pressed=false]"),
    )
    expect(best).to_have_attribute("aria-pressed", "true")
    n_hidden = hidden.count()
    assert 0 < n_hidden < len(labels)
    expect(drawn).to_have_count(len(labels) - n_hidden)
    best.press("Space")
    expect(drawn).to_have_count(len(labels) - n_hidden - 1)
    page.locator(".citer-evidence [data-name='gb']").click()
    expect(plot).to_have_attribute("data-drawn", f"{first['name']} {kind} gb")
    expect(best).to_have_attribute("aria-pressed", "false")
    page.locator(".citer-evidence [data-name='bytes_share']").click()
    shorten(page)
    sound(page, ".ce-lesson, .ce-key, .ce-plot")
    link = parse_qs(urlsplit(page.evaluate("window.citer.views.address()")).query)
    levels = [f"at-{pair['pair']}" for pair in content["arena"]]
    assert set(link) == {"view", "pair", "kind", "axis", "curves", *levels}
    assert link[levels[0]] == [level]

    # A point by the keyboard: one stop for all, arrows between them, Enter opens exactly that router and tau.
    expect(plot).to_have_attribute("data-drawn", f"{first['name']} {kind} bytes_share")
    stops = plot.locator("path.point[tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    name = page.evaluate("document.activeElement.getAttribute('aria-label')")
    chosen = entry["points"][int(page.evaluate("document.activeElement.dataset.number"))]
    how = "with" if chosen["settings"] else "at τ"
    assert name.startswith(f"{chosen['label']} {how}") and f"{chosen['right']:g} of {chosen['n']} right" in name
    expect(page.locator(".ce-detail")).to_contain_text(f"{chosen['right']:g} of {chosen['n']} right")
    expect(page.locator(".ce-detail a")).to_have_count(int(chosen["opens"]))
    if chosen["opens"]:
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("[?&]router="), timeout=20_000)
        asked = parse_qs(urlsplit(page.url).query)
        assert asked["router"] == [chosen["router"]] and float(asked["tau"][0]) == chosen["tau"]
