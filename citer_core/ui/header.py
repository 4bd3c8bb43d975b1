"""The header: name, one line, device badge and mode chip. `page.js` fills the last two."""

from __future__ import annotations

import gradio as gr

TAGLINE = "A small model writes. Where a router expects it to fail, a large one writes the token."

_TEMPLATE = f"""
<header class="cx-header">
  <div class="cx-brand">
    <h1 class="cx-name" aria-label="CITER"><span class="cx-slm">CIT</span><span class="cx-llm">ER</span></h1>
    <p class="cx-tagline">{TAGLINE}</p>
  </div>
  <div class="cx-state">
    <span class="cx-badge" id="cx-device" data-state="loading">Loading the models</span>
    <span class="cx-chip" id="cx-mode" data-mode="recorded">Recorded</span>
  </div>
</header>
"""


def header() -> gr.HTML:
    """The top of the page."""
    return gr.HTML(html_template=_TEMPLATE, js_on_load=None, apply_default_css=False, elem_id="cx-header")
