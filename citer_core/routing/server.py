"""`ServerLlm`: an LLM on a server, which answers while the SLM goes on with other sequences.

A request whose sequences have all ended is given up. The server remembers nothing of us but what its prefix cache
holds: every request sends the whole text.
"""

from __future__ import annotations

from collections.abc import Sequence

from citer_core.decode_settings import SETTINGS
from citer_core.errors import CiterError, RouterError
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import PendingTokens, RemoteLM, Sampling
from citer_core.routing.router import Router
from citer_core.routing.said import LlmSide, Said
from citer_core.routing.sampling import seed_at
from citer_core.routing.sequence import RoutedSequence
from citer_core.types import Candidate, DecodeSettings


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


def sampling_at(settings: DecodeSettings, index: int) -> Sampling:
    """How a server is to choose the token at `index`."""
    if settings.temperature == 0.0:
        return Sampling()
    others = tuple((name, value) for name, value in settings.newer().items() if SETTINGS[name].for_sampling)
    return Sampling(settings.temperature, settings.top_p, seed_at(settings.seed, index), others)


class ServerLlm(LlmSide):
    """See `LlmSide`; nothing is kept of a slot."""

    def __init__(self, pair: ModelPair, llm: RemoteLM) -> None:
        self._pair, self._llm = pair, llm
        self._asked: list[tuple[Sequence[RoutedSequence], PendingTokens]] = []

    @property
    def n_asked(self) -> int:
        """See `LlmSide`."""
        return len(self._asked)

    def enter(self, s: RoutedSequence) -> None:
        """As of any text, the server reads what a branch shares with the next request."""
        s.llm.goals.clear()

    def read(self, rows: Sequence[RoutedSequence], _: Sequence[int]) -> list[Said]:
        """See `LlmSide`; texts are always whole."""
        for s in rows:
            s.is_asked = True
        samplings = [sampling_at(s.settings, s.n_written) for s in rows]
        self._asked.append((rows, self._llm.ask([s.ids for s in rows], samplings)))
        return []

    def collect(self, timeout_s: float) -> list[tuple[RoutedSequence, Said]]:
        """See `LlmSide`."""
        asked = list[tuple[Sequence[RoutedSequence], PendingTokens]]()
        for rows, pending in self._asked:
            if all(s.finish_reason is not None for s in rows):
                pending.abort()
            else:
                asked.append((rows, pending))
        if asked and timeout_s > 0:
            PendingTokens.wait_for_any([pending for _, pending in asked], timeout_s)
        done = [pending for _, pending in asked if pending.is_done()]
        self._asked = [(rows, pending) for rows, pending in asked if pending not in done]
        return [found for rows, pending in asked if pending in done for found in self._answers(rows, pending)]

    def close(self) -> None:
        """See `LlmSide`."""
        for _, pending in self._asked:
            pending.abort()
        self._asked = []

    def _answers(self, rows: Sequence[RoutedSequence], pending: PendingTokens) -> list[tuple[RoutedSequence, Said]]:
        try:
            tokens = pending.answer()
        except CiterError as error:
            return [(s, Said(error=error)) for s in rows]
        found = []
        for s, token in zip(rows, tokens, strict=True):
            top = tuple(Candidate(i, self._pair.token_text(i), round(p, 6)) for i, p in token.top)
            found.append((s, Said(token.token_id, top if s.with_candidates else (), seconds=token.seconds)))
        return found
