"""The Learn tab: one component whose script (`assets/learn`) draws everything from the page that is there.

Asks the server for nothing; its numbers are those of the run on the screen.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

from citer_core.ui.page_assets import file_url

# The viewer is outside the tabs and starts with the page, so `window.citer` is there unless it could not be started.
_ON_LOAD = """
import(new URL(props.entry, document.baseURI).href)
  .then((learn) => learn.mountLearn({ element, page: window.citer }))
  .catch((error) => { element.textContent = "The Learn tab could not be started: " + error.message; });
"""


def learn_tab(assets: Path) -> gr.HTML:
    """Lays the tab out."""
    return gr.HTML(
        html_template='<div class="cx-learn"></div>',
        js_on_load=_ON_LOAD,
        apply_default_css=False,
        elem_id="cx-learn",
        entry=file_url(assets / "learn" / "learn.js"),
    )
