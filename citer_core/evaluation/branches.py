"""`roll_out_branches`: both ways from one ground-truth token, word by word: the SLM writes it, or the LLM does.

Labels of case 2 prefer the LLM without ever trying the SLM's branch, and a failed rollout of case 3 prefers the LLM
without trying the LLM's. Here both are tried: the true prefix, one model's greedy token, and then collaborative
decoding. Many tokens at once, for statistics, are `citer_core.evaluation.shortcut`. Knows nothing about pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from citer_core.labelling.rollouts import MAX_ROLLOUT_TOKENS, preferred_source
from citer_core.labelling.teacher_forcing import Example
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode_batch
from citer_core.routing.prompt import sequence_key
from citer_core.routing.router import Router, RouterFeatures
from citer_core.routing.sequence import RoutedSequence
from citer_core.tasks.answers import check_answer
from citer_core.types import DecodeSettings, FinishReason, Source


@dataclass(frozen=True, slots=True)
class Branch:
    """One continuation.

    Attributes:
        token: the branch's own token; "" for the end of text.
        pieces: (text, writer) of every token after it.
        answer: what was answered, None where nothing was.
        is_correct: False where nothing was answered.
        finish_reason: `eos`, `length` or `cancelled`.
    """

    token: str
    pieces: tuple[tuple[str, Source], ...]
    answer: str | None
    is_correct: bool
    finish_reason: FinishReason

    @property
    def n_llm_tokens(self) -> int:
        """LLM tokens after the branch's own."""
        return sum(source == "llm" for _, source in self.pieces)


@dataclass(frozen=True, slots=True)
class Branches:
    """Both continuations from one position."""

    slm: Branch
    llm: Branch

    @property
    def preferred(self) -> Source | None:
        """Who should write the token; None where both fail."""
        return preferred_source(slm_is_correct=self.slm.is_correct, llm_is_correct=self.llm.is_correct)


class _Continued(Router):
    """A router that is told where in the completion it stands: its prompt holds the true prefix too."""

    def __init__(self, inner: Router, prompt_hidden: Tensor, key: int, offset: int) -> None:
        self.name, self.label = inner.name, inner.label
        self.reads_llm, self.uses_llm_entropy = inner.reads_llm, inner.uses_llm_entropy
        self._inner, self._prompt_hidden, self._key, self._offset = inner, prompt_hidden, key, offset

    def confidence(self, features: RouterFeatures) -> Tensor:
        """The inner router's, of the same positions as parts of one completion."""
        position = torch.zeros_like(features.hidden[:, 0], dtype=torch.long)
        position += self._offset if features.position is None else features.position + self._offset
        return self._inner.confidence(
            replace(
                features,
                prompt_hidden=self._prompt_hidden.expand_as(features.hidden),
                sequence_key=torch.full_like(position, self._key),
                position=position,
            )
        )


def roll_out_branches(
    pair: ModelPair,
    router: Router,
    example: Example,
    position: int,
    token_ids: tuple[int, int],
    threshold: float,
    *,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Branches:
    """Tries both models' tokens at one position of the ground truth.

    Args:
        pair: the two models.
        router: decides who writes the rest.
        example: the problem and its ground truth.
        position: of the token in question; the true tokens before it are the prefix.
        token_ids: the SLM's and the LLM's greedy token there. Where they are equal, there is one branch, twice.
        threshold: tau of the rest.
        is_cancelled: asked between steps.
    """
    prefix = example.truth_ids[:position]
    prompts = {token_id: example.prompt_ids + prefix + [token_id] for token_id in token_ids}
    # An end of text ends its branch, and a full context leaves nothing to write.
    open_ids = [t for t, ids in prompts.items() if t not in pair.eos_ids and len(ids) < pair.max_context]
    settings = DecodeSettings(threshold=threshold, max_new_tokens=MAX_ROLLOUT_TOKENS)
    continued = _Continued(router, _prompt_hidden(pair, example), sequence_key(example.prompt_ids), position + 1)
    completions = decode_batch(pair, continued, [prompts[t] for t in open_ids], settings, is_cancelled=is_cancelled)
    rest = {open_ids[completion.index]: completion for completion in completions}
    branches = {token_id: _branch(pair, example, prefix, token_id, rest.get(token_id)) for token_id in prompts}
    return Branches(*(branches[token_id] for token_id in token_ids))


@torch.inference_mode()
def _prompt_hidden(pair: ModelPair, example: Example) -> Tensor:
    """[1, H], the SLM's state at the prompt's end, for routers that judge the question."""
    _, hidden = next(iter(pair.slm.read([example.prompt_ids], [1])))
    return hidden


def _branch(pair: ModelPair, example: Example, prefix: list[int], token_id: int, rest: RoutedSequence | None) -> Branch:
    ids = [*prefix, token_id, *(rest.token_ids if rest else [])]
    text = str(pair.tokenizer.decode(ids, skip_special_tokens=True))
    answer = check_answer(text, example.problem)
    ended = token_id in pair.eos_ids
    return Branch(
        token="" if ended else pair.token_text(token_id),
        pieces=tuple((event.text, event.source) for event in rest.new_events(pair)) if rest else (),
        answer=answer.predicted_answer,
        is_correct=bool(answer.is_correct),
        finish_reason=(rest.finish_reason or "cancelled") if rest else "eos" if ended else "length",
    )
