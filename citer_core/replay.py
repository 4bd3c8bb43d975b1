"""`replay`: what a finished run's router would have decided at another tau, what that would have cost, and how far the
text is known to stay the same.

Pure, standard library only; the mirror of `assets/run/decision.js`, and a test holds the two together.

**What is exact.** Another writer is not yet another text. Where the LLM wrote what the SLM would have written too, the
token may change hands and the text goes on as it was; so it may where the SLM wrote what the LLM would have written, as
far as that is known (a probe). Everything up to the first token that would be another one, or of which that is not
known, is exact: tokens, context, both caches' contents and therefore every confidence and the cost of every step. This
holds for sampled runs too: what either model draws at a position depends on the context, the seed and the position
alone. After that token the recorded confidences no longer apply, and what is given is hypothetical. A router whose
confidence depends on who wrote before (`RouterInfo.depends_on_writers`) is exact to its first flip only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from citer_core.cost import H100_SXM, Cost, CostModel, CostSummary, DeviceSpec
from citer_core.trace import RoutingTrace
from citer_core.types import DecodeSettings, Source, TokenEvent, prefers_llm

# Why the exact part ends: the token would be another one; it is unknown what the LLM would have written; the confidence
# that decides the token depends on who wrote the ones before; or the LLM would have looked back at another place.
Doubt = Literal["other", "unknown", "confidence", "look"]


@dataclass(frozen=True, slots=True)
class Replay:
    """A run under another tau.

    Attributes:
        threshold: that tau.
        decisions: the writer of each recorded token.
        llm_tokens_fed: new tokens in the LLM's forward at each step, catch-up included; 0 where it is not called.
        flips: indices whose writer is another one than in the run.
        n_exact: so many tokens of the text are known to come out the same; all of them where the whole text does.
        doubt: why it is not more; None where it is all of them.
        decisive: for each token, whether the LLM would write it and the SLM would have written another one; None where
            the LLM would write it and what it would write is not known.
        cost: estimated, beside either model alone.
    """

    threshold: float
    decisions: tuple[Source, ...]
    llm_tokens_fed: tuple[int, ...]
    flips: tuple[int, ...]
    n_exact: int
    doubt: Doubt | None
    decisive: tuple[bool | None, ...]
    cost: CostSummary

    @property
    def first_flip(self) -> int | None:
        """Index of the first different decision; None where every decision stays."""
        return self.flips[0] if self.flips else None

    @property
    def is_same_text(self) -> bool:
        """Whether the whole text is known to come out the same."""
        return self.doubt is None

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
            "n_exact": self.n_exact,
            "is_same_text": self.is_same_text,
            "doubt": self.doubt,
            "n_tokens": n_tokens,
            "n_llm_tokens": self.n_llm_tokens,
            "llm_token_share": self.n_llm_tokens / n_tokens if n_tokens else 0.0,
            "decisive_tokens": [index for index, is_decisive in enumerate(self.decisive) if is_decisive],
            "n_decisive_unknown": self.decisive.count(None),
            "n_hand_offs": self.n_hand_offs,
            "cost": {
                **{name: _cost_to_dict(getattr(self.cost, name)) for name in ("routed", "slm_only", "llm_only")},
                "bytes_share_of_llm_only": self.cost.bytes_share_of_llm_only,
            },
        }


def clear_first(top: Sequence[Sequence[Any]]) -> int | None:
    """The greedy token of a distribution, from its candidates `[token id, text, probability]`, best first.

    Returns:
        Its id; None where there are no candidates, or two are equally probable as far as they are written down.
    """
    if not top or (len(top) > 1 and top[0][2] == top[1][2]):
        return None
    return int(top[0][0])


def llm_tokens_of(trace: RoutingTrace, probe: Sequence[dict[str, Any]] | None = None) -> tuple[int | None, ...]:
    """What the LLM wrote or would have written at each position, in the run's own context; None where it is unknown.

    Args:
        trace: a finished run.
        probe: what both models said at every token (`ProbedToken.to_dict`), where it was probed. It tells the LLM's
            greedy token, so nothing of a run that was sampled.
    """
    is_greedy = trace.settings.temperature == 0.0
    found: list[int | None] = []
    for event in trace.events:
        if event.source == "llm" and not event.forced:
            found.append(event.token_id)
        elif probe is not None and is_greedy and event.index < len(probe):
            found.append(clear_first(probe[event.index]["llm_top"]))
        else:
            found.append(None)
    return tuple(found)


def replay(
    trace: RoutingTrace,
    threshold: float,
    device: DeviceSpec = H100_SXM,
    *,
    probe: Sequence[dict[str, Any]] | None = None,
) -> Replay:
    """Decides a finished run again.

    A forced token stays forced, and at the run's own tau everything stays as it was. The LLM's cache is replayed too,
    since what it must catch up on depends on when it was last called. A router that reads the LLM has it called at
    every token, whichever model writes.

    Args:
        trace: a run with its confidences.
        threshold: tau from 0 to 1.
        device: prices the steps.
        probe: see `llm_tokens_of`.

    Raises:
        SettingError: the threshold is no number from 0 to 1.
    """
    DecodeSettings(threshold=threshold)  # every given tau gets the same message
    llm_ids = llm_tokens_of(trace, probe)
    # A branch may have begun at another tau than it went on with: its first tokens are its own all the same.
    is_own = threshold == trace.settings.threshold
    events: list[TokenEvent] = []
    flips: list[int] = []
    decisive: list[bool | None] = []
    n_exact = trace.n_tokens
    doubt: Doubt | None = None
    llm_cached = 0
    for event, llm_id in zip(trace.events, llm_ids, strict=True):
        recorded = event.source == "llm"
        by_llm = recorded if is_own or event.is_beyond_tau else prefers_llm(event.slm_confidence, threshold)
        was_read_for_router = not recorded and event.llm_tokens_fed > 0
        is_read = by_llm or trace.router.reads_llm or was_read_for_router
        fed = event.llm_context_len - llm_cached if is_read else 0
        if is_read:
            llm_cached = event.context_len
        if doubt is None and flips and trace.router.depends_on_writers:
            n_exact, doubt = event.index, "confidence"
        if doubt is None and not is_own and _looks_elsewhere(event, threshold):
            n_exact, doubt = event.index, "look"
        if by_llm != recorded:
            flips.append(event.index)
            token_id = llm_id if by_llm else event.slm_token_id
            if doubt is None and token_id != event.token_id:
                n_exact, doubt = event.index, "unknown" if token_id is None else "other"
        written = event.token_id if by_llm == recorded else llm_id
        decisive.append((None if written is None else written != event.slm_token_id) if by_llm else False)
        events.append(replace(event, source="llm" if by_llm else "slm", llm_tokens_fed=fed))
    model = CostModel(trace.pair.slm, trace.pair.llm, device, trace.router.n_params)
    return Replay(
        threshold=float(threshold),
        decisions=tuple(event.source for event in events),
        llm_tokens_fed=tuple(event.llm_tokens_fed for event in events),
        flips=tuple(flips),
        n_exact=n_exact,
        doubt=doubt,
        decisive=tuple(decisive),
        cost=CostSummary.of(model, events),
    )


def _looks_elsewhere(event: TokenEvent, threshold: float) -> bool:
    """Whether another of the tokens that were taken back would have had the LLM called."""
    return any(
        prefers_llm(token.slm_confidence, threshold) != prefers_llm(token.slm_confidence, event.threshold)
        for token in event.discarded
    )


def _cost_to_dict(cost: Cost) -> dict[str, float]:
    body = asdict(cost)
    return {"bytes": body["n_bytes"], "flops": body["flops"], "seconds": body["seconds"]}
