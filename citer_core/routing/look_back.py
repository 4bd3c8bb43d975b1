"""When the LLM looks at what the SLM wrote, and what of it it takes back: each rule one small class.

The LLM reads all that was written since its last call anyway; what it says at each of these positions comes with that
pass. Prior art: BiLD (arXiv 2302.07863) takes back where the models' distributions are far apart, judge decoding
(2501.19309) and AutoJudge (2504.20039) where a trained judge says so, lenient speculative decoding (2405.19261) by the
ratio of probabilities that `Ratio` uses. Knows nothing about sequences and caches. Called by `decoder`.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from citer_core.types import DecodeSettings, Judged, prefers_llm


@dataclass(slots=True)
class Span:
    """What the LLM says in place of n tokens in a row that the SLM wrote or would write.

    Attributes:
        log_probs: [n], what it gives each of them, in nats.
        chosen_ids: [n], what it would write in place of each; drawn with the same random number where a run is sampled.
        chosen_log_probs: [n], what it gives these.
        logits: [n, V], of the same places; None where it is on a server.
        tops: [n], (token id, log-probability) of its most probable tokens, best first; on a server only.
    """

    log_probs: list[float]
    chosen_ids: list[int]
    chosen_log_probs: list[float]
    logits: Tensor | None = None
    tops: Sequence[list[tuple[int, float]]] = ()

    @property
    def is_sound(self) -> bool:
        """Whether all of them are numbers."""
        return not any(map(math.isnan, itertools.chain(self.log_probs, self.chosen_log_probs)))

    def judged(self) -> list[Judged]:
        """As events tell it, rounded to six digits."""
        both = zip(self.log_probs, self.chosen_log_probs, strict=True)
        return [Judged(round(math.exp(token), 6), round(math.exp(own), 6)) for token, own in both]

    def __add__(self, after: Span) -> Span:
        logits = None if self.logits is None or after.logits is None else torch.cat((self.logits, after.logits))
        return Span(
            self.log_probs + after.log_probs,
            self.chosen_ids + after.chosen_ids,
            self.chosen_log_probs + after.chosen_log_probs,
            logits,
        )


class TakeBack(ABC):
    """What the LLM finds a mistake."""

    @abstractmethod
    def first_mistake(self, token_ids: list[int], confidences: list[float], span: Span) -> int | None:
        """The place of the first token to take back; None keeps all.

        Args:
            token_ids: [n], the SLM's tokens.
            confidences: [n], of the router, in [0, 1].
            span: what the LLM says of them.
        """


@dataclass(frozen=True, slots=True)
class Ratio(TakeBack):
    """A token less probable to the LLM than this share of what it would write itself.

    Without a router, and looking every few tokens, these are the speculative cascades whose rule is of the token
    (arXiv 2405.19261, "TokenV3", greedy).

    Attributes:
        ratio: in (0, 1]. At 1 any other token than the LLM's own, so that the text is what the LLM alone writes: greedy
            or sampled, since both models draw with one random number for a position.
        below: only a token that the router would give to the LLM at this tau, in [0, 1].
        is_absolute: less probable than the share itself: BiLD's distance (arXiv 2302.07863), -log p, and its bound.
    """

    ratio: float
    below: float = 1.0
    is_absolute: bool = False

    def first_mistake(self, token_ids: list[int], confidences: list[float], span: Span) -> int | None:
        """See `TakeBack`."""
        least = math.log(self.ratio)
        for place, (token_id, confidence) in enumerate(zip(token_ids, confidences, strict=True)):
            if token_id == span.chosen_ids[place] or not prefers_llm(confidence, self.below):
                continue
            of_own = 0.0 if self.is_absolute else span.chosen_log_probs[place]
            if self.ratio >= 1.0 or span.log_probs[place] < least + of_own:
                return place
        return None


def rule_of(settings: DecodeSettings) -> TakeBack | None:
    """What a run takes back; None where nothing is."""
    if settings.take_back == 0.0:
        return None
    return Ratio(settings.take_back, settings.take_back_below, bool(settings.take_back_absolute))


def wants_look(settings: DecodeSettings, confidence: float, doubts: float, n_since: int) -> bool:
    """Is the LLM called before the next token?

    Args:
        settings: of the run.
        confidence: the router's, at that token.
        doubts: of the router since the last call, this token's included.
        n_since: tokens since the last call.
    """
    return (
        prefers_llm(confidence, settings.threshold)
        or 0.0 < settings.doubt_budget < doubts
        or 0 < settings.look_every <= n_since
    )
