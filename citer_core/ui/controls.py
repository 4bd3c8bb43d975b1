"""The controls: what is asked, when the LLM steps in, and how it is decoded. Components only; `page` wires them.

They stand in three places: tau beside the text (`tau_block`), the problem under it (`controls`), the rest below.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from citer_core.assets import ASSETS
from citer_core.decode_settings import SETTINGS
from citer_core.errors import GateError
from citer_core.gate.fields import MapOf, Real, Record
from citer_core.gate.json_file import read_json
from citer_core.ui.pricing import DATA_SHEET_GB_PER_S, DATA_SHEET_TFLOPS, PRICE_NAMES, THIS_PAIR
from citer_core.ui.run_form import RunForm, setting_control

DATA_TYPE_CHOICES = [("Math", "math"), ("Multiple choice", "mc"), ("Free text", "open")]
SAMPLE_QUESTION = "Mia buys 4 pens at 12 dollars each and 3 books at 25 dollars each. How many dollars does Mia spend?"

WHAT_IT_CAN = (
    "The bundled pair, trained from scratch for this page, knows arithmetic word problems and multiple-choice facts, "
    "nothing else."
)
_TAU_ENDS = """
<div class="cx-tau-ends"><span>0 · all SLM</span><span>all LLM · 1</span></div>
<p class="cx-tau-note"><span>The LLM writes a token below τ.</span>
<button type="button" class="cx-quiet" id="cx-own-tau" hidden></button></p>
<p id="cx-tau-said" role="status"></p>
"""
# What would answer: the device and the pair that are loaded, beside the button that asks them.
_STATE = """
<p class="cx-state">
  <span class="cx-badge" id="cx-device" data-state="loading">Loading the models</span>
  <button type="button" class="cx-quiet" id="cx-pair" aria-haspopup="dialog" hidden>Pair</button>
</p>
"""
_SHARE = Record({"share": Real(0.0, 1.0)})
_MATH = Record({"share": Real(0.0, 1.0)}, {"by_kind": MapOf(_SHARE, 100)})
_MODEL = Record({"accuracy": Record({"math": _MATH, "mc": _SHARE})})
_CARD = Record({"models": Record({"slm": _MODEL, "llm": _MODEL})})


def how_well(card_path: Path) -> str:
    """What either model reaches alone on unseen problems, from the pair's card; empty where there is no card."""
    try:
        models = _CARD.read(read_json(card_path, max_bytes=1_000_000), "card")["models"]
    except GateError:
        return ""
    slm, llm = (
        [round(100 * models[which]["accuracy"][kind]["share"]) for kind in ("math", "mc")] for which in ("slm", "llm")
    )
    total = (
        f" Alone, the SLM is right on {slm[0]}% of unseen word problems and {slm[1]}% of questions, "
        f"the LLM on {llm[0]}% and {llm[1]}%."
    )
    kinds = [
        [round(100 * kind["share"]) for kind in models[which]["accuracy"]["math"].get("by_kind", {}).values()]
        for which in ("slm", "llm")
    ]
    if not all(kinds):
        return total
    ranges = [f"{min(shares)} to {max(shares)}%" for shares in kinds]
    return f"{total} Of {len(kinds[0])} kinds of word problems, each: the SLM {ranges[0]}, the LLM {ranges[1]}."


def about_bundled() -> str:
    """What the bundled pair may be asked, and how well it answers."""
    return WHAT_IT_CAN + how_well(ASSETS / "models" / "card.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """The components that events read or write.

    Attributes:
        form: what a run is asked with.
        picker, another: fill it in.
        generate, stop, cancel: of a run; `cancel` leaves gradio's queue.
        ask, branch, probe: ask the server for a run, or about the one on the screen.
        request: the text that goes to the server: a run's, a branch's or a probe's.
        price_as, bandwidth, peak: of the run on the screen.
    """

    form: RunForm
    picker: gr.Dropdown
    another: gr.Button
    generate: gr.Button
    stop: gr.Button
    cancel: gr.Button
    ask: gr.Button
    branch: gr.Button
    probe: gr.Button
    request: gr.Textbox
    price_as: gr.Dropdown
    bandwidth: gr.Number
    peak: gr.Number

    @property
    def tau(self) -> gr.Slider | gr.Number:
        """The threshold."""
        return self.form.settings["threshold"]

    @property
    def priced(self) -> list[Any]:
        """The inputs of a re-pricing."""
        return [self.price_as, self.bandwidth, self.peak]


def tau_block(tau: float | None) -> gr.Slider | gr.Number:
    """The threshold with the run's histogram above its track; `page.js` draws the bars."""
    with gr.Group(elem_classes=["cx-tau-group"]):
        fixed('<div id="cx-histogram"></div>')
        control = setting_control("threshold", value=tau, elem_id="cx-tau")
        fixed(_TAU_ENDS)
    return control


def controls(question: str, data_type: str, threshold: gr.Slider | gr.Number) -> Controls:
    """Lays the others out; `question` opens in the editor, so that nobody faces an empty box.

    Args:
        question, data_type: what the editor opens with.
        threshold: from `tau_block`.
    """
    with gr.Row(elem_id="cx-controls"):
        with gr.Column(scale=8, min_width=280, elem_id="cx-problem"):
            # As many lines as there may be: gradio would measure the text to find out, which costs two layouts of the
            # page while it opens. The sheet makes it as high as its text, in browsers that can.
            prompt = gr.Textbox(
                question, label="Problem", info=about_bundled(), lines=3, max_lines=3, elem_id="cx-prompt"
            )
        with gr.Column(scale=3, min_width=240, elem_id="cx-act"):
            with gr.Row(elem_id="cx-go"):
                generate = gr.Button("Generate", variant="primary", elem_id="cx-generate", scale=3, min_width=120)
                stop = gr.Button("Stop", elem_id="cx-stop", scale=1, min_width=80)
                cancel = gr.Button("Leave the queue", elem_id="cx-cancel", visible="hidden")
                # Pressed by `page_branches.js`, whose request stands in for the text.
                ask = gr.Button("Ask the server", elem_id="cx-ask", visible="hidden")
                branch = gr.Button("Run a branch", elem_id="cx-branch", visible="hidden")
                probe = gr.Button("Ask the LLM everywhere", elem_id="cx-probe", visible="hidden")
                request = gr.Textbox(label="Request", max_lines=1, elem_id="cx-request", visible="hidden")
            fixed(_STATE)
    fixed('<p id="cx-notice" role="status"></p><p id="cx-outside" role="status"></p>')
    with gr.Row(elem_id="cx-picking"):
        kind = gr.Radio(DATA_TYPE_CHOICES, value=data_type, label="Type", elem_id="cx-type", min_width=400, scale=0)
        picker = gr.Dropdown(
            [],  # `ready` brings them: some hundred problems would be a fifth of the document
            value=None,
            label="Or pick a problem",
            elem_id="cx-picker",
            min_width=200,
            scale=3,
        )
        another = gr.Button("Another one", size="sm", elem_id="cx-another", min_width=110, scale=0)
    settings = {"threshold": threshold}
    with gr.Accordion("Router, decoding and price", open=False, elem_id="cx-settings"):
        with gr.Row():
            router = gr.Dropdown(
                [],
                value=None,
                label="Router",
                info="Filled when the models are loaded",
                # Another session may have changed the pair: our own message says more than gradio's refusal would.
                allow_custom_value=True,
                elem_id="cx-router",
                min_width=180,
            )
            settings |= {name: setting_control(name) for name in SETTINGS if name not in settings}
        with gr.Row():
            price_as = gr.Dropdown(
                PRICE_NAMES,
                value=THIS_PAIR,
                label="Price these decisions as",
                info="What would the same hand-overs cost on a larger pair?",
                elem_id="cx-price",
                min_width=220,
            )
            bandwidth = gr.Number(
                DATA_SHEET_GB_PER_S,
                label="Memory bandwidth, GB/s",
                info="H100 SXM data sheet; put your own",
                min_width=180,
            )
            peak = gr.Number(
                DATA_SHEET_TFLOPS, label="Peak compute, TFLOP/s", info="Dense bfloat16, data sheet", min_width=180
            )
        fixed('<p id="cx-price-said" role="status"></p>')
    return Controls(
        form=RunForm(question=prompt, data_type=kind, router=router, settings=settings),
        picker=picker, another=another, generate=generate, stop=stop, cancel=cancel, ask=ask, branch=branch,
        probe=probe, request=request, price_as=price_as, bandwidth=bandwidth, peak=peak,
    )  # fmt: skip


def fixed(markup: str) -> gr.HTML:
    """A place that `page.js` fills, or words that never change."""
    return gr.HTML(html_template=markup, js_on_load=None, apply_default_css=False)
