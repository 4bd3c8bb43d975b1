"""`Router`: a score and nothing else, and what it may look at.

Who writes the token is decided in one place, `citer_core.types.prefers_llm`. A new router is one class in one module of
`citer_core/routing/routers/`; command line, page and benchmarks find it there. Knows nothing about the decode loop.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from citer_core.models.greedy import row_parts, top_tokens

STATISTICS = ("max_probability", "margin", "entropy")  # of the SLM's distribution, that stored positions keep


@dataclass(frozen=True)
class RouterFeatures:
    """What a router may look at: B positions, one of each of B sequences while decoding, any in teacher forcing.

    Attributes:
        hidden: [B, H], the SLM's last hidden state at the last position.
        logits: [B, V], the SLM's logits that were read from it.
        prompt_hidden: [B, H], the SLM's state at the last token of the prompt; None takes `hidden` for it.
        sequence_key: [B] int64, a hash of each sequence's prompt, for routers that draw random numbers; None is zeros.
        position: [B] int64, tokens written before this one; None is zeros.
        llm_entropy: [B] float32, entropy in nats of the LLM's distribution at the token before, NaN where the LLM did
            not write it; None is all NaN.
        llm_logits: [B, V], the LLM's logits here; only given to routers with `reads_llm`.
    """

    hidden: Tensor
    logits: Tensor
    prompt_hidden: Tensor | None = None
    sequence_key: Tensor | None = None
    position: Tensor | None = None
    llm_entropy: Tensor | None = None
    llm_logits: Tensor | None = None

    @classmethod
    def from_statistics(
        cls, hidden: Tensor, statistics: Iterable[Tensor], **of_sequence: Tensor | None
    ) -> RouterFeatures:
        """Features of stored positions, whose logits were not kept.

        Args:
            hidden: [B, H].
            statistics: [B] float32 for each of `STATISTICS`.
            of_sequence: what else there is.
        """
        features = cls(hidden, hidden.new_empty(len(hidden), 0), **of_sequence)
        vars(features).update(zip(STATISTICS, statistics, strict=True))  # where `cached_property` looks first
        return features

    def take(self, rows: Tensor) -> RouterFeatures:
        """Some of the positions of features made `from_statistics`, by an [n] index."""
        taken = copy.copy(self)
        vars(taken).update({name: values[rows] for name, values in vars(self).items() if values is not None})
        return taken

    @cached_property
    def log_probs(self) -> Tensor:
        """[B, V] float32, log-probabilities of the next token; computed once, and only if needed."""
        return torch.log_softmax(self.logits.float(), dim=-1)

    @cached_property
    def max_probability(self) -> Tensor:
        """[B] float32, of the SLM's greedy token."""
        return self.log_probs.amax(-1).exp() if self._by_part is None else self._by_part[0]

    @cached_property
    def margin(self) -> Tensor:
        """[B] float32, probability of the SLM's first choice less that of its second."""
        return margin_of(self.log_probs) if self._by_part is None else self._by_part[1]

    @cached_property
    def entropy(self) -> Tensor:
        """[B] float32, of the SLM's next-token distribution, in nats."""
        return entropy_of(self.log_probs) if self._by_part is None else self._by_part[2]

    @cached_property
    def _by_part(self) -> tuple[Tensor, ...] | None:
        """The three of many logits, without their log-probabilities; None where those are few."""
        parts = row_parts(self.logits)
        if len(parts) == 1:
            return None
        few = [RouterFeatures(part, part) for part in parts]
        return tuple(torch.cat(of) for of in zip(*((f.max_probability, f.margin, f.entropy) for f in few), strict=True))


def margin_of(log_probs: Tensor) -> Tensor:
    """Probability of the first choice less that of the second, of [B, V] float32 log-probabilities."""
    two = top_tokens(log_probs, 2)[0].exp()
    return two[:, 0] - two[:, 1]


def entropy_of(log_probs: Tensor) -> Tensor:
    """Entropy in nats over the last dimension of float32 log-probabilities."""
    return -log_probs.exp().mul_(log_probs).nan_to_num_(0.0).sum(-1)


def entropy_of_logits(logits: Tensor) -> Tensor:
    """[B] float32, entropy in nats of each of [B, V] logits."""
    return torch.cat([entropy_of(torch.log_softmax(part.float(), dim=-1)) for part in row_parts(logits)])


class Router(ABC):
    """Scores positions.

    Attributes:
        name: key in the registry, as the command line and the page spell it.
        label: for people.
        revision: hash of its weights, or "" where it has none.
        n_params: parameters read at every step.
        uses_llm_entropy: reads `RouterFeatures.llm_entropy`, which is only computed then.
        uses_sequence: reads `prompt_hidden`, `sequence_key` or `position`; they are not prepared for a router that says
            that it does not.
        is_static: computes the same operations on tensors each time, and asks them nothing in between, so that it may
            become part of a CUDA graph. One that does not say so is called anew at each token.
        reads_llm: needs the LLM's logits at every position. The LLM is then run for every token, and that is counted.
        default_threshold: a tau to start from.
        slm_prior: how often the SLM is to be preferred, in [0, 1]; the confidence is as if it were every second time.
        order: place in lists, the lowest first.
    """

    name: str
    label: str
    revision: str = ""
    n_params: int = 0
    uses_llm_entropy: bool = False
    uses_sequence: bool = True
    is_static: bool = False
    reads_llm: bool = False
    default_threshold: float = 0.7
    slm_prior: float = 0.5
    order: int = 0

    @abstractmethod
    def confidence(self, features: RouterFeatures) -> Tensor:
        """[B] float32 in [0, 1]: how surely the SLM is to be preferred at each position."""

    def doubt(self, confidence: float) -> float:
        """How much a token of the SLM adds to what a doubt budget counts, in [0, 1]: how probably the LLM is to be
        preferred, the prior put back in.
        """
        by_llm, by_slm = (1.0 - confidence) * (1.0 - self.slm_prior), confidence * self.slm_prior
        return by_llm / (by_llm + by_slm) if by_llm + by_slm else 0.0
