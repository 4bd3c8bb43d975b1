"""The page's header and views: what there is, what an address names (`?view=labels`), and the panel of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from citer_core import __version__


@dataclass(frozen=True, slots=True)
class View:
    """One of them.

    Attributes:
        name: in addresses.
        title: on the page.
        is_headed: its own headings are of the second order.
    """

    name: str
    title: str
    panel: str = ""
    is_headed: bool = True


EXPLORE = View("explore", "Explore")
COMPARE = View("compare", "Compare", is_headed=False)
LABELS = View("labels", "Labels", is_headed=False)
EVIDENCE = View("evidence", "Evidence")
PROFILE = View("profile", "Worth it here?")
LEARN = View("learn", "Learn")
API = View("api", "API")
VIEWS = (EXPLORE, COMPARE, LABELS, EVIDENCE, PROFILE, LEARN, API)
TAGLINE = "A small model writes. Where a router expects it to fail, a large one writes the token."
_NAME = '<h1 class="cx-name" aria-label="CITER"><span>CIT</span><span class="cx-llm">ER</span></h1>'
_HEADER = """
<header>
<div class="cx-header">
  {name}
  <button type="button" class="cx-tool" id="cx-menu" aria-expanded="false" aria-controls="cx-menu-list">Menu</button>
  <div class="cx-menu" id="cx-menu-list">
    {views}
    <div class="cx-tools">
      {tools}
      <button type="button" class="cx-tool" id="cx-size" aria-label="Text size">A+</button>
      <button type="button" class="cx-tool" id="cx-theme" aria-label="Dark theme" aria-pressed="false">◐</button>
      <span class="cx-version" title="The version of this page">v{version}</span>
    </div>
  </div>
</div>
<p id="cx-link-said" role="status"></p>
{tagline}
</header>
"""
_TOOLS = """<button type="button" class="cx-tool" id="cx-tour" title="Nine small steps on this page">Tour</button>
      <button type="button" class="cx-tool" id="cx-present" title="Large type, by keyboard">Present</button>
      <button type="button" class="cx-tool" id="cx-copy-link" title="Opens what is on the screen">Copy link</button>"""


def header(views: Sequence[View]) -> str:
    """The top of the page, one line; without views, that of a page in one file. On a phone a button opens it."""
    links = "".join(
        f'<a href="?view={view.name}" data-view="{view.name}"{" aria-current=page" if view is EXPLORE else ""}>'
        f"{escape(view.title)}</a>"
        for view in views
    )
    return _HEADER.format(
        name=_NAME, views=f'<nav class="cx-views" aria-label="Views">{links}</nav>' if views else "",
        tools=_TOOLS if views else "", tagline=f'<p class="cx-tagline">{TAGLINE}</p>', version=__version__,
    )  # fmt: skip


def panels(views: Sequence[View], content: Mapping[str, str]) -> str:
    """The place of each view but Explore, with what it holds from the beginning."""
    return "".join(_panel(view, content.get(view.name, "")) for view in views if view is not EXPLORE)


def _panel(view: View, content: str) -> str:
    heading = "" if view.is_headed else f'<h2 class="cx-hidden">{escape(view.title)}</h2>'
    return (
        f'<div id="cx-tab-{view.name}" data-panel="{view.name}" hidden>{heading}{content}'
        f'<div id="cx-{view.name}" class="cx-{view.name}"></div></div>'
    )
