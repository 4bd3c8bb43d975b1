"""What axe finds on a page, as the tests ask it."""

from __future__ import annotations

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

WCAG_AA = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
FADES_ARE_OVER = """document.getAnimations().every((animation) =>
  animation.playState !== 'running' || animation.effect.getComputedTiming().endTime === Infinity)"""

# Tokens are most of what stands on a page, and the contrast of each takes longest: of those that look alike, with
# the same classes, styles and attributes inside of the same parent, three in sight are looked at.
FIND = """([context, options]) => {
  const look = (node) => [node.className, node.getAttribute("style"), node.getAttributeNames()].join();
  const seen = {};
  const alike = [...document.querySelectorAll(".cv-t, .cl-t, .cq-t, .cx-guess, .cc-token")].filter((node) => {
    const key = [node.parentElement, node, ...node.querySelectorAll("*")].map(look).join();
    const { top, bottom } = node.getBoundingClientRect();
    const isInSight = bottom > 0 && top < innerHeight;
    if ((seen[key] ?? 0) >= 3) return true;
    seen[key] = (seen[key] ?? 0) + Number(isInSight);
    return false;
  });
  const include = context ? [context] : [document.documentElement];
  return axe.run(alike.length ? { include, exclude: alike } : { include }, options);
}"""


def findings(page: Page, context: str | None = None, *, with_advice: bool = False) -> list[tuple[str, str]]:
    """What axe finds in `context` (a selector), or on the whole page: rule and markup.

    Args:
        page: as it is shown; what fades is waited for, as half-faded text has too little contrast for an instant.
        context: a selector.
        with_advice: all that axe says; else what breaks WCAG 2 at A or AA, at any weight, and what else is grave.
    """
    page.wait_for_function(FADES_ARE_OVER)
    # What passed is neither described nor sent: on a page of thousands of tokens that takes most of the time.
    # Whether all lies in some region is advice, and is asked of every element.
    options = {"resultTypes": ["violations"], "rules": {"region": {"enabled": with_advice}}}
    if page.evaluate("typeof window.axe") == "undefined":  # to send it takes half a second
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(FIND, [context, options])
    return [
        (v["id"], n["html"][:160])
        for v in found["violations"]
        if with_advice or v["impact"] in ("serious", "critical") or not set(WCAG_AA).isdisjoint(v["tags"])
        for n in v["nodes"]
    ]


ALIKE = {"tbody": 5, "datalist": 5, ".points": 5, ".ce-questions": 8, ".cl-text": 80}
SHORTEN = """(most) => {
  for (const [name, n] of Object.entries(most))
    for (const body of document.querySelectorAll(name)) for (const one of [...body.children].slice(n)) one.remove();
}"""


def shorten(page: Page) -> None:
    """Leaves the first rows, points and tokens: the others are alike, and axe would read each of thousands again."""
    page.evaluate(SHORTEN, ALIKE)


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


REPEATED = """() => {
  const ids = [...document.querySelectorAll("[id]:not([id=''])")].map((node) => node.id);
  return [...new Set(ids.filter((id, at) => ids.indexOf(id) < at))];
}"""


def repeated_ids(page: Page) -> list[str]:
    """Ids that more than one element has: a label, a link or a script finds the first only. Axe no longer asks."""
    return list(page.evaluate(REPEATED))


TARGET_PX = 44
SMALL = """([least, context]) => {
  const seen = (node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const nodes = document.querySelectorAll("button, select, textarea, summary, [role=button], input, a[href]");
  return [...nodes].filter((node) => {
    if (context && !node.closest(context)) return false;
    // In running text a target is as high as its line; a hidden input is pressed by its label.
    const inText = ".cv-text, .cl-text, .cq-text, .cx-guess, p, li, dd, td, th, footer, svg";
    if (!seen(node) || node.closest(inText)) return false;
    if (node.matches("[type=checkbox], [type=radio]")) node = node.closest("label") ?? node;
    const box = node.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && (box.height < least - 0.5 || box.width < least - 0.5);
  }).map((node) => `${node.tagName.toLowerCase()}${node.id && "#" + node.id}.${node.className} `
    + `${(node.textContent || node.ariaLabel || node.value || "").trim().slice(0, 30)} `
    + `${Math.round(node.getBoundingClientRect().width)}x${Math.round(node.getBoundingClientRect().height)}`);
}"""


def small_targets(page: Page, context: str | None = None) -> list[str]:
    """What is to be touched in `context` (a selector), outside of running text, and is smaller than 44 px."""
    return list(page.evaluate(SMALL, [TARGET_PX, context]))


def sound(page: Page, context: str | None = None) -> None:
    """Nothing is wider than the window, grave to axe or named twice, or, on a phone, too small to touch."""
    assert page.viewport_size is not None
    small = small_targets(page, context) if page.viewport_size["width"] < 768 else []
    found = overflow(page), repeated_ids(page), small, findings(page, context)
    assert found == (0, [], [], []), found


SIZES = """() => {
  const UNSEEN = "svg, .cv-sr, .cl-sr";
  const sizes = {};
  for (const node of document.querySelectorAll(".cx-page *")) {
    const isText = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    const box = node.getBoundingClientRect();
    if (isText && box.height > 2 && box.width > 2 && !node.closest(UNSEEN)
        && node.checkVisibility({ visibilityProperty: true }))
      sizes[getComputedStyle(node).fontSize] ??= `${node.className} ${node.textContent.trim().slice(0, 30)}`;
  }
  return sizes;
}"""


def type_sizes(page: Page) -> dict[str, str]:
    """The sizes of all text that can be seen, charts aside, each with one element that has it."""
    return dict(page.evaluate(SIZES))
