"""`BatchRequest` and `BatchSequence`: what is asked of a batch, and where one sequence of it stands.

State alone: nothing here computes or decides. Called by `batch_decoder` and by the two models' sides of a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from citer_core.fork import Fork
from citer_core.routing.completion import Completion, Step
from citer_core.routing.router import Router
from citer_core.types import Candidate, DecodeSettings, FinishReason


def never() -> bool:
    """For a sequence that nobody cancels."""
    return False


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """One sequence to decode; each of a batch has its own of everything.

    Attributes:
        prompt_ids: at least one token.
        router, settings: who decides, and how.
        fork: go on from these events instead of from the prompt; see `decode`.
        is_cancelled: asked between steps.
        with_candidates: keep both models' most probable tokens.
        index: a number that the completion carries.
    """

    prompt_ids: Sequence[int]
    router: Router
    settings: DecodeSettings
    fork: Fork | None = None
    is_cancelled: Callable[[], bool] = never
    with_candidates: bool = False
    index: int = 0


@dataclass(slots=True, eq=False)
class BatchSequence:
    """A sequence in its slot. What a round looks at for every sequence is a plain field: there are many a second.

    Attributes:
        request: what was asked.
        router, settings, is_cancelled: of the request.
        slot: where both models' caches have it.
        ids: prompt and tokens so far.
        n_steps: the most tokens of its own.
        key: what routers may draw random numbers from.
        completion: what it has written itself.
        slm_goals: lengths of `ids` at which the SLM has to stop on its way to the first own token.
        llm_goals: the same for the LLM; no own token is begun before they are reached.
        index: position of the next token in the completion, a branch's shared tokens included.
        forced: the fork, where a person chose who writes the next token.
        slm_read, llm_read: tokens that each model counts as having read.
        slm_s, llm_s: seconds of passes that read a part only; the next step has them.
        llm_entropy: of the LLM's distribution at the token before, in nats; NaN where it did not write it.
        waiting: the step that waits for the LLM's token.
        is_asked: a server has been asked for it.
        n_waited: rounds since it began to wait.
        is_partly_read: by the LLM, in a pass that read as much of it as one may.
        turn: grows with every pass of the SLM that took it along while others were left out.
        number: of its admission.
        has_news: it got a token, or has ended, in this round.
        has_ended: nothing is to be done for it any more.
        error: why it ended with `error`.
    """

    request: BatchRequest
    router: Router
    settings: DecodeSettings
    is_cancelled: Callable[[], bool]
    slot: int
    ids: list[int]
    n_steps: int
    key: int
    completion: Completion
    index: int
    forced: Fork | None
    number: int
    slm_goals: list[int] = field(default_factory=list)
    llm_goals: list[int] = field(default_factory=list)
    slm_read: int = 0
    llm_read: int = 0
    slm_s: float = 0.0
    llm_s: float = 0.0
    llm_entropy: float = math.nan
    waiting: Step | None = None
    is_asked: bool = False
    n_waited: int = 0
    is_partly_read: bool = False
    turn: int = 0
    has_news: bool = False
    has_ended: bool = False
    error: Exception | None = None

    @property
    def n_shared(self) -> int:
        """Tokens of a branch before its own."""
        return len(self.completion.shared_ids)

    def write(self, step: Step, eos_ids: frozenset[int]) -> None:
        """Appends a finished step."""
        if self.forced is not None:
            step.forced = True
            if self.forced.token_id is not None:
                step.token_id = self.forced.token_id
            self.forced = None
        completion = self.completion
        completion.steps.append(step)
        self.ids.append(step.token_id)
        self.index += 1
        self.has_news = True
        if step.token_id in eos_ids:
            self.end("eos")
        elif len(completion.steps) == self.n_steps:
            self.end("length")

    def write_by_llm(
        self, token_id: int, top: tuple[Candidate, ...], seconds: float, entropy: float, eos_ids: frozenset[int]
    ) -> None:
        """Ends the wait with the LLM's token; it has then read all of `ids`."""
        step = self.waiting
        assert step is not None, "nothing waits for the LLM"
        step.token_id, step.source = token_id, "llm"
        step.llm_top = top if self.request.with_candidates else ()
        step.llm_tokens_fed, step.llm_s = len(self.ids) - self.llm_read, self.llm_s + seconds
        self.llm_read, self.llm_s, self.llm_entropy = len(self.ids), 0.0, entropy
        self.waiting, self.is_asked, self.is_partly_read, self.n_waited = None, False, False, 0
        self.write(step, eos_ids)

    def end(self, reason: FinishReason, error: Exception | None = None) -> None:
        """Nothing follows; does nothing to one that has ended."""
        if not self.has_ended:
            self.has_ended = self.has_news = True
            self.completion.finish_reason, self.error = reason, error
