"""The Labels tab: what to read, and one component in which the browser shows it.

It opens with a recorded analysis of a whole set (`stored`), a file that the browser fetches; everything else is filled
when the tab is first opened: its component then mounts and asks (`opened`). Until then the page carries an empty list
and no script. What moves with tau is computed in the browser (`assets/labels`); the server reads other problems, and
rolls out branches.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gradio as gr

from citer_core.errors import TraceError
from citer_core.ui.controls import fixed
from citer_core.ui.job_line import JobLine
from citer_core.ui.labels.events import LabelEvents
from citer_core.ui.labels.jobs import LabelJobs
from citer_core.ui.labels.rows import MAX_ROWS
from citer_core.ui.labels.stored import StoredLabels, read_stored
from citer_core.ui.page_assets import file_url, plotly_script
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.session_memory import forget_value

logger = logging.getLogger(__name__)
PASTE_HINT = '{"problem": "What is 2 + 3?", "solution": "$2+3=5$. The final answer is $\\\\boxed{5}$."}'
PASTE_INFO = (
    "math: problem, solution with a final \\boxed{}. mc: question, choices {text, label}, answerKey, cot. The format "
    "is seen from the fields."
)
_ON_LOAD = """
import(new URL(props.entry, document.baseURI).href)
  .then((labels) => labels.mountLabels({
    element, props, watch,
    onOpen: () => trigger("opened"),
    onRollOut: (asked) => trigger("rollout", asked),
    onFile: (file) => trigger("chosen", file),
  }))
  .catch((error) => { element.textContent = "The Labels tab could not be started: " + error.message; });
"""


def labels_tab(
    page: gr.Blocks, assets: Path, slot: EngineSlot, book: ProblemBook, jobs: LabelJobs, line: JobLine
) -> None:
    """Lays the tab out and wires it.

    Args:
        page: that it is a part of.
        assets: the project's assets.
        slot: of the engine.
        book: the bundled problems.
        jobs: of this page.
        line: where its computations take turns with others.
    """
    recorded = _recorded(assets / "labelled")
    fixed('<div class="citer-labels" id="cx-labels-source"></div>')
    with gr.Accordion("Read something else with the loaded pair", open=not recorded, elem_id="cx-labels-own"):
        with gr.Row(elem_id="cx-labels-pick"):
            picker = gr.Dropdown(
                [], value=None, label="A bundled problem with its solution (type to search)",
                elem_id="cx-labels-picker", scale=3, min_width=260,
            )  # fmt: skip
            all_math = gr.Button("All 200 math problems", elem_id="cx-labels-math", scale=0, min_width=190)
            all_mc = gr.Button("All 200 questions", elem_id="cx-labels-mc", scale=0, min_width=160)
        pasted = gr.Textbox(
            label="A row of your own, in JSON", info=PASTE_INFO, placeholder=PASTE_HINT, lines=3, max_lines=10,
            elem_id="cx-labels-paste",
        )  # fmt: skip
        with gr.Row(elem_id="cx-labels-own-buttons"):
            read = gr.Button("Read this row", elem_id="cx-labels-read", scale=0, min_width=150)
            # The browser reads the file and sends its text: the server takes no files, so it keeps none.
            choose = gr.Button(
                f"Open JSON Lines, up to {MAX_ROWS} rows", elem_id="cx-labels-open", scale=0, min_width=260
            )
    screen = gr.HTML(
        value=None,
        html_template='<div class="cx-labels"></div>',
        js_on_load=_ON_LOAD,
        apply_default_css=False,
        elem_id="cx-labels",
        entry=file_url(assets / "labels" / "labels.js"),
        plotly=file_url(plotly_script()),
        stored=[{**asdict(entry), "url": file_url(assets / "labelled" / entry.file)} for entry in recorded],
    )

    def sent(session: str) -> None:
        forget_value(page, session, screen)

    events = LabelEvents(slot, jobs, line, sent, recorded)

    def opened() -> object:
        return gr.Dropdown(choices=book.choices())

    how: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "trigger_mode": "multiple"}
    screen.opened(opened, None, picker, **how)
    # Unchecked by gradio, which would compare with choices that it may have forgotten; we say what is wrong with a key.
    picker.input(events.picked, picker, screen, preprocess=False, **how)
    all_math.click(events.whole_set("math"), None, screen, **how)
    all_mc.click(events.whole_set("mc"), None, screen, **how)
    read.click(events.pasted, pasted, screen, **how)
    choose.click(None, js="() => window.citerLabels?.chooseFile()", api_visibility="private")
    screen.chosen(events.opened, None, screen, **how)
    screen.rollout(events.rolled_out, None, screen, **how)


def _recorded(folder: Path) -> list[StoredLabels]:
    """The recorded analyses; a damaged index costs these, not the page."""
    try:
        return [entry for entry in read_stored(folder) if (folder / entry.file).is_file()]
    except TraceError as error:
        logger.warning("%s", error)
        return []
