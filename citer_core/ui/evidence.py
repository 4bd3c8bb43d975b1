"""The stored evidence as one message for its view: points, words and questions. Imports no torch.

Everything that a person reads is computed here; the browser only draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from citer_core.assets import ASSETS
from citer_core.errors import CiterError
from citer_core.evidence.advice import routers_here
from citer_core.evidence.arena import arena_levels
from citer_core.evidence.claim import SHARE
from citer_core.evidence.claims import claims, lesson
from citer_core.evidence.regime import NEAR, Regime
from citer_core.evidence.regimes import regimes
from citer_core.models.presets import EMBEDDED, parse_pair
from citer_core.ui.messages import Message, notice
from citer_core.ui.presets import presets_to_show

SHOWN = (
    "router", "label", "settings", "seeds", "share_wanted", "tau", "share", "n", "right", "accuracy", "low", "high",
    "bytes_share", "gb", "tflop", "seconds", "seconds_alone",
)  # fmt: skip


@cache
def _content() -> Mapping[str, Any]:
    known = list(regimes())
    return {
        "regimes": [_regime(regime) for regime in known],
        "lesson": asdict(taught) if (taught := lesson(known)) else None,
        "arena": arena_levels(known),
        "claims": [asdict(claim) for claim in claims(known=known)],
        # The first example of each kind, which the pair answers with most numbers that a person may put in.
        "problems": {
            preset.data_type: preset.question
            for preset in reversed(presets_to_show(ASSETS / "traces"))
            if preset.pair == parse_pair(EMBEDDED).name
        },
    }


def evidence_message() -> Message:
    """The whole view; or what is wrong with a stored file."""
    try:
        return {"evidence": _content()}
    except CiterError as error:
        return notice(str(error))


def _regime(regime: Regime) -> dict[str, Any]:
    opens = routers_here(regime.pair_revision)
    return {
        "name": regime.name,
        "pair_revision": regime.pair_revision,
        "title": regime.title,
        "note": regime.note,
        "provenance": f"Measured {regime.date} on {regime.hardware} with `{regime.command}`",
        "kinds": {
            kind: {
                **dict(zip(("lead", "more"), lead(regime, kind), strict=True)),
                "best": next(iter(_at_share(regime, kind).label), ""),
                "points": [
                    {name: _plain(line[name]) for name in SHOWN} | {"opens": line["router"] in opens}
                    for _, line in table.iterrows()
                ],
            }
            for kind, table in regime.tables.items()
        },
    }


def lead(regime: Regime, kind: str) -> tuple[str, str]:
    """Who is ahead at a tenth of the tokens, in one sentence, the free baseline first where it is not behind.

    Returns:
        The sentence, and more to know with it.
    """
    best = _at_share(regime, kind)
    free, once, twice = (best[best.router == name].head(1) for name in ("max-probability", "citer", "citer-2"))
    if best.empty or free.empty or once.empty:
        return f"No two routers were measured at {SHARE:.0%} LLM tokens here.", ""
    first, baseline, ours = best.iloc[0], free.iloc[0], once.iloc[0]
    rounds = f" after one round and {twice.iloc[0].accuracy:.1%} after two" if len(twice) else ""
    known = max([baseline.accuracy, ours.accuracy, *twice.accuracy])
    top = f"Best is “{first.label}” with {first.accuracy:.1%}. " if first.accuracy > known else ""
    held = [baseline, ours, *(line for _, line in twice.iterrows()), *([first] if top else [])]
    shares = ", ".join(f"{line.label} {line.share:.1%}" for line in held)
    more = f"{top}{ours.n:,} problems each. LLM tokens that came: {shares}.{_of_drafts(regime, kind)}"
    if baseline.accuracy == known:
        return (
            f"At about {SHARE:.0%} LLM tokens max-probability, which needs no training, {_standing(regime, kind)}: "
            f"{baseline.accuracy:.1%} right against {ours.accuracy:.1%} for CITER{rounds}.",
            more,
        )
    return (
        f"At about {SHARE:.0%} LLM tokens CITER has {ours.accuracy:.1%} right{rounds}; max-probability, which needs no "
        f"training, has {baseline.accuracy:.1%}.",
        more,
    )


def _at_share(regime: Regime, kind: str) -> pd.DataFrame:
    """Points at a tenth of the tokens, the best first; not those of oracles."""
    table = regime.tables[kind]
    wanted = np.isclose(table.share_wanted, SHARE) & (abs(table.share - SHARE) <= NEAR)
    near = table[wanted & ~table.router.isin(("disagreement", "decisive"))]
    return near.sort_values("accuracy", ascending=False)


def _standing(regime: Regime, kind: str) -> str:
    """How surely max-probability is ahead of the best round of CITER, if it is."""
    found = [regime.difference(kind, "max-probability", name, SHARE) for name in ("citer", "citer-2")]
    least = min((one for one in found if one is not None), key=lambda difference: difference.mean)
    if least.mean == 0:
        return "is level"
    return "is ahead" if least.low > 0 else "is ahead, but not beyond doubt"


def _of_drafts(regime: Regime, kind: str) -> str:
    """A sentence on speculative decoding, where it is stored."""
    drafted, ours = (regime.at(kind, name, share) for name, share in (("speculative", None), ("citer-2", SHARE)))
    if drafted is None or ours is None:
        return ""
    return (
        f" Speculative decoding, whose text is the LLM's own, has {drafted.accuracy:.1%} right and moves "
        f"{drafted.bytes_share:.0%} of the LLM's bytes; CITER after two rounds moves {ours.bytes_share:.0%}."
    )


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, and what was not measured as nothing."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return None if math.isnan(value) else value  # all digits: a rounded tau may decide otherwise
    return value
