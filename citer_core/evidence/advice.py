"""Which router of the bundled pair to use, and what speaks against another one: for the place where tau is offered.

python -m citer_core.evidence.advice     # writes assets/benchmarks/advice.json from the stored evidence, whose numbers
                                         # take seconds to read; a test says when that is to be done
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from citer_core.assets import ASSETS
from citer_core.errors import GateError
from citer_core.evidence.look_back import plane
from citer_core.evidence.regime import Regime
from citer_core.evidence.regimes import regimes
from citer_core.gate.json_file import read_json
from citer_core.models.same_pair import is_same_pair

FILE = ASSETS / "benchmarks" / "advice.json"
SHARES = (0.1, 0.2, 0.3)  # of LLM tokens, at which a reader may want to decode
FREE = "max-probability"
UNTRAINED = (FREE, "entropy", "margin", "bidirectional-entropy", "random", "always-slm", "always-llm")


def routers_here(pair_revision: str, assets: Path = ASSETS) -> frozenset[str]:
    """Routers that the page has for a pair of this revision: none, where another pair is bundled by now."""
    try:
        bundled = read_json(assets / "models" / "card.json")["pair_revision"]
    except (GateError, KeyError, TypeError):
        return frozenset()
    if not pair_revision or not is_same_pair(pair_revision, str(bundled)):
        return frozenset()
    return frozenset(UNTRAINED) | {path.stem for path in (assets / "routers" / "embedded").glob("*.json")}


def advice(regime: Regime, routers: Collection[str]) -> dict[str, Any]:
    """What the evidence says of the routers that the page offers.

    Args:
        regime: of the pair that is loaded.
        routers: that are offered, by name.

    Returns:
        pair_revision; `best`, the router with the most right answers over all kinds of problems and `SHARES`; `said`,
        for each trained router that the free baseline is ahead of beyond doubt somewhere, a sentence on where;
        `drafts`, one on speculative decoding beside the best router, "" where it was not measured; `plane`, both dials
        of look-back (`look_back.plane`).
    """
    measured = {str(name) for table in regime.tables.values() for name in table.router}
    trained = sorted(measured & set(routers) - set(UNTRAINED))
    best = max([*trained, FREE], key=lambda name: _mean_accuracy(regime, name))
    said = {name: words for name in trained if (words := _behind(regime, name))}
    return {
        "pair_revision": regime.pair_revision, "best": best, "said": said, "drafts": _drafts(regime, best),
        "plane": plane(regime),
    }  # fmt: skip


def _mean_accuracy(regime: Regime, router: str) -> float:
    lines = [regime.at(kind, router, share) for kind in regime.tables for share in SHARES]
    return float(np.mean([0.0 if line is None else line.accuracy for line in lines]))


def _behind(regime: Regime, router: str) -> str:
    """Where the free baseline has more right answers, with a 95% interval of the difference above 0."""
    found = {
        kind: [
            f"{share:.0%}"
            for share in SHARES
            if (difference := regime.difference(kind, FREE, router, share)) is not None and difference.low > 0
        ]
        for kind in regime.tables
    }
    where = "; ".join(f"{kind} at {' and '.join(shares)} LLM tokens" for kind, shares in found.items() if shares)
    return where and f"{FREE}, which needs no training, is ahead of {router} beyond doubt: {where}."


def _drafts(regime: Regime, best: str) -> str:
    """What either moves and gets right at a tenth of the tokens by the LLM."""
    told = []
    for kind in regime.tables:
        drafted, routed = regime.at(kind, "speculative", None), regime.at(kind, best, SHARES[0])
        if drafted is None or routed is None:
            continue
        told.append(
            f"{kind} {drafted.bytes_share:.0%} with {drafted.accuracy:.1%} right, against {routed.bytes_share:.0%} "
            f"with {routed.accuracy:.1%} for {best} at {routed.share:.0%} LLM tokens"
        )
    said = "Speculative decoding keeps the LLM's own text. Of the LLM's bytes it moves, as its passes were counted:"
    return f"{said} {'; '.join(told)}." if told else ""


def computed_advice() -> dict[str, Any]:
    """Of the bundled pair, computed anew."""
    regime = next(regime for regime in regimes() if routers_here(regime.pair_revision))
    return advice(regime, routers_here(regime.pair_revision))


if __name__ == "__main__":
    FILE.write_text(json.dumps(computed_advice(), indent=2) + "\n", encoding="utf-8")
