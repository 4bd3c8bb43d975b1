"""Who writes the LLM's tokens: the model that is loaded here, or a server. One sequence, or many at once.

A loaded model gives logits, from which its token, its candidates and its entropy are read. A server gives the token and
its candidates, and nothing else. The decode loops ask a writer and know neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from citer_core.errors import RouterError
from citer_core.models.batched_lm import BatchedLM, BatchForward
from citer_core.models.cached_lm import CachedLM, Forward, RecomputingLM
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM, RemoteToken
from citer_core.models.transfer import to_device
from citer_core.routing.candidates import choose, choose_rows
from citer_core.routing.router import Router, entropy_of
from citer_core.routing.sampling import seed_at
from citer_core.types import Candidate, DecodeSettings


@dataclass(slots=True)
class Written:
    """One token of the LLM.

    Attributes:
        token_id: the token.
        top: its most probable tokens here, best first.
        n_fed: tokens that it had to read for this one: those since its last call. A server is counted as if its prefix
            cache kept all that it has read; whole blocks are what it keeps, so it may read up to a block more.
        seconds: of the forward pass as the host saw it; of the whole request where a server wrote.
        entropy: [1] float32 in nats, where the router uses it.
    """

    token_id: int
    top: tuple[Candidate, ...]
    n_fed: int
    seconds: float
    entropy: Tensor | None = None


@dataclass(slots=True)
class BatchWritten:
    """One token of the LLM for each of B sequences: the same as `Written`, entropies NaN where nobody uses them."""

    token_ids: list[int]
    tops: list[tuple[Candidate, ...]]
    n_fed: list[int]
    seconds: list[float]
    entropies: list[float]


class LLMWriter(Protocol):
    """Writes the LLM's tokens of one sequence."""

    def catch_up(self, ids: Sequence[int]) -> Tensor | None:
        """Brings the LLM to where it has read `ids`; gives its [1] entropy after them, where the router uses it."""

    def read(self, ids: Sequence[int], /) -> Forward:
        """The LLM's logits after `ids`, for routers with `reads_llm`."""

    def write(self, ids: Sequence[int], index: int, forward: Forward | None) -> Written:
        """The LLM's token after `ids`.

        Args:
            ids: the whole text so far.
            index: position in the completion.
            forward: what `read` gave for the same text, if it was asked.

        Raises:
            CallCancelledError: the run was cancelled while a server was waited for.
            ServerError: the server is lost.
        """


class BatchWriter(Protocol):
    """Writes the LLM's tokens of the sequences in `n_slots` slots."""

    def clear(self, slot: int) -> None:
        """Forgets the sequence of a slot, so that another can move in."""

    def read(self, texts: Sequence[Sequence[int]], slots: Sequence[int], /) -> BatchForward:
        """The LLM's logits after each text, for routers with `reads_llm`."""

    def choose(self, forward: BatchForward, rows: Sequence[int], indices: Sequence[int], /) -> BatchWritten:
        """Tokens from what `read` gave, for some of its rows."""

    def write(self, texts: Sequence[Sequence[int]], slots: Sequence[int], indices: Sequence[int]) -> BatchWritten:
        """The LLM's token after each text; arguments and errors as in `LLMWriter`, a slot for each."""


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
    *,
    reuse_cache: bool = True,
) -> LLMWriter:
    """The writer of one run.

    Args:
        pair, router, settings: of the run.
        is_cancelled: asked while a server is waited for.
        reuse_cache: False lets a loaded LLM read the whole text at every call.
    """
    if isinstance(pair.llm, RemoteLM):
        return _RemoteWriter(_RemoteTokens(pair, pair.llm, settings, is_cancelled))
    lm = CachedLM(pair.llm) if reuse_cache else RecomputingLM(pair.llm)
    return _LocalWriter(pair, lm, settings, with_entropy=router.uses_llm_entropy)


def batch_writer(
    pair: ModelPair,
    router: Router,
    settings: DecodeSettings,
    is_cancelled: Callable[[], bool],
    *,
    n_slots: int,
    with_candidates: bool,
) -> BatchWriter:
    """The writer of a batch; candidates are left out where nobody keeps them."""
    if isinstance(pair.llm, RemoteLM):
        return _RemoteBatchWriter(_RemoteTokens(pair, pair.llm, settings, is_cancelled), n_slots)
    llm = BatchedLM(pair.llm, n_slots)
    return _LocalBatchWriter(pair, llm, settings, with_candidates=with_candidates, with_entropy=router.uses_llm_entropy)


class _LocalWriter:
    """The loaded LLM with the cache of one sequence."""

    def __init__(
        self, pair: ModelPair, lm: CachedLM | RecomputingLM, settings: DecodeSettings, *, with_entropy: bool
    ) -> None:
        self._pair, self._lm, self._settings, self._with_entropy = pair, lm, settings, with_entropy
        self.read = lm.catch_up

    def catch_up(self, ids: Sequence[int]) -> Tensor | None:
        logits = self._lm.catch_up(ids).logits
        return entropy_of(torch.log_softmax(logits.float(), dim=-1)) if self._with_entropy else None

    def write(self, ids: Sequence[int], index: int, forward: Forward | None) -> Written:
        forward = forward or self._lm.catch_up(ids)
        log_probs = torch.log_softmax(forward.logits.float(), dim=-1)
        token_id, top, _ = choose(self._pair, forward.logits, log_probs, self._settings, index)
        entropy = entropy_of(log_probs) if self._with_entropy else None
        return Written(token_id, top, forward.n_fed, forward.seconds, entropy)


class _LocalBatchWriter:
    """The loaded LLM with the caches of several sequences."""

    def __init__(
        self, pair: ModelPair, llm: BatchedLM, settings: DecodeSettings, *, with_candidates: bool, with_entropy: bool
    ) -> None:
        self._pair, self._llm, self._settings = pair, llm, settings
        self._with_candidates, self._with_entropy = with_candidates, with_entropy
        self.clear, self.read = llm.clear, llm.catch_up

    def write(self, texts: Sequence[Sequence[int]], slots: Sequence[int], indices: Sequence[int]) -> BatchWritten:
        return self.choose(self._llm.catch_up(texts, slots), range(len(texts)), indices)

    def choose(self, forward: BatchForward, rows: Sequence[int], indices: Sequence[int]) -> BatchWritten:
        n_read = len(forward.n_fed)
        logits = forward.logits
        if len(rows) < n_read:
            logits = logits.index_select(0, to_device(rows, logits.device))
        log_probs: Tensor | None = None
        if self._with_candidates or self._with_entropy:
            log_probs = torch.log_softmax(logits.float(), dim=-1)
        entropy = (entropy_of(log_probs),) if self._with_entropy and log_probs is not None else ()
        token_ids, tops, numbers = choose_rows(
            self._pair, logits, log_probs if self._with_candidates else None, self._settings, indices, *entropy
        )
        return BatchWritten(
            token_ids=token_ids,
            tops=tops,
            n_fed=[forward.n_fed[row] for row in rows],
            seconds=[forward.seconds / n_read] * len(rows),
            entropies=numbers[0] if numbers else [float("nan")] * len(rows),
        )


class _RemoteTokens:
    """What both writers ask a server for: the settings of the run, and the tokens' texts."""

    def __init__(
        self, pair: ModelPair, llm: RemoteLM, settings: DecodeSettings, is_cancelled: Callable[[], bool]
    ) -> None:
        self._pair, self._llm, self._settings, self._is_cancelled = pair, llm, settings, is_cancelled

    def next_tokens(self, texts: Sequence[Sequence[int]], indices: Sequence[int]) -> list[RemoteToken]:
        seeds = None
        if self._settings.temperature > 0.0:
            seeds = [seed_at(self._settings.seed, index) for index in indices]
        return self._llm.next_tokens(
            texts,
            temperature=self._settings.temperature,
            top_p=self._settings.top_p,
            seeds=seeds,
            is_cancelled=self._is_cancelled,
        )

    def candidates(self, token: RemoteToken) -> tuple[Candidate, ...]:
        return tuple(Candidate(i, self._pair.token_text(i), round(p, 6)) for i, p in token.top)


class _RemoteWriter:
    """A server that remembers nothing of us but what its prefix cache holds: every call sends the whole text."""

    def __init__(self, tokens: _RemoteTokens) -> None:
        self._tokens = tokens
        self._n_read = 0

    def catch_up(self, ids: Sequence[int]) -> Tensor | None:
        self._n_read = len(ids)  # as of any text, the server reads it with the next call
        return None

    def read(self, *_: object) -> Forward:
        raise AssertionError("check_router refuses routers that read the LLM")

    def write(self, ids: Sequence[int], index: int, forward: Forward | None) -> Written:
        assert forward is None
        (token,) = self._tokens.next_tokens([ids], [index])
        n_fed, self._n_read = len(ids) - self._n_read, len(ids)
        return Written(token.token_id, self._tokens.candidates(token), n_fed, token.seconds)


class _RemoteBatchWriter:
    """The same for several sequences."""

    def __init__(self, tokens: _RemoteTokens, n_slots: int) -> None:
        self._tokens = tokens
        self._n_read = [0] * n_slots

    def clear(self, slot: int) -> None:
        self._n_read[slot] = 0

    def read(self, *_: object) -> BatchForward:
        raise AssertionError("check_router refuses routers that read the LLM")

    def choose(self, *_: object) -> BatchWritten:
        raise AssertionError("check_router refuses routers that read the LLM")

    def write(self, texts: Sequence[Sequence[int]], slots: Sequence[int], indices: Sequence[int]) -> BatchWritten:
        tokens = self._tokens.next_tokens(texts, indices)
        n_fed = [len(text) - self._n_read[slot] for text, slot in zip(texts, slots, strict=True)]
        for text, slot in zip(texts, slots, strict=True):
            self._n_read[slot] = len(text)
        return BatchWritten(
            token_ids=[token.token_id for token in tokens],
            tops=[self._tokens.candidates(token) for token in tokens],
            n_fed=n_fed,
            seconds=[token.seconds for token in tokens],
            entropies=[float("nan")] * len(tokens),
        )
