"""Rollouts: what happens when a text goes on from here, or with the one or the other model's token. Many at once.

Iteration 1 of CITER lets the SLM go on alone, later ones let both models go on under the router of the round before;
labels by outcome begin with the LLM alone. Knows nothing about labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from citer_core.errors import SettingError
from citer_core.labelling.teacher_forcing import Example, TeacherForced
from citer_core.models.batch import batch_completions
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.remote_texts import remote_completions
from citer_core.routing.decode import decode_batch
from citer_core.routing.memory import Memory
from citer_core.routing.router import Router
from citer_core.routing.routers.training_free import AlwaysLLMRouter, AlwaysSLMRouter
from citer_core.routing.stored import StoredRouter
from citer_core.tasks.answers import check_answer
from citer_core.types import DecodeSettings, Source

MAX_ROLLOUT_TOKENS = 256
COLLABORATIVE_THRESHOLD = 0.95  # the authors' published code, for confidences that are not for equal priors


@dataclass(frozen=True)
class Policy:
    """Who goes on with a text.

    Attributes:
        router: decides token by token; the default is the SLM alone.
        threshold: its tau; 0 for the SLM alone.
        max_new_tokens: where a rollout is given up.
        batch_size: rollouts at once.
        memory: of what rollouts of this pair have come to, so that later rounds ask the models only what is new.
    """

    router: Router
    threshold: float
    max_new_tokens: int = MAX_ROLLOUT_TOKENS
    batch_size: int = 32
    memory: Memory | None = field(default=None, compare=False)

    @classmethod
    def slm_alone(cls, **limits: Any) -> Policy:
        """The policy of iteration 1."""
        return cls(AlwaysSLMRouter(), 0.0, **limits)

    @classmethod
    def llm_alone(cls, **limits: Any) -> Policy:
        """The policy that says best what a token has spoilt, because it spoils least by itself."""
        return cls(AlwaysLLMRouter(), 1.0, **limits)

    @classmethod
    def routed(cls, router: Router, share: float | None = None, **limits: Any) -> Policy:
        """Both models under a trained router.

        Args:
            router: of the round before.
            share: of tokens for the LLM; None takes the published tau, whatever share that is with this router.
            limits: of rollouts.

        Raises:
            SettingError: a share of a router that was not trained.
        """
        if share is None:
            return cls(router, COLLABORATIVE_THRESHOLD, **limits)
        if not isinstance(router, StoredRouter):
            raise SettingError(
                f'The router "{router.name}" was not trained, so no share of LLM tokens can be turned into its tau: '
                "give --router-threshold."
            )
        return cls(router, router.threshold_at(share), **limits)

    @property
    def is_llm_alone(self) -> bool:
        """Whether every token is the LLM's, so that the SLM need not run."""
        return isinstance(self.router, AlwaysLLMRouter)


@dataclass(frozen=True, slots=True)
class Start:
    """Where a rollout begins: an example, how many of its true tokens are kept, and what is put behind them."""

    example: int
    position: int
    forced_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a rollout ended.

    Attributes:
        completion: the whole answer, kept true tokens included.
        predicted_answer: read from it, None where there is none.
        is_correct: whether that is the true answer.
        token_ids: of it, the end of text included where it was reached.
    """

    completion: str
    predicted_answer: str | None
    is_correct: bool
    token_ids: list[int]


def preferred_source(*, slm_is_correct: bool, llm_is_correct: bool) -> Source | None:
    """Who should have written a token after which both branches were rolled out; None where neither answer is right.

    The SLM wherever its branch is right, because it is cheaper.
    """
    return "slm" if slm_is_correct else "llm" if llm_is_correct else None


def roll_out(
    pair: ModelPair, examples: Sequence[Example], starts: Sequence[Start], policy: Policy, limit: int | None = None
) -> Iterator[tuple[int, Outcome]]:
    """Goes on from every start and marks the answers.

    Args:
        pair: the two models.
        examples: with an answer.
        starts: where.
        policy: who goes on.
        limit: tokens of a whole answer, at which it is cut; None cuts none.

    Yields:
        (index in `starts`, outcome) as rollouts end. A start whose forced token ends the text is marked as it stands.
    """
    prefixes = [_written(examples[start.example], start) for start in starts]
    running = []
    for i, (start, written) in enumerate(zip(starts, prefixes, strict=True)):
        if start.forced_ids and start.forced_ids[-1] in pair.eos_ids:
            yield i, _outcome(pair, examples[start.example], written)
        else:
            running.append(i)
    prompts = [examples[starts[i].example].prompt_ids + prefixes[i] for i in running]
    # Texts of one example side by side share their beginning; the order of the results does not matter.
    order = sorted(range(len(running)), key=lambda k: (starts[running[k]].example, starts[running[k]].position))
    if not order:
        return
    for k, new_ids in continued(pair, [prompts[k] for k in order], policy):
        i = running[order[k]]
        yield i, _outcome(pair, examples[starts[i].example], (prefixes[i] + new_ids)[:limit])


def disagreements(truth: TeacherForced) -> list[int]:
    """Positions at which the two models would write different tokens, whichever of them is the true one."""
    positions: list[int] = (truth.slm_ids != truth.llm_ids).nonzero().flatten().tolist()
    return positions


def roll_out_branches(
    pair: ModelPair,
    examples: Sequence[Example],
    places: Sequence[tuple[int, int]],
    tokens: Sequence[tuple[int, int]],
    policy: Policy,
    forced: Sequence[TeacherForced] = (),
) -> list[tuple[Outcome, Outcome]]:
    """Goes on from each place with the SLM's and with the LLM's token; equal texts are rolled out once.

    Args:
        pair: the two models.
        examples: with ground truth.
        places: (example, position of the token in its ground truth).
        tokens: (SLM's, LLM's) greedy token at each place.
        policy: who goes on.
        forced: what both models say at all examples, if that is known. Where the LLM goes on alone and would write the
            ground truth for a while, a branch then begins where it leaves it, as many others do; its limit counts from
            there.

    Returns:
        (SLM's, LLM's) outcome of each place.
    """
    follow = forced if policy.is_llm_alone else ()
    both = [
        tuple(_leaving(Start(example, position, (token,)), follow) for token in pair_of_tokens)
        for (example, position), pair_of_tokens in zip(places, tokens, strict=True)
    ]
    starts = list(dict.fromkeys(start for branches in both for start in branches))
    outcomes = {starts[i]: outcome for i, outcome in roll_out(pair, examples, starts, policy)}
    return [(outcomes[slm], outcomes[llm]) for slm, llm in both]


def _leaving(start: Start, forced: Sequence[TeacherForced]) -> Start:
    """Where a branch that the LLM writes leaves the ground truth; its end of text where it never does."""
    if not forced:
        return start
    truth, position, (token,) = forced[start.example], start.position, start.forced_ids
    while token == int(truth.truth_ids[position]) and position + 1 < len(truth.truth_ids):
        position += 1
        token = int(truth.llm_ids[position])
    return Start(start.example, position, (token,))


def continued(pair: ModelPair, prompts: Sequence[Sequence[int]], policy: Policy) -> Iterator[tuple[int, list[int]]]:
    """Goes on with texts under a policy.

    Yields:
        (index in `prompts`, new token ids up to and with the end of text), as they end.
    """
    if policy.is_llm_alone:
        options: dict[str, Any] = {
            "max_new_tokens": policy.max_new_tokens,
            "max_context": pair.max_context,
            "batch_size": policy.batch_size,
        }
        if isinstance(pair.llm, RemoteLM):
            yield from remote_completions(pair.llm, prompts, eos_ids=pair.eos_ids, **options)
        else:
            yield from batch_completions(pair.llm, prompts, eos_ids=pair.eos_ids, keep_order=True, **options)
        return
    settings = DecodeSettings(threshold=policy.threshold, max_new_tokens=policy.max_new_tokens)
    for done in decode_batch(
        pair, policy.router, prompts, settings, batch_size=policy.batch_size, memory=policy.memory
    ):
        yield done.index, done.token_ids


def _written(example: Example, start: Start) -> list[int]:
    return example.truth_ids[: start.position] + list(start.forced_ids)


def _outcome(pair: ModelPair, example: Example, ids: list[int]) -> Outcome:
    # Only the completion is searched for an answer: the prompt may have a \boxed{} of its own.
    text = str(pair.tokenizer.decode(ids, skip_special_tokens=True))
    answer = check_answer(text, example.problem)
    return Outcome(text, answer.predicted_answer, bool(answer.is_correct), ids)
