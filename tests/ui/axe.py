"""What axe finds on a page, as the tests ask it."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

FADES_ARE_OVER = """document.getAnimations().every((animation) =>
  animation.playState !== 'running' || animation.effect.getComputedTiming().endTime === Infinity)"""


def grave(page: Page, context: str | None = None) -> list[tuple[str, str]]:
    """Serious and critical findings in `context` (a selector), or on the whole page: rule and markup."""
    # Half-faded text has too little contrast for an instant; every fade of the page ends.
    page.wait_for_function(FADES_ARE_OVER)
    found = Axe().run(page, context=context).response["violations"]
    return [(v["id"], n["html"][:160]) for v in found if v["impact"] in ("serious", "critical") for n in v["nodes"]]


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
