"""Who writes the LLM's tokens of one sequence: the model that is loaded here, or a server.

A loaded model gives logits, from which its token, its candidates and its entropy are read. A server gives the token and
its candidates, and nothing else. The decode loop asks a writer and knows neither. Many sequences at once: `batch_llm`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol

import torch
from torch import Tensor

from citer_core.decode_settings import SETTINGS
from citer_core.errors import RouterError
from citer_core.models.cached_lm import CachedLM, Forward, RecomputingLM
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM, RemoteToken, Sampling
from citer_core.routing.candidates import choose
from citer_core.routing.position import Written
from citer_core.routing.replayed import ReplayedLlm
from citer_core.routing.router import Router, entropy_of, entropy_of_logits
from citer_core.routing.sampling import seed_at
from citer_core.types import Candidate, DecodeSettings


class LLMWriter(Protocol):
    """Writes the LLM's tokens of one sequence."""

    def catch_up(self, ids: Sequence[int]) -> Tensor | None:
        """Brings the LLM to where it has read `ids`; gives its [1] entropy after them, where the router uses it."""

    def begin(self, ids: Sequence[int], index: int) -> Forward | None:
        """May start reading `ids` before it is known whether this writes next; asked where that is likely."""

    def read(self, ids: Sequence[int], index: int) -> Forward:
        """The LLM's logits after `ids`, for routers with `reads_llm`."""

    def write(self, ids: Sequence[int], index: int, forward: Forward | None) -> Written:
        """The LLM's token after `ids`.

        Args:
            ids: the whole text so far.
            index: position in the completion.
            forward: what `read` or `begin` gave for the same text, if it was asked.

        Raises:
            CallCancelledError: the run was cancelled while a server was waited for.
            ServerError: the server is lost.
        """


def check_router(pair: ModelPair, router: Router) -> None:
    """Refuses a router that needs more than a server gives.

    Raises:
        RouterError: it does.
    """
    if not isinstance(pair.llm, RemoteLM) or not (router.reads_llm or router.uses_llm_entropy):
        return
    raise RouterError(
        f'The router "{router.name}" needs the LLM\'s whole distribution, but an LLM on a server only gives its token '
        "and the most probable ones. Choose a router that looks at the SLM alone, or load the LLM here."
    )


def llm_writer(
    pair: ModelPair,
    router: Router,
    settings: DecodeSettings,
    is_cancelled: Callable[[], bool],
    n_positions: int,
    held: ExitStack,
    *,
    reuse_cache: bool = True,
) -> LLMWriter:
    """The writer of one run.

    Args:
        pair, router, settings: of the run.
        is_cancelled: asked while a server is waited for.
        n_positions, held: see `slm_reader`.
        reuse_cache: False lets a loaded LLM read the whole text at every call.
    """
    if isinstance(pair.llm, RemoteLM):
        return _RemoteWriter(pair, pair.llm, settings, is_cancelled)
    # A replayed pass is sent the first settings alone.
    may_replay = reuse_cache and not settings.newer()
    seat = held.enter_context(pair.llm.seat(n_positions)) if may_replay else None
    if seat is not None:
        return ReplayedLlm(pair, router, settings, seat)
    lm = CachedLM(pair.llm) if reuse_cache else RecomputingLM(pair.llm)
    return _LocalWriter(pair, lm, settings, with_entropy=router.uses_llm_entropy)


class _LocalWriter:
    """The loaded LLM with the cache of one sequence."""

    def __init__(
        self, pair: ModelPair, lm: CachedLM | RecomputingLM, settings: DecodeSettings, *, with_entropy: bool
    ) -> None:
        self._pair, self._lm, self._settings, self._with_entropy = pair, lm, settings, with_entropy

    def catch_up(self, ids: Sequence[int]) -> Tensor | None:
        logits = self._lm.catch_up(ids).logits
        return entropy_of_logits(logits) if self._with_entropy else None

    def begin(self, *_: object) -> None:
        return None

    def read(self, ids: Sequence[int], _index: int) -> Forward:
        return self._lm.catch_up(ids)

    def write(self, ids: Sequence[int], index: int, forward: Forward | None) -> Written:
        forward = forward or self._lm.catch_up(ids)
        log_probs = torch.log_softmax(forward.logits.float(), dim=-1)
        token_id, top, _ = choose(self._pair, "LLM", forward.logits, log_probs, self._settings, index)
        entropy = entropy_of(log_probs) if self._with_entropy else None
        return Written(token_id, top, forward.n_fed, forward.seconds, entropy)


def sampling_at(settings: DecodeSettings, index: int) -> Sampling:
    """How a server is to choose the token at `index`."""
    if settings.temperature == 0.0:
        return Sampling()
    others = tuple((name, value) for name, value in settings.newer().items() if SETTINGS[name].for_sampling)
    return Sampling(settings.temperature, settings.top_p, seed_at(settings.seed, index), others)


def remote_candidates(pair: ModelPair, token: RemoteToken) -> tuple[Candidate, ...]:
    """What a server says of its most probable tokens."""
    return tuple(Candidate(i, pair.token_text(i), round(p, 6)) for i, p in token.top)


class _RemoteWriter:
    """A server that remembers nothing of us but what its prefix cache holds: every call sends the whole text."""

    def __init__(
        self, pair: ModelPair, llm: RemoteLM, settings: DecodeSettings, is_cancelled: Callable[[], bool]
    ) -> None:
        self._pair, self._llm, self._settings, self._is_cancelled = pair, llm, settings, is_cancelled
        self._n_read = 0

    def catch_up(self, ids: Sequence[int]) -> Tensor | None:
        self._n_read = len(ids)  # as of any text, the server reads it with the next call
        return None

    def begin(self, *_: object) -> None:
        return None

    def read(self, *_: object) -> Forward:
        raise AssertionError("check_router refuses routers that read the LLM")

    def write(self, ids: Sequence[int], index: int, forward: Forward | None) -> Written:
        assert forward is None
        pending = self._llm.ask([ids], [sampling_at(self._settings, index)])
        (token,) = pending.wait(self._is_cancelled)
        n_fed, self._n_read = len(ids) - self._n_read, len(ids)
        return Written(token.token_id, remote_candidates(self._pair, token), n_fed, token.seconds)
