"""Who reads every position of one sequence for the decode loop: the SLM, and the router on its state.

Knows nothing about the LLM but what a router is given of it. Where passes are replayed: `replayed`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Protocol

import torch
from torch import Tensor

from citer_core.models.cached_lm import CachedLM
from citer_core.models.pair import ModelPair
from citer_core.models.transfer import is_away
from citer_core.routing.candidates import choose
from citer_core.routing.position import Scored
from citer_core.routing.replayed import ReplayedSlm
from citer_core.routing.router import Router, RouterFeatures
from citer_core.types import DecodeSettings


class SlmReader(Protocol):
    """Reads every position of one sequence."""

    def read_shared(self, prompt_ids: Sequence[int], shared_ids: Sequence[int]) -> None:
        """Reads a prompt, and of the tokens after it all but the last, which the loop has read."""

    def begin(self, ids: Sequence[int], index: int, llm_entropy: Tensor | None) -> None:
        """Says early what `read` will be asked next, if it needs no logits of the LLM."""

    def read(self, ids: Sequence[int], index: int, llm_entropy: Tensor | None, llm_logits: Tensor | None) -> Scored:
        """What the SLM would write after `ids`, and how the router scores that.

        Args:
            ids: the whole text so far.
            index: position in the completion.
            llm_entropy: [1], see `RouterFeatures`.
            llm_logits: [1, V] for routers with `reads_llm`.

        Raises:
            NotANumberError: the SLM computed none.
        """


def slm_reader(
    pair: ModelPair, router: Router, settings: DecodeSettings, key: int, n_positions: int, held: ExitStack
) -> SlmReader:
    """The reader of one run.

    Args:
        pair, router, settings: of the run.
        key: of the sequence, for the router.
        n_positions: the most tokens that there will be, the prompt's among them.
        held: gives back what was lent when the run is over.
    """
    # A replayed pass is sent the first settings alone.
    seat = None if settings.newer() else held.enter_context(pair.slm.seat(n_positions))
    if seat is not None:
        return ReplayedSlm(pair, router, settings, seat, key)
    return _ComputedSlm(pair, router, settings, key, n_positions)


class _ComputedSlm:
    """Computes each pass."""

    def __init__(self, pair: ModelPair, router: Router, settings: DecodeSettings, key: int, n_positions: int) -> None:
        self._pair, self._router, self._settings = pair, router, settings
        self._lm = CachedLM(pair.slm)
        self._key = torch.tensor([key], device=pair.slm.device)
        self._positions = torch.arange(n_positions, device=pair.slm.device).split(1)
        self._prompt_hidden: Tensor | None = None

    def read_shared(self, prompt_ids: Sequence[int], shared_ids: Sequence[int]) -> None:
        self._prompt_hidden = self._lm.catch_up(prompt_ids).hidden
        if len(shared_ids) > 1:
            self._lm.catch_up([*prompt_ids, *shared_ids[:-1]])

    def begin(self, *_: object) -> None:
        pass

    def read(self, ids: Sequence[int], index: int, llm_entropy: Tensor | None, llm_logits: Tensor | None) -> Scored:
        forward = self._lm.catch_up(ids)
        if self._prompt_hidden is None:
            self._prompt_hidden = forward.hidden
        features = RouterFeatures(
            hidden=forward.hidden,
            logits=forward.logits,
            prompt_hidden=self._prompt_hidden,
            sequence_key=self._key,
            position=self._positions[index],
            llm_entropy=llm_entropy,
            llm_logits=llm_logits,
        )
        # Reading score and candidate is the one point where the host has to wait for the device: the decision depends
        # on it.
        start = time.perf_counter()
        score = self._router.confidence(features)
        router_s = time.perf_counter() - start
        token_id, top, ((confidence,),) = choose(
            self._pair, "SLM", forward.logits, features.log_probs, self._settings, index, score
        )
        if is_away(score):  # it is only now that the router has done its work
            router_s = time.perf_counter() - start
        return Scored(token_id, top, confidence, forward.n_fed, forward.seconds, router_s)
