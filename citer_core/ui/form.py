"""The form of the page as HTML: plain elements, with the ids that `assets/app/form.js` looks for; and what a run can be
priced for, as the JSON that the viewer's cost model reads.

A setting's control is made of its row in the table. Re-pricing happens in the browser: a trace holds decisions, and any
pair's numbers can be laid over them.
"""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import Any

from citer_core.cost import (
    H100_SXM,
    LLAMA31_8B,
    LLAMA31_70B,
    QWEN2_1_5B,
    QWEN2_72B,
    ModelSpec,
    mlp_router_params,
)
from citer_core.decode_settings import SETTINGS
from citer_core.gate.fields import Whole
from citer_core.ui.about_pair import about_bundled

THIS_PAIR = "This pair"

DATA_SHEET_GB_PER_S = H100_SXM.bandwidth / 1e9

DATA_SHEET_TFLOPS = H100_SXM.peak_flops / 1e12


def _price(slm: ModelSpec, llm: ModelSpec) -> dict[str, Any]:
    label = f"{slm.name} / {llm.name.rsplit('-', 1)[-1]}"
    router_params = mlp_router_params(slm.hidden_size)
    return {"label": label, "slm": asdict(slm), "llm": asdict(llm), "routerParams": router_params}


PRICES = [_price(QWEN2_1_5B, QWEN2_72B), _price(LLAMA31_8B, LLAMA31_70B)]

PRICE_NAMES = [THIS_PAIR, *(price["label"] for price in PRICES)]


def price_list() -> dict[str, Any]:
    """What `page.js` needs: the pairs, how the run's own is called, and the device unless a person says otherwise."""
    return {"pairs": PRICES, "own": THIS_PAIR, "device": asdict(H100_SXM)}


DATA_TYPE_CHOICES = [("Math", "math"), ("Multiple choice", "mc"), ("Free text", "open")]

SAMPLE_QUESTION = "Mia buys 4 pens at 12 dollars each and 3 books at 25 dollars each. How many dollars does Mia spend?"

TAU = """
<div class="cx-tau-group">
<div id="cx-histogram"></div>
<div id="cx-tau"><div class="head"><label for="cx-tau-number"><span>Threshold τ</span></label>
<input id="cx-tau-number" type="number" min="0" max="1" step="any" value="{tau}" aria-label="Threshold τ"></div>
<div class="cx-tau-track"><input type="range" min="0" max="1" step="0.01" value="{tau}" aria-label="Threshold τ"></div>
</div>
<div class="cx-tau-ends"><span>0 · all SLM</span><span>all LLM · 1</span></div>
<p class="cx-tau-note"><span>The LLM writes a token below τ.</span>
<button type="button" class="cx-quiet" id="cx-own-tau" hidden></button>
<label id="cx-look-back"><input type="checkbox"> The LLM may take tokens back</label></p>
<p id="cx-tau-said" role="status"></p>
<p id="cx-advice" hidden></p>
</div>
"""

CONTROLS = """
<div id="cx-controls"><div id="cx-problem">
<div id="cx-prompt"><label><span>Problem</span><textarea rows="3">{question}</textarea>
<span class="info-text">{about}</span></label></div>
</div><div id="cx-act">
<div id="cx-go"><button type="button" id="cx-generate">Generate</button>
<button type="button" id="cx-stop" disabled>Stop</button></div>
<p class="cx-state"><span class="cx-badge" id="cx-device" data-state="loading">Loading the models</span>
<button type="button" class="cx-quiet" id="cx-pair" aria-haspopup="dialog" hidden>Pair</button></p>
</div></div>
<p id="cx-notice" role="status"></p>
<p id="cx-outside" role="status"></p>
<div id="cx-picking">
<fieldset id="cx-type"><legend class="cx-hidden">Type</legend>{types}</fieldset>
<label id="cx-picker"><span class="cx-hidden">Or pick a problem</span></label>
<button type="button" class="cx-quiet" id="cx-another">Another one</button>
<label id="cx-answer">Expected answer
<input type="text" maxlength="1000" autocomplete="off" placeholder="optional"></label>
</div>
<details id="cx-settings"><summary>Router, decoding and price</summary><div class="cx-fields">
<div>
<label id="cx-router">Router<select></select><span class="info-text">Filled when the models are loaded</span></label>
<label class="cx-quiet" id="cx-router-file">Load a router file
<input type="file" class="cx-hidden" accept=".safetensors"></label></div>
{settings}
<label id="cx-price">Price these decisions as<select>{prices}</select>
<span class="info-text">What would the same hand-overs cost on a larger pair?</span></label>
<label>Memory bandwidth, GB/s<input id="cx-bandwidth" type="number" min="0" step="any" value="{bandwidth:g}">
<span class="info-text">H100 SXM data sheet; put your own</span></label>
<label>Peak compute, TFLOP/s<input id="cx-peak" type="number" min="0" step="any" value="{peak:g}">
<span class="info-text">Dense bfloat16, data sheet</span></label>
</div><p id="cx-price-said" role="status"></p></details>
"""


def explore(question: str, data_type: str, tau: float, cards: str = "") -> str:
    """The view Explore; `question` opens in the editor, so that it is never empty; `cards` are recorded."""
    return f"""<div id="cx-explore"><div id="cx-first"><div id="cx-hero">
<div id="cx-run"><div id="cx-viewer"><div class="cx-viewer"></div></div></div>
<div id="cx-side"><div id="cx-figures"></div>{TAU.format(tau=f"{tau:g}")}</div>
</div>
<div id="cx-presets">{cards}</div>
{_controls(question, data_type)}
</div><div id="cx-more"></div></div>"""


def _controls(question: str, data_type: str) -> str:
    types = "".join(
        f'<label><input type="radio" name="cx-type" value="{value}"{" checked" if value == data_type else ""}>'
        f"<span>{title}</span></label>"
        for title, value in DATA_TYPE_CHOICES
    )
    prices = "".join(f"<option>{escape(name)}</option>" for name in PRICE_NAMES)
    return CONTROLS.format(
        question=escape(question), about=escape(about_bundled()), types=types, prices=prices,
        settings="".join(_setting(name) for name in SETTINGS if name != "threshold"),
        bandwidth=DATA_SHEET_GB_PER_S, peak=DATA_SHEET_TFLOPS,
    )  # fmt: skip


def _setting(name: str) -> str:
    row = SETTINGS[name]
    step = row.step or (1 if isinstance(row.kind, Whole) else "any")
    return (
        f'<label>{escape(row.label)}<input type="number" data-name="{name}" min="{row.lowest:.15g}" '
        f'max="{row.kind.high:.15g}" step="{step}" value="{row.default:g}">'
        f'<span class="info-text">{escape(row.about)}</span></label>'
    )
