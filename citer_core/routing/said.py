"""`Said`: what a model says after a text; `SlmSide` and `LlmSide`: what may be asked of it.

A NaN compares as false, so that an unsound confidence would quietly give every token to the SLM: whether what models
and routers computed are numbers at all is checked here, with what a person is told where they are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from citer_core.errors import NotANumberError
from citer_core.models.reader import Reader
from citer_core.routing.look_back import Span
from citer_core.routing.router import Router
from citer_core.routing.sequence import RoutedSequence
from citer_core.types import Candidate

UNREAD = -1  # for a token: the text has not been read to its end


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
        span: what the LLM says in place of the tokens that it may take back, up to the one after this text; None where
            it takes none back.
    """

    token_id: int = UNREAD
    top: tuple[Candidate, ...] = ()
    number: float = math.nan
    seconds: float = 0.0
    router_s: float = 0.0
    error: Exception | None = None
    logits: Tensor | None = None
    span: Span | None = None

    def score(self, confidence: float, router: Router, error: Exception | None) -> None:
        """Takes a router's confidence, or the error that it failed with; what the model failed with comes first."""
        self.number = confidence
        if self.error is None and (error is not None or not 0.0 <= confidence <= 1.0):
            self.error = error or no_confidence(router)


class Side:
    """One model, and what it keeps of the sequences in their slots.

    Attributes:
        reader: with which it may read a text in parts; None reads every text whole.
    """

    reader: Reader | None = None

    def enter(self, s: RoutedSequence, /) -> None:
        """A new sequence has its slot."""

    def truncate(self, s: RoutedSequence, n_tokens: int, /) -> None:
        """Forgets what was read behind the first `n_tokens` of its text."""

    def leave(self, s: RoutedSequence, /) -> None:
        """It has ended."""


class SlmSide(Side):
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
        raise NotImplementedError

    def ahead(self, rows: Sequence[RoutedSequence], /) -> None:
        """Says early which texts `read` will be asked next; may begin with them."""


class LlmSide(Side):
    """The LLM: loaded here, or on a server that is asked and answers later."""

    @property
    def n_asked(self) -> int:
        """Requests that are on their way."""
        return 0

    def read(self, rows: Sequence[RoutedSequence], uptos: Sequence[int], /) -> list[Said]:
        """Reads what is new of each sequence, and says what comes after it. A server only begins to, and says nothing.

        Args:
            rows: in the order of their slots.
            uptos: up to which length each text is read.
        """
        raise NotImplementedError

    def collect(self, timeout_s: float, /) -> list[tuple[RoutedSequence, Said]]:  # noqa: ARG002
        """Answers that have come, after waiting for the first one for so long at most."""
        return []

    def close(self) -> None:
        """Gives up what is on its way."""


def no_confidence(router: Router) -> NotANumberError:
    """For a router that did not keep its promise."""
    return NotANumberError(
        f'The router "{router.name}" gave a confidence that is not a number from 0 to 1, so it is unknown which model '
        "writes next, and this run ended. Its weights may be damaged: train or fetch it again, or choose another "
        "router."
    )


def not_a_number(which: str) -> NotANumberError:
    """For a model, `SLM` or `LLM`, whose logits are NaN or infinite."""
    return NotANumberError(
        f"The {which} computed values that are not numbers (NaN or infinity), so it has no next token, and this run "
        "ended. Its weights may be damaged, or the precision too low for them: load the pair again, or in float32."
    )
