"""The page's views: what the header offers, what an address names (`?view=labels`), and the tab that holds each.

A view is one of gradio's tabs, whose own row of buttons the page hides: `page_views.js` presses them. Explore's tab is
empty, because the live viewer must stay outside of tabs (`run.viewer`). Called by `header` and `page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gradio as gr

from citer_core.ui.markup import literal

TABS_ID = "cx-tabs"


@dataclass(frozen=True, slots=True)
class View:
    """One of them.

    Attributes:
        name: in addresses.
        title: on the page.
    """

    name: str
    title: str


EXPLORE = View("explore", "Explore")
COMPARE = View("compare", "Compare")
LABELS = View("labels", "Labels")
EVIDENCE = View("evidence", "Evidence")
PROFILE = View("profile", "Worth it here?")
LEARN = View("learn", "Learn")
API = View("api", "API")
VIEWS = (EXPLORE, COMPARE, LABELS, EVIDENCE, PROFILE, LEARN, API)


def view_links(views: Sequence[View] = VIEWS) -> str:
    """The links of the header's row; the first one is open at first."""
    return "".join(
        f'<a href="?view={literal(view.name)}" data-view="{literal(view.name)}"'
        f"{' aria-current=page' if view is EXPLORE else ''}>{literal(view.title)}</a>"
        for view in views
    )


def view_tabs() -> gr.Tabs:
    """What holds them; gradio measures no widths where it may wrap, so a hidden row costs nothing."""
    return gr.Tabs(elem_id=TABS_ID, selected=EXPLORE.name, overflow_behavior="wrap")


def view_tab(view: View) -> gr.Tab:
    """The place of one view."""
    return gr.Tab(view.title, id=view.name, elem_id=f"cx-tab-{view.name}")
