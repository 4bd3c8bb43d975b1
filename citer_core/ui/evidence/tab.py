"""The view Evidence. Nothing is read before it is opened, and nothing computed but sums of what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from citer_core.ui.page_assets import file_url, plotly_script
from citer_core.ui.streaming import encode

_ON_LOAD = """
import(new URL(props.entry, document.baseURI).href)
  .then((evidence) => evidence.mountEvidence({ element, props, watch, onOpen: () => trigger("opened") }))
  .catch((error) => { element.textContent = "The view could not be started: " + error.message; });
"""


def evidence_tab(assets: Path) -> None:
    """Lays the view out and wires it.

    Args:
        assets: the project's assets.
    """
    screen = gr.HTML(
        value=None,
        html_template='<div class="cx-evidence"></div>',
        js_on_load=_ON_LOAD,
        apply_default_css=False,
        elem_id="cx-evidence",
        entry=file_url(assets / "evidence" / "evidence.js"),
        plotly=file_url(plotly_script()),
    )

    def opened() -> Iterator[str]:
        # Pandas, which gradio has loaded, and the files: when somebody wants to see them.
        from citer_core.ui.evidence.messages import evidence_message

        yield encode(evidence_message())

    how: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    screen.opened(opened, None, screen, **how)
