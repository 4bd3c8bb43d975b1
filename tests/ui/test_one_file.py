"""The page in one file with the bundled pair inside: opened from a disk, without a network, it generates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from citer_core.assets import ASSETS
from citer_core.browser_pair import one_file_bytes
from citer_core.cli.main import main
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import RoutingTrace
from tests.ui.axe import findings, overflow
from tests.ui.serving import hosted
from tests.ui.visitor import READY, Visitor, until

pytestmark = pytest.mark.ui


def test_a_page_of_the_command_generates_from_the_disk(browser: Browser, tmp_path: Path) -> None:
    recorded = ASSETS / "traces" / "bakery.json"
    assert main(["gallery", "--engine", "--only-given", str(tmp_path), str(recorded)]) == 0
    file = tmp_path / "bakery.html"
    assert abs(file.stat().st_size / one_file_bytes() - 1) < 0.05  # as the page and the command say
    visitor = Visitor(browser, file.as_uri())
    writes_by_itself(visitor, RoutingTrace.from_json(recorded.read_text(encoding="utf-8")))

    # Probes, branches and the text at another tau, as on the page.
    page = visitor.page
    page.evaluate("window.citer.viewer.branching.askProbe(window.citer.viewer.view)")
    until(page, "window.citer.viewer.view.probe !== null")
    page.evaluate("window.citer.viewer.pin(3)")
    page.evaluate("window.citer.viewer.branching.flipPinned(window.citer.viewer.view)")
    until(page, "window.citer.viewer.trace()?.parent && !window.citer.isLive")
    assert visitor.shown().events[3].forced
    page.locator("#cx-theme").click()
    assert findings(page, with_advice=True) == [] and overflow(page) == 0
    assert page.get_by_role("button", name="Page").count() == 0  # it is one
    visitor.leave()
    assert visitor.complaints == []
    assert [asked for asked in visitor.requests if not asked.startswith(("file:", "blob:", "data:"))] == []


@pytest.mark.slow
def test_the_page_hands_one_out(browser: Browser, site: Path, tmp_path: Path) -> None:
    with hosted(site) as url:
        visitor = Visitor(browser, url)
        expect(visitor.tokens.first).to_be_visible(timeout=15_000)
        trace = visitor.shown()
        visitor.page.locator(".cv-key-button", has_text="LLM").click()
        visitor.page.evaluate("window.citer.setPricing('This pair', 935.5, 989)")
        button = visitor.page.get_by_role("button", name="Page that writes")
        expect(button).to_contain_text(f"about {one_file_bytes() / 1e6:.0f} MB")
        kept = tmp_path / "kept.html"
        kept.write_bytes(visitor.saved(button))
        visitor.leave()
    assert visitor.complaints == []
    opened = Visitor(browser, kept.as_uri())
    expect(opened.page.locator("[data-filter=llm]")).to_be_attached(timeout=20_000)
    expect(opened.page.locator("#cx-bandwidth")).to_have_value("935.5")
    assert opened.shown().key == trace.key
    until(opened.page, f"({READY})()")  # and writes as the command's does
    opened.leave()
    assert opened.complaints == []


def writes_by_itself(visitor: Visitor, trace: RoutingTrace) -> None:
    """Shows its run, then writes another one with the network off."""
    page = visitor.page
    visitor.context.set_offline(True)
    expect(visitor.tokens.first).to_be_visible(timeout=20_000)
    assert visitor.shown().key == trace.key
    until(page, f"({READY})()")
    problem = bundled_rows("math")[5].problem
    page.locator('#cx-type input[value="math"]').check()
    visitor.ask(problem.question)
    question = json.dumps(problem.question)
    until(page, f"window.citer.viewer.trace()?.prompt.question === {question} && !window.citer.isLive")
    written = visitor.shown()
    assert written.prompt.text == problem.prompt and written.answer is not None
    assert written.answer.true_answer == problem.true_answer and written.answer.is_correct is not None
