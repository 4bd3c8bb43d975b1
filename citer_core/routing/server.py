"""`ServerLlm`: an LLM on a server, which answers while the SLM goes on with other sequences.

A request whose sequences have all ended is given up. The server remembers nothing of us but what its prefix cache
holds: every request sends the whole text.
"""

from __future__ import annotations

from collections.abc import Sequence

from citer_core.decode_settings import SETTINGS
from citer_core.errors import CiterError
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM, RemoteToken, Sampling
from citer_core.models.remote_texts import ReadText, ask_to_read
from citer_core.models.server_client import Pending
from citer_core.routing.candidates import TOP_K, candidates_at
from citer_core.routing.look_back import Span
from citer_core.routing.said import LlmSide, Said
from citer_core.routing.sampling import seed_at
from citer_core.routing.sequence import RoutedSequence
from citer_core.types import Candidate, DecodeSettings


def sampling_at(settings: DecodeSettings, index: int) -> Sampling:
    """How a server is to choose the token at `index`."""
    if settings.temperature == 0.0:
        return Sampling()
    others = tuple((name, value) for name, value in settings.newer().items() if SETTINGS[name].for_sampling)
    return Sampling(settings.temperature, settings.top_p, seed_at(settings.seed, index), others)


_Asked = Pending[list[RemoteToken]] | Pending[list[ReadText]]


class ServerLlm(LlmSide):
    """See `LlmSide`; nothing is kept of a slot."""

    def __init__(self, pair: ModelPair, llm: RemoteLM) -> None:
        self._pair, self._llm = pair, llm
        self._asked: list[tuple[Sequence[RoutedSequence], _Asked]] = []

    @property
    def n_asked(self) -> int:
        """See `LlmSide`."""
        return len(self._asked)

    def enter(self, s: RoutedSequence) -> None:
        """As of any text, the server reads what a branch shares with the next request."""
        s.llm.goals.clear()

    def read(self, rows: Sequence[RoutedSequence], _: Sequence[int]) -> list[Said]:
        """See `LlmSide`; texts are always whole.

        Where tokens may be taken back, the one that the SLM would write is sent too: what the LLM says in its place is
        then said of every place alike.
        """
        for s in rows:
            s.is_asked = True
        plain, looking = [s for s in rows if s.take_back is None], [s for s in rows if s.take_back is not None]
        if plain:
            samplings = [sampling_at(s.settings, s.n_written) for s in plain]
            self._asked.append((plain, self._llm.ask([s.ids for s in plain], samplings)))
        if looking:
            texts = [[*s.ids, s.in_question()[-1].token_id] for s in looking]
            n_last = [len(text) - s.n_judged for s, text in zip(looking, texts, strict=True)]
            self._asked.append((looking, ask_to_read(self._llm, texts, n_last, TOP_K)))
        return []

    def collect(self, timeout_s: float) -> list[tuple[RoutedSequence, Said]]:
        """See `LlmSide`."""
        asked = list[tuple[Sequence[RoutedSequence], _Asked]]()
        for rows, pending in self._asked:
            if all(s.finish_reason is not None for s in rows):
                pending.abort()
            else:
                asked.append((rows, pending))
        if asked and timeout_s > 0:
            Pending.wait_for_any([pending for _, pending in asked], timeout_s)
        done = [pending for _, pending in asked if pending.is_done()]
        self._asked = [(rows, pending) for rows, pending in asked if pending not in done]
        return [found for rows, pending in asked if pending in done for found in self._answers(rows, pending)]

    def close(self) -> None:
        """See `LlmSide`."""
        for _, pending in self._asked:
            pending.abort()
        self._asked = []

    def _answers(self, rows: Sequence[RoutedSequence], pending: _Asked) -> list[tuple[RoutedSequence, Said]]:
        try:
            answers = pending.answer()
        except CiterError as error:
            return [(s, Said(error=error)) for s in rows]
        found: list[RemoteToken | ReadText] = [*answers]
        return [(s, self._said(s, answer)) for s, answer in zip(rows, found, strict=True)]

    def _said(self, s: RoutedSequence, answer: RemoteToken | ReadText) -> Said:
        if isinstance(answer, RemoteToken):
            top = tuple(Candidate(i, self._pair.token_text(i), round(p, 6)) for i, p in answer.top)
            return Said(answer.token_id, top if s.with_candidates else (), seconds=answer.seconds)
        ids, log_probs = zip(*(top[0] for top in answer.tops), strict=True)
        span = Span(answer.log_probs.tolist(), list(ids), list(log_probs), tops=answer.tops)
        top = candidates_at(self._pair, span, -1) if s.with_candidates else ()
        return Said(ids[-1], top, seconds=answer.seconds, span=span)
