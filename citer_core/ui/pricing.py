"""The pairs and the device that a run can be priced for, as the JSON that the viewer's cost model reads.

Re-pricing happens in the browser: a trace holds decisions, and any pair's numbers can be laid over them.
"""

from __future__ import annotations

from dataclasses import asdict
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
