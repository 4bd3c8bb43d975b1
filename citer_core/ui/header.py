"""The header, one line: name, views, and what one does with the page. `page.js` wires it.

On a phone the views and buttons are behind one button, which `page_views.js` opens and closes.
"""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr

from citer_core import __version__
from citer_core.ui.views import VIEWS, View, view_links

TAGLINE = "A small model writes. Where a router expects it to fail, a large one writes the token."

_TEMPLATE = """
<header class="cx-header">
  <h1 class="cx-name" title="{tagline}" aria-label="CITER"><span>CIT</span><span class="cx-llm">ER</span></h1>
  <button type="button" class="cx-tool" id="cx-menu" aria-expanded="false" aria-controls="cx-menu-list">Menu</button>
  <div class="cx-menu" id="cx-menu-list">
    <nav class="cx-views" aria-label="Views">{links}</nav>
    <div class="cx-tools">
      <button type="button" class="cx-tool" id="cx-tour" title="Nine small steps on this page">Tour</button>
      <button type="button" class="cx-tool" id="cx-present" title="Large type, by keyboard">Present</button>
      <button type="button" class="cx-tool" id="cx-copy-link" title="Opens this run, τ and token">Copy link</button>
      <button type="button" class="cx-tool" id="cx-size" aria-label="Text size">A+</button>
      <button type="button" class="cx-tool" id="cx-theme" aria-label="Dark theme" aria-pressed="false">◐</button>
      <span class="cx-version" title="The version of this page">v{version}</span>
    </div>
  </div>
</header>
"""


def header_markup(views: Sequence[View] = VIEWS) -> str:
    """It as HTML, with links to these views."""
    return _TEMPLATE.format(tagline=TAGLINE, links=view_links(views), version=__version__)


def header() -> gr.HTML:
    """The top of the page."""
    return gr.HTML(html_template=header_markup(), js_on_load=None, apply_default_css=False, elem_id="cx-header")
