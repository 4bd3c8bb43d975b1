"""`replay`: what a finished run's router would have decided at another tau, and what that would have cost.

Pure, standard library only; the mirror of `assets/viewer/decision.js`, and a test holds the two together. Exact up to
the first different decision. After it the recorded confidences no longer apply, because the text would be another one:
what is given for it is hypothetical.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from citer_core.cost import H100_SXM, Cost, CostModel, CostSummary, DeviceSpec
from citer_core.trace import RoutingTrace
from citer_core.types import DecodeSettings, Source, TokenEvent, prefers_llm


@dataclass(frozen=True, slots=True)
class Replay:
    """A run under another tau.

    Attributes:
        threshold: that tau.
        decisions: the writer of each recorded token.
        llm_tokens_fed: new tokens in the LLM's forward at each step, catch-up included; 0 where it is not called.
        flips: indices whose writer is another one than in the run.
        cost: estimated, beside either model alone.
    """

    threshold: float
    decisions: tuple[Source, ...]
    llm_tokens_fed: tuple[int, ...]
    flips: tuple[int, ...]
    cost: CostSummary

    @property
    def first_flip(self) -> int | None:
        """Index of the first different decision; None where the text would not change."""
        return self.flips[0] if self.flips else None

    @property
    def n_llm_tokens(self) -> int:
        """Tokens that the LLM would write."""
        return self.decisions.count("llm")

    @property
    def n_hand_offs(self) -> int:
        """How often the writer changes from one token to the next."""
        return sum(a != b for a, b in pairwise(self.decisions))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: decisions, counters and cost; `first_flip` is null where every decision stays."""
        n_tokens = len(self.decisions)
        return {
            "threshold": self.threshold,
            "decisions": list(self.decisions),
            "llm_tokens_fed": list(self.llm_tokens_fed),
            "first_flip": self.first_flip,
            "n_flips": len(self.flips),
            "n_tokens": n_tokens,
            "n_llm_tokens": self.n_llm_tokens,
            "llm_token_share": self.n_llm_tokens / n_tokens if n_tokens else 0.0,
            "n_hand_offs": self.n_hand_offs,
            "cost": {
                **{name: _cost_to_dict(getattr(self.cost, name)) for name in ("routed", "slm_only", "llm_only")},
                "bytes_share_of_llm_only": self.cost.bytes_share_of_llm_only,
            },
        }


def is_forced(event: TokenEvent) -> bool:
    """Did something other than the rule choose this writer, a person who flipped the token?"""
    return (event.source == "llm") != prefers_llm(event.slm_confidence, event.threshold)


def replay(trace: RoutingTrace, threshold: float, device: DeviceSpec = H100_SXM) -> Replay:
    """Decides a finished run again.

    A forced token stays forced. The LLM's cache is replayed too, since what it must catch up on depends on when it was
    last called.

    Args:
        trace: a run with its confidences.
        threshold: tau from 0 to 1.
        device: prices the steps.

    Raises:
        SettingError: the threshold is no number from 0 to 1.
    """
    DecodeSettings(threshold=threshold)  # whoever gives a tau gets the same message about it
    events: list[TokenEvent] = []
    flips: list[int] = []
    llm_cached = 0
    for event in trace.events:
        recorded = event.source == "llm"
        by_llm = recorded if is_forced(event) else prefers_llm(event.slm_confidence, threshold)
        fed = event.context_len - llm_cached if by_llm else 0
        if by_llm:
            llm_cached = event.context_len
        if by_llm != recorded:
            flips.append(event.index)
        events.append(replace(event, source="llm" if by_llm else "slm", llm_tokens_fed=fed))
    model = CostModel(trace.pair.slm, trace.pair.llm, device, trace.router.n_params)
    return Replay(
        threshold=float(threshold),
        decisions=tuple(event.source for event in events),
        llm_tokens_fed=tuple(event.llm_tokens_fed for event in events),
        flips=tuple(flips),
        cost=CostSummary.of(model, events),
    )


def _cost_to_dict(cost: Cost) -> dict[str, float]:
    body = asdict(cost)
    return {"bytes": body["n_bytes"], "flops": body["flops"], "seconds": body["seconds"]}
