"""A profile as one message for its tab: words, tables, and what the two charts draw. Imports no torch.

Everything that a person reads is computed here; the browser only draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from citer_core.browser_pair import stored_advice
from citer_core.measuring.crossing import measured_crossing
from citer_core.measuring.profile_numbers import Profile
from citer_core.measuring.profile_words import big_numbers, headline, provenance, sentences, tables
from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.ui.streaming import Message

Kind = Literal["recorded", "live"]
SHARES = tuple(n / 40 for n in range(41))
ROUTER_BYTES_PER_PARAM = 4


def profile_message(profile: Profile, kind: Kind, more: Sequence[str] = ()) -> Message:
    """The whole panel; `more` are sentences to be said beside its own."""
    return {
        "profile": {
            "kind": kind,
            "pair": profile.pair,
            "headline": headline(profile),
            "numbers": [asdict(number) for number in big_numbers(profile)],
            "provenance": provenance(profile),
            "sentences": [*sentences(profile), *_drafts(profile.pair), *more],
            "tables": [asdict(table) for table in tables(profile)],
            "shares": _share_chart(profile),
            "passes": _pass_chart(profile),
        }
    }


def _drafts(pair: str) -> list[str]:
    """What else reads the large model less often, where that was measured on this pair."""
    advice = stored_advice() if pair == PRESETS[EMBEDDED].title else None
    return [advice["drafts"]] if advice and advice["drafts"] else []


def progress_message(done: float, doing: str) -> Message:
    """How far a measurement is, `done` of 1."""
    return {"progress": {"done": done, "doing": doing}}


def _share_chart(profile: Profile) -> dict[str, Any]:
    """Cost of a routed token of that of the LLM alone, over the share of LLM tokens; above 1 routing loses."""
    costs, even, crossing = profile.costs, profile.break_even, measured_crossing(profile.check)
    context, router_bytes = even.n_context, profile.router.n_params * ROUTER_BYTES_PER_PARAM
    paid = (profile.slm.pass_bytes + router_bytes) / profile.llm.pass_bytes
    alone = costs.llm_only_s(context)
    return {
        "share": SHARES,
        "time": [costs.routed_s(share, context) / alone for share in SHARES],
        "bytes": [paid + share for share in SHARES],
        "break_even": {"time": even.time, "bytes": even.bytes},
        "crossing": None if crossing is None or crossing.at is None else asdict(crossing),
        "measured": [
            {"share": row.llm_share, "time": row.measured_of_llm_alone}
            for row in profile.check
            if row.llm_share is not None
        ],
    }


def _pass_chart(profile: Profile) -> list[dict[str, Any]]:
    """Measured milliseconds of a pass over the tokens that it feeds, and the fitted line, per model."""
    context = profile.break_even.n_context
    series = []
    for name, model in (("SLM", profile.slm), ("LLM", profile.llm)):
        passes = [row for row in model.passes if row.n_cached == context]
        n_new = [row.n_new for row in passes]
        series.append(
            {
                "name": name,
                "n_new": n_new,
                "measured_ms": [1000 * row.seconds for row in passes],
                "fitted_ms": [1000 * model.fit.seconds(n, context) for n in n_new],
                "n_context": context,
            }
        )
    return series
