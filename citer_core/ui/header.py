"""The header: name, one line, device badge and mode chip. `page.js` fills the last two."""

from __future__ import annotations

import gradio as gr

TAGLINE = "A small model writes; a large one steps in, token by token, only where a router expects the small one to fail."

_TEMPLATE = f"""
<header class="cx-header">
  <div class="cx-brand">
    <h1 class="cx-name"><span class="cx-slm" aria-hidden="true">CIT</span><span class="cx-llm" aria-hidden="true">ER</span
      ><span class="cx-hidden">CITER</span></h1>
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
