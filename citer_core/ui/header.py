"""The header: name, one line, device badge, mode chip and three buttons. `page.js` fills and wires them."""

from __future__ import annotations

import gradio as gr

from citer_core import __version__

TAGLINE = "A small model writes. Where a router expects it to fail, a large one writes the token."

_TEMPLATE = f"""
<header class="cx-header">
  <div class="cx-brand">
    <h1 class="cx-name" aria-label="CITER"><span class="cx-slm">CIT</span><span class="cx-llm">ER</span></h1>
    <span class="cx-version" title="The version of this page">v{__version__}</span>
    <p class="cx-tagline">{TAGLINE}</p>
  </div>
  <div class="cx-state">
    <span class="cx-badge" id="cx-device" data-state="loading">Loading the models</span>
    <button type="button" class="cx-quiet" id="cx-pair" aria-haspopup="dialog" hidden>Pair</button>
    <span class="cx-chip" id="cx-mode" data-mode="recorded">Recorded</span>
    <button type="button" class="cx-quiet" id="cx-tour" title="Nine small steps on this page">Take the tour</button>
    <button type="button" class="cx-quiet" id="cx-present" title="Large type, by keyboard">Present</button>
    <button type="button" class="cx-quiet" id="cx-copy-link" title="Opens this run, τ and token">Copy link</button>
  </div>
</header>
"""


def header() -> gr.HTML:
    """The top of the page."""
    return gr.HTML(html_template=_TEMPLATE, js_on_load=None, apply_default_css=False, elem_id="cx-header")
