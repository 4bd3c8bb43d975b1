"""`Said`: what a model says after a text; `SlmSide` and `LlmSide`: what may be asked. Records and promises only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from citer_core.models.reader import Reader
from citer_core.routing.sequence import RoutedSequence
from citer_core.types import Candidate


@dataclass(slots=True)
class Said:
    """One model's word on the position after a text.

    Attributes:
        token_id: what it would write.
        top: its most probable tokens here, best first; empty where they are not asked for.
        number: of the SLM's side the router's confidence; of the LLM its entropy in nats, NaN where it is not needed.
        seconds: this text's part of the pass as the host saw it; of the whole request where a server wrote.
        router_s: of the router with the reading of its verdict; in `seconds` where the router is part of a replayed
            pass.
        error: why there is no token here.
        logits: [1, V] of the LLM, where a router reads them.
    """

    token_id: int
    top: tuple[Candidate, ...]
    number: float
    seconds: float
    router_s: float = 0.0
    error: Exception | None = None
    logits: Tensor | None = None


class Side(Protocol):
    """One model, and what it keeps of the sequences in their slots."""

    @property
    def reader(self) -> Reader | None:
        """With which it may read a text in parts; None reads every text whole."""

    def enter(self, s: RoutedSequence, /) -> None:
        """A new sequence has its slot."""

    def truncate(self, s: RoutedSequence, n_tokens: int, /) -> None:
        """Forgets what was read behind the first `n_tokens` of its text."""

    def leave(self, s: RoutedSequence, /) -> None:
        """It has ended."""


class SlmSide(Side, Protocol):
    """The SLM, and the routers on its states."""

    def read(
        self, rows: Sequence[RoutedSequence], uptos: Sequence[int], llm_logits: Mapping[RoutedSequence, Tensor], /
    ) -> list[Said]:
        """Reads what is new of each sequence.

        Args:
            rows: none waits for the LLM; in the order of their slots.
            uptos: up to which length each text is read.
            llm_logits: [1, V] after the text, of those whose router reads the LLM.

        Returns:
            Of each, what the SLM would write and the router's score; of a text that is read in part only, its seconds.
        """

    def ahead(self, rows: Sequence[RoutedSequence], /) -> None:
        """Says early which texts `read` will be asked next; may begin with them."""


class LlmSide(Side, Protocol):
    """The LLM: loaded here, or on a server that is asked and answers later."""

    @property
    def n_asked(self) -> int:
        """Requests that are on their way."""

    def read(self, rows: Sequence[RoutedSequence], uptos: Sequence[int], /) -> list[Said]:
        """Reads what is new of each sequence, and says what comes after it. A server only begins to, and says nothing.

        Args:
            rows: in the order of their slots.
            uptos: up to which length each text is read.
        """

    def collect(self, timeout_s: float, /) -> list[tuple[RoutedSequence, Said]]:
        """Answers that have come, after waiting for the first one for so long at most."""

    def close(self) -> None:
        """Gives up what is on its way."""
