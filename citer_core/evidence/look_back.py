"""Look-back: which of its points are measured, and what they say beside the LLM alone and speculative decoding.

Callers say when the LLM looks, each at three strictnesses; the grid has both dials of one caller, on fewer problems,
for the page's plane. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from citer_core.cost import ModelSpec
from citer_core.decode_settings import LOOKING_BACK, MAX_NEW_TOKENS, Others
from citer_core.evaluation.metrics import unpack
from citer_core.evidence.claim import Claim, Finding, Stored, cost_figures
from citer_core.evidence.regime import ALONE, Difference, Regime
from citer_core.evidence.stored import StoredPart
from citer_core.workload import Workload

BUDGET, USUAL_RATIO, FINAL = (LOOKING_BACK[name] for name in ("doubt_budget", "take_back", "final_doubt"))
RATIOS = (0.1, USUAL_RATIO, 0.4)
CALLER = "citer-outcome"
LABEL = "Look-back"
UNSURE = "max-probability"
# Who calls, and the settings that say when, beside those of the strictness.
CALLERS: tuple[tuple[str, str, dict[str, float]], ...] = (
    (CALLER, "doubts of outcome labels", {"doubt_budget": BUDGET, "final_doubt": FINAL}),
    (UNSURE, "doubts of max-probability", {"doubt_budget": 3.0}),
    (UNSURE, "every 30 tokens", {"look_every": 30}),
    (UNSURE, "at the end", {}),
)
BILD, BILD_TAUS, BILD_LEAST = "BiLD", (0.4, 0.6, 0.9), (0.003, 0.05, 0.3)
CASCADE, CASCADE_DRAFT, CASCADE_RATIOS = "Speculative cascade", 5, (0.05, 0.3, 0.7)
GRID_BUDGETS = (0.0, 3.0, 1.5, 0.7, BUDGET, 0.15, 0.05)  # 0: only at the end
GRID_RATIOS = (0.0, 0.02, 0.1, USUAL_RATIO, 0.4, 0.7, 1.0)


class Way(NamedTuple):
    """A point that is measured; at tau 0 nothing but these settings calls the LLM."""

    router: str
    label: str
    others: Others
    tau: float = 0.0


def ways(ratios: Sequence[float] = RATIOS) -> list[Way]:
    """Every caller at every strictness."""
    return [
        Way(router, f"{LABEL}: {when}", tuple(sorted({**settings, "take_back": ratio}.items())))
        for router, when, settings in CALLERS
        for ratio in ratios
    ]


def rules() -> list[Way]:
    """Published rules of taking back, at strictnesses of their own.

    BiLD (arXiv 2302.07863): the SLM's probability calls the LLM, the LLM's decides what goes. A speculative cascade
    (2405.19261) with the rule of the token, "TokenV3", at drafts of five tokens; its drafts are read to the end.
    """
    bild = {"take_back_absolute": 1, "final_doubt": MAX_NEW_TOKENS}
    return [
        Way(UNSURE, BILD, tuple(sorted({**bild, "take_back": least}.items())), tau)
        for tau in BILD_TAUS
        for least in BILD_LEAST
    ] + [
        Way(UNSURE, CASCADE, tuple(sorted({"look_every": CASCADE_DRAFT, "take_back": ratio}.items())))
        for ratio in CASCADE_RATIOS
    ]


def grid() -> list[Way]:
    """Both dials, row by row: of each budget every ratio."""
    return [
        Way(CALLER, "", tuple(sorted({"doubt_budget": budget, "final_doubt": FINAL, "take_back": ratio}.items())))
        for budget in GRID_BUDGETS
        for ratio in GRID_RATIOS
    ]


def plane(regime: Regime) -> dict[str, Any] | None:
    """What the page's plane of both dials shows; None where it was not measured.

    Args:
        regime: a set.

    Returns:
        router, final_doubt, budgets, ratios; `points` of each format: n, `grid` [budget][ratio] of (right answers,
        bytes a token), and `alone`, the same of either model and of speculative decoding on these problems.
    """
    if not {"look_back", "speculative"} <= regime.parts.keys():
        return None
    part, points = regime.parts["look_back"], {}
    for kind, entry in part.content.items():
        n, width = entry["n_grid"], len(GRID_RATIOS)
        cells = [_cell(part, one, n) for one in entry["grid"]]
        by_router = {one["router"]: one for one in regime.parts["accuracy"].content[kind]["points"]}
        alone = {"slm": by_router["always-slm"], "llm": by_router["always-llm"]}
        alone["speculative"] = regime.parts["speculative"].content[kind] | {"router": "speculative", "n_params": 0}
        points[kind] = {
            "n": n,
            "grid": [cells[i : i + width] for i in range(0, len(cells), width)],
            "alone": {name: _cell(part, one, n) for name, one in alone.items()},
        }
    return {
        "router": CALLER, "final_doubt": FINAL, "budgets": [*GRID_BUDGETS], "ratios": [*GRID_RATIOS], "points": points,
    }  # fmt: skip


def _cell(part: StoredPart, point: Mapping[str, Any], n: int) -> list[int]:
    """Right answers to the first n problems, and bytes a token."""
    right = unpack(point["right"], 4 * len(point["right"]))[:n]  # whole bytes, of which the first n count
    return [int(right.sum()), round(_bytes(part, point) / point["work"]["n_tokens"])]


def _bytes(part: StoredPart, point: Mapping[str, Any]) -> float:
    """Of all answers; of a model alone its own passes."""
    slm, llm, work = ModelSpec(**part.slm), ModelSpec(**part.llm), Workload.read(point["work"])
    if point["router"] in ALONE:
        return work.alone.n_bytes(slm if point["router"] == "always-slm" else llm)
    return work.price(slm, llm, point["n_params"]).n_bytes


def looked_back(stored: Stored) -> Claim:
    """How near look-back comes to the LLM's right answers, and what it moves for that."""
    regime, part = stored.parts["look_back"]
    words, drawn, is_behind, is_cheaper = list[str](), list[tuple[str, str, Any]](), list[bool](), list[bool]()
    for kind, entry in part.content.items():
        found = (regime.at(kind, router, None) for router in ("always-slm", "speculative", "always-llm"))
        slm, *drafts, llm = [line for line in found if line is not None]
        lines = [line_of(regime, kind, way) for way in ways((USUAL_RATIO,))]
        drawn += [(kind, str(line.label), line) for line in (slm, *lines, *drafts, llm)]
        ours, point = lines[0], entry["points"][ways().index(ways((USUAL_RATIO,))[0])]
        passes = point["work"]["llm"]["n_passes"] / point["n_tokens"]
        less = Difference.paired(regime.bits[kind, int(ours.name)], regime.bits[kind, int(llm.name)])
        beside = "".join(f" and {ours.gb / line.gb:.0%} of those of speculative decoding" for line in drafts)
        words.append(
            f"{kind} {ours.accuracy:.1%} right, {less} beside the LLM alone, with {passes:.1%} LLM passes a kept "
            f"token, {ours.bytes_share:.0%} of its bytes{beside}"
        )
        is_behind.append(less.high < 0)
        is_cheaper += [ours.gb < line.gb for line in drafts]
    near = "loses right answers beside the LLM" if any(is_behind) else "is not measurably behind the LLM"
    price = "for fewer bytes than speculative decoding" if all(is_cheaper) else "but moves no fewer bytes than drafts"
    said = Finding(tuple(words), regime.title)
    return Claim(said, f"Look-back {near}, {price}.", part.command, cost_figures(drawn))


def line_of(regime: Regime, kind: str, way: Way) -> pd.Series:
    """A point in the regime's table."""
    return next(
        line
        for _, line in regime.tables[kind].iterrows()
        if (line.router, line.settings) == (way.router, dict(way.others))
    )
