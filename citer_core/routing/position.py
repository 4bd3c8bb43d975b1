"""What either model says at one position of a text: `Scored` by the SLM's side, `Written` by the LLM. Records only."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from citer_core.types import Candidate


@dataclass(slots=True)
class Scored:
    """The SLM's candidate for the next token, and how the router scores it.

    Attributes:
        token_id: what the SLM would write.
        top: its most probable tokens here, best first.
        confidence: the router's; it may be no number from 0 to 1, if the router is unsound.
        n_fed: tokens that the SLM had to read for this one.
        slm_s, router_s: seconds of the forward pass and of the router with the reading of its verdict, as the host saw
            them. All of it is the SLM's where the router is part of a replayed pass.
    """

    token_id: int
    top: tuple[Candidate, ...]
    confidence: float
    n_fed: int
    slm_s: float
    router_s: float


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
