"""`TokenReadout`: what the host is to know of one position, computed where the model is and left in one mailbox.

Token, candidates and the router's score of the position become part of the model's captured pass, so that a decision
takes one graph and one wait. What is asked differs from pass to pass by numbers alone, which are sent with the tokens.
Knows nothing about who is asked. Made by `replayed`.
"""

from __future__ import annotations

import math
import struct

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens
from citer_core.models.mailbox import Arrived, Mailbox
from citer_core.models.seat import Seat
from citer_core.routing.candidates import TOP_K
from citer_core.routing.router import Router, RouterFeatures, entropy_of
from citer_core.routing.sampling import token_at, uniform_at
from citer_core.routing.top_tokens import top_tokens
from citer_core.types import DecodeSettings


class TokenReadout:
    """Reads a seat's logits and hidden state.

    Args:
        seat: whose they are; not kept.
        is_sampled: whether tokens are sampled, else greedy.
        router: scores the positions, as part of the pass if it `is_static`, else when `features` are asked for.
        with_entropy: compute the distribution's entropy.
        llm_dtype: of the LLM's logits, for routers with `reads_llm`.

    Attributes:
        mailbox: what `arrived` reads.
        entropy: [1] float32, in nats, of the last position; zero without `with_entropy`.
        prompt_hidden, llm_entropy, llm_logits: what the router is to look at, to be filled in; see `RouterFeatures`.
    """

    def __init__(
        self,
        seat: Seat,
        *,
        is_sampled: bool,
        router: Router | None = None,
        with_entropy: bool = False,
        llm_dtype: torch.dtype | None = None,
    ) -> None:
        self._logits, self._hidden = seat.logits, seat.hidden
        index, key, self._uniform, self._temperature, self._top_p = seat.numbers.split(1)
        self._index, self._key = index, key
        self._is_sampled, self._router, self._with_entropy = is_sampled, router, with_entropy
        self._n_top = min(TOP_K, self._logits.shape[-1])
        with torch.inference_mode():
            self.entropy = self._logits.new_zeros(1, dtype=torch.float32)
            self.llm_entropy = torch.full_like(self.entropy, math.nan)
            self.prompt_hidden = torch.zeros_like(self._hidden)
            self.llm_logits = None if llm_dtype is None else torch.zeros_like(self._logits, dtype=llm_dtype)
            self.mailbox = Mailbox(self._logits.device, self._n_top + 1, self._n_top + 1)

    def __call__(self) -> None:
        """Fills the mailbox."""
        features = self.features()
        log_values, token_ids = top_tokens(features.log_probs.view(-1), TOP_K)
        if self._is_sampled:
            chance = (number.view(torch.float64) for number in (self._temperature, self._top_p, self._uniform))
            chosen = token_at(self._logits[0], *chance)
        else:
            chosen = greedy_tokens(self._logits)
        if self._with_entropy:
            self.entropy.copy_(entropy_of(features.log_probs))
        is_scored = self._router is not None and self._router.is_static
        score = self._router.confidence(features) if self._router is not None and is_scored else self.entropy
        self.mailbox.put((log_values, score), (token_ids, chosen))

    def features(self) -> RouterFeatures:
        """What a router may look at, at the last position."""
        with_entropy = self._router is not None and self._router.uses_llm_entropy
        return RouterFeatures(
            hidden=self._hidden,
            logits=self._logits,
            prompt_hidden=self.prompt_hidden,
            sequence_key=self._key,
            position=self._index,
            llm_entropy=self.llm_entropy if with_entropy else None,
            llm_logits=self.llm_logits,
        )

    def put_score(self, score: Tensor) -> None:
        """Replaces the score in the mailbox by that of a router that is not part of the pass."""
        self.mailbox.put_float(self._n_top, score)

    def arrived(self) -> TokenArrived:
        """What was posted last; waits for it."""
        return TokenArrived(self.mailbox.read(), self._n_top)


class TokenArrived:
    """The numbers of one position, on the host.

    Attributes:
        log_values, token_ids: of the most probable tokens, best first.
        token_id: the one that was chosen.
        score: the router's, if there was one.
        is_sound: whether the logits are numbers; if not, the token means nothing.
    """

    def __init__(self, arrived: Arrived, n_top: int) -> None:
        self.log_values, (self.score,) = arrived.floats[:n_top], arrived.floats[n_top:]
        self.token_ids, (self.token_id,) = arrived.ints[:n_top], arrived.ints[n_top:]
        self.is_sound = math.isfinite(self.log_values[0])


def numbers_at(settings: DecodeSettings, index: int, key: int = 0) -> list[int]:
    """What a `TokenReadout` is sent with a pass: position, key of the sequence, and how a token is sampled there."""
    if settings.temperature == 0.0:
        return [index, key, 0, 0, 0]
    return [index, key, *map(_as_int, (uniform_at(settings.seed, index), settings.temperature, settings.top_p))]


def _as_int(value: float) -> int:
    """The 64 bits of a number, so that it travels among integers."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits
