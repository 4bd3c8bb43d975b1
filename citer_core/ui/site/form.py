"""The controls as plain elements, with the ids that the page's script looks for. Knows settings, not the document."""

from __future__ import annotations

from citer_core.decode_settings import SETTINGS
from citer_core.gate.fields import Whole
from citer_core.ui.controls import DATA_TYPE_CHOICES, about_bundled
from citer_core.ui.markup import literal
from citer_core.ui.pricing import DATA_SHEET_GB_PER_S, DATA_SHEET_TFLOPS, PRICE_NAMES

TAU = """
<div class="cx-tau-group"><div class="styler">
<div id="cx-histogram"></div>
<div id="cx-tau" class="block"><div class="wrap"><div class="head">
<label for="cx-tau-number"><span>Threshold τ</span></label>
<div class="tab-like-container"><input id="cx-tau-number" type="number" min="0" max="1" step="0.01" value="{tau}"></div>
</div><div class="slider_input_container">
<input type="range" min="0" max="1" step="0.01" value="{tau}" aria-label="Threshold τ">
</div></div></div>
<div class="cx-tau-ends"><span>0 · all SLM</span><span>all LLM · 1</span></div>
<p class="cx-tau-note"><span>The LLM writes a token below τ.</span>
<button type="button" class="cx-quiet" id="cx-own-tau" hidden></button></p>
<p id="cx-tau-said" role="status"></p>
</div></div>
"""
CONTROLS = """
<div id="cx-controls" class="row"><div id="cx-problem">
<div id="cx-prompt"><label><span>Problem</span><textarea rows="3">{question}</textarea>
<span class="info-text">{about}</span></label></div>
</div><div id="cx-act">
<div id="cx-go" class="row"><button type="button" class="primary" id="cx-generate">Generate</button>
<button type="button" id="cx-stop">Stop</button></div>
<p class="cx-state"><span class="cx-badge" id="cx-device" data-state="loading">Loading</span></p>
</div></div>
<p id="cx-notice" role="status"></p>
<p id="cx-outside" role="status"></p>
<div id="cx-picking" class="row">
<fieldset id="cx-type"><legend class="cx-hidden">Type</legend><div class="wrap">{types}</div></fieldset>
<label id="cx-picker"><span class="cx-hidden">A bundled problem</span>
<select><option value="">Or pick a problem</option></select></label>
<button type="button" class="cx-quiet" id="cx-another">Another one</button>
</div>
<details id="cx-settings"><summary>Router, decoding and price</summary><div class="cx-site-fields">
<label id="cx-router">Router<select></select></label>{settings}
<label id="cx-price">Price these decisions as<select>{prices}</select></label>
<label>Memory bandwidth, GB/s<input id="cx-bandwidth" type="number" min="0" step="any" value="{bandwidth:g}"></label>
<label>Peak compute, TFLOP/s<input id="cx-peak" type="number" min="0" step="any" value="{peak:g}"></label>
</div></details>
"""


def tau_block(tau: float) -> str:
    """The threshold with the run's histogram above its track."""
    return TAU.format(tau=f"{tau:g}")


def controls(question: str, data_type: str) -> str:
    """The others; `question` opens in the editor."""
    types = "".join(
        f'<label><input type="radio" name="cx-type" value="{value}"{" checked" if value == data_type else ""}>'
        f"<span>{title}</span></label>"
        for title, value in DATA_TYPE_CHOICES
    )
    prices = "".join(f"<option>{literal(name)}</option>" for name in PRICE_NAMES)
    return CONTROLS.format(
        question=literal(question), about=literal(about_bundled()), types=types, prices=prices,
        settings="".join(_setting(name) for name in SETTINGS if name != "threshold"),
        bandwidth=DATA_SHEET_GB_PER_S, peak=DATA_SHEET_TFLOPS,
    )  # fmt: skip


def _setting(name: str) -> str:
    row = SETTINGS[name]
    step = row.step or (1 if isinstance(row.kind, Whole) else "any")
    return (
        f'<label>{literal(row.label)}<input type="number" data-name="{name}" min="{row.lowest:g}" '
        f'max="{row.kind.high:.0f}" step="{step}" value="{row.default:g}"></label>'
    )
