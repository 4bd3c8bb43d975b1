"""How long a page takes to show what it opens with: on this machine, and as from a phone on a slow network.

`pytest -m slow -s tests/ui/test_opening_speed.py` prints the medians, for a machine that does nothing else.
"""

from __future__ import annotations

import statistics

import pytest
from playwright.sync_api import Browser

from tests.ui.serving import Served

pytestmark = [pytest.mark.ui, pytest.mark.slow]
N_TRIES = 5
# A phone's processor is taken for four times slower, and the network for what browsers' tools call slow 4G.
SLOW_CPU = 4
SLOW_4G = {"offline": False, "latency": 562.5, "downloadThroughput": 1.44e6 / 8, "uploadThroughput": 0.675e6 / 8}
# From the beginning of the navigation to the frame in which an element has a size and is seen.
SEEN = """(selectors) => {
  const seen = {};
  window.seen = seen;
  const frame = () => {
    for (const [name, selector] of Object.entries(selectors)) {
      const node = name in seen ? null : document.querySelector(selector);
      if (node?.getBoundingClientRect().height > 0 && node.checkVisibility({ visibilityProperty: true }))
        seen[name] = performance.now();
    }
    if (Object.keys(seen).length < Object.keys(selectors).length) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


@pytest.mark.parametrize(("is_slow", "limit_s"), [(False, 2.0), (True, 3.5)], ids=["here", "phone on slow 4G"])
def test_the_first_token_of_the_opening_run(browser: Browser, served: Served, *, is_slow: bool, limit_s: float) -> None:
    """Without a cache, as at a first visit."""
    selectors = {"token": ".cv-t", "page": ".citer-viewer .cv-t"}
    texts, pages = list[float](), list[float]()
    for _ in range(N_TRIES):
        context = browser.new_context(viewport={"width": 390, "height": 844} if is_slow else None)
        context.add_init_script(f"({SEEN})({selectors})")
        page = context.new_page()
        if is_slow:
            devtools = context.new_cdp_session(page)
            devtools.send("Network.enable")
            devtools.send("Network.emulateNetworkConditions", SLOW_4G)
            devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOW_CPU})
        page.goto(served.url, wait_until="commit")
        page.wait_for_function("() => 'page' in (window.seen ?? {})", timeout=60_000, polling=100)
        seen = page.evaluate("window.seen")
        texts.append(seen["token"] / 1000)
        pages.append(seen["page"] / 1000)
        context.close()
    text, whole = statistics.median(texts), statistics.median(pages)
    print(f"first token seen after {text:.2f} s, where it can be touched after {whole:.2f} s")
    assert text < limit_s
