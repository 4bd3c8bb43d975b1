"""From a share of LLM tokens to the tau that gives it, on the texts that the pair itself writes under that tau."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from citer_core.engine import Engine
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings

TOLERANCE = 0.01  # of a share: near enough to stop
MAX_PASSES = 5


@dataclass(frozen=True, slots=True)
class FoundTau:
    """A tau, and the share of LLM tokens that it gave to the problems it was found on, in `n_passes` over them."""

    threshold: float
    share: float
    n_passes: int


def tau_for_share(
    engine: Engine,
    problems: Sequence[Problem],
    share: float,
    *,
    router: str | None,
    settings: DecodeSettings,
    batch_size: int = 16,
) -> FoundTau:
    """Decodes the problems until a tau gives about `share` of their tokens to the LLM; takes any router.

    Each pass says how the confidences are spread over the text that its tau wrote, and the next tau is the one below
    which `share` of them lie. Another text has other confidences, so the nearest of a few passes is taken. A router
    whose confidences are few different numbers may come nowhere near.

    Args:
        engine: pair and routers.
        problems: at least one, in the format that tau is wanted for.
        share: of all their tokens, 0 to 1; 0 and 1 are known without decoding.
        router: by name; None takes the default, whose tau is the first that is tried.
        settings: of decoding; their own threshold does not matter.
        batch_size: problems per forward pass.

    Raises:
        RouterError: there is no such router.
        PromptError: a prompt is too long.
    """
    if share in (0, 1):
        return FoundTau(float(share), float(share), 0)
    best: FoundTau | None = None
    threshold = engine.default_threshold(router)
    for n_passes in range(1, MAX_PASSES + 1):
        wanted = replace(settings, threshold=threshold)
        runs = engine.run_batch(problems, router=router, settings=wanted, batch_size=batch_size)
        events = [event for _, trace in runs for event in trace.events]
        found = sum(event.source == "llm" for event in events) / max(1, len(events))
        if best is None or abs(found - share) < abs(best.share - share):
            best = FoundTau(threshold, found, n_passes)
        following = _below_which(sorted(event.slm_confidence for event in events), share)
        if abs(found - share) <= TOLERANCE or following == threshold:
            break
        threshold = following
    assert best is not None
    return replace(best, n_passes=n_passes)


def _below_which(confidences: Sequence[float], share: float) -> float:
    """The tau with `share` of sorted confidences below it, as far from both its neighbours as it can be."""
    place = round(share * len(confidences))
    low = confidences[place - 1] if place else 0.0
    return (low + confidences[place]) / 2 if place < len(confidences) else 1.0
