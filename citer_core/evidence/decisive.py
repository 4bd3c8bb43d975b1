"""What single decisions are worth: the oracle of decisive tokens, and the decisions of a router flipped one at a time.

The oracle has the fewest LLM tokens that save an answer, as far as one look ahead can tell. The SLM writes, and where
its answer is right that is all. In a wrong one, where the LLM would write another token, it goes on in thought from the
SLM's: the first token from which it no longer reaches the right answer is decisive, the LLM writes it, and the SLM goes
on. A problem that the LLM cannot solve from the start is left to the SLM. It needs the known answer, so it is a bound
and no router. Knows nothing about training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from citer_core.engine import Engine
from citer_core.evaluation.run_book import KeptRun
from citer_core.evidence.plan import EvidencePlan
from citer_core.labelling.rollouts import Policy, Start, disagreements, roll_out
from citer_core.labelling.teacher_forcing import Example, teacher_force
from citer_core.models.batch import batch_completions
from citer_core.models.pair import ModelPair
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import Problem
from citer_core.tasks.prompts import DataType
from citer_core.types import DecodeSettings
from citer_core.workload import Workload

MAX_DECISIVE = 30  # tokens of one answer


@dataclass(slots=True)
class _Text:
    """An answer on its way.

    Attributes:
        problem, prompt_ids: what is asked.
        ids: the answer so far, to its end, as the SLM goes on.
        llm_at: positions of the LLM's tokens.
        is_open: there may be another decisive token.
    """

    problem: Problem
    prompt_ids: list[int]
    ids: list[int] = field(default_factory=list)
    llm_at: list[int] = field(default_factory=list)
    is_open: bool = True


def decisive_runs(pair: ModelPair, problems: Sequence[Problem], plan: EvidencePlan) -> list[KeptRun]:
    """One answer per problem in which the LLM writes the decisive tokens; its seconds are not measured."""
    texts = [_Text(problem, pair.encode(problem.prompt)) for problem in problems]
    _go_on(pair, texts, plan)
    policy = Policy.llm_alone(max_new_tokens=plan.max_new_tokens, batch_size=plan.batch_size)
    # What the LLM cannot solve from the start cannot be saved token by token.
    wrong = [text for text in texts if text.is_open]
    examples = [Example(text.problem, text.prompt_ids, text.ids) for text in wrong]
    for i, outcome in roll_out(pair, examples, [Start(i, 0) for i in range(len(wrong))], policy):
        wrong[i].is_open = outcome.is_correct
    while open_texts := [text for text in texts if text.is_open and len(text.llm_at) < MAX_DECISIVE]:
        if changed := _correct_once(pair, open_texts, policy):
            _go_on(pair, changed, plan)
    return [_kept(pair, text, plan) for text in texts]


def _correct_once(pair: ModelPair, texts: Sequence[_Text], policy: Policy) -> list[_Text]:
    """Puts the LLM's token where the first decisive one of each text is; those without another one are closed."""
    examples = [Example(text.problem, text.prompt_ids, text.ids) for text in texts]
    forced = list(teacher_force(pair, examples))
    # Positions after the last LLM token, in order, at which the models differ; all are tried at once.
    places = [
        (number, position)
        for number, (text, truth) in enumerate(zip(texts, forced, strict=True))
        for position in disagreements(truth)
        if not text.llm_at or position > text.llm_at[-1]
    ]
    starts = [Start(number, position, (texts[number].ids[position],)) for number, position in places]
    first: dict[int, int] = {}
    for i, outcome in roll_out(pair, examples, starts, policy):
        number, position = places[i]
        if not outcome.is_correct:
            first[number] = min(position, first.get(number, position))
    changed = []
    for number, text in enumerate(texts):
        if number not in first:
            text.is_open = False
            continue
        position = first[number]
        text.ids = [*text.ids[:position], int(forced[number].llm_ids[position])]
        text.llm_at.append(position)
        text.is_open = text.ids[-1] not in pair.eos_ids
        if text.is_open:
            changed.append(text)
    return changed


def _go_on(pair: ModelPair, texts: Sequence[_Text], plan: EvidencePlan) -> None:
    """Lets the SLM write each text to its end, and closes those that it brings to the right answer."""
    for i, new_ids in batch_completions(
        pair.slm,
        [text.prompt_ids + text.ids for text in texts],
        eos_ids=pair.eos_ids,
        max_new_tokens=plan.max_new_tokens,
        max_context=pair.max_context,
        batch_size=plan.batch_size,
    ):
        texts[i].ids += new_ids[: plan.max_new_tokens - len(texts[i].ids)]
        texts[i].is_open = not _is_right(pair, texts[i])


def _is_right(pair: ModelPair, text: _Text) -> bool:
    answer = str(pair.tokenizer.decode(text.ids, skip_special_tokens=True))
    return bool(check_answer(answer, text.problem).is_correct)


def _kept(pair: ModelPair, text: _Text, plan: EvidencePlan) -> KeptRun:
    n_tokens, llm_at = len(text.ids), sorted(text.llm_at)
    work = Workload.routed(len(text.prompt_ids), n_tokens, llm_at)
    is_cut = n_tokens >= plan.max_new_tokens and text.ids[-1] not in pair.eos_ids
    return KeptRun(0.0, 0.0, _is_right(pair, text), n_tokens, len(llm_at), is_cut, 0.0, 0.0, work)


def flip_decisions(engine: Engine, router: str, threshold: float, data_type: DataType, plan: EvidencePlan) -> Any:
    """The entry of one format in the stored part `misjudged`: what a wrong decision costs.

    In the answers of a router at its tau, a token is in question where the two models would write different ones.
    Flipped, the answer goes on under the same router, and is marked.

    Args:
        engine: pair and routers.
        router, threshold: whose decisions.
        data_type: of the problems, the first of the test's.
        plan: how many problems, and how is decoded.

    Returns:
        How many answers each kind of flip lost or won: `to_slm` gives a token of the LLM to the SLM, `to_llm` one of
        the SLM to the LLM.
    """
    problems = plan.test(data_type).problems[: plan.n_flipped]
    settings = DecodeSettings(threshold=threshold, max_new_tokens=plan.max_new_tokens)
    traces = dict(engine.run_batch(problems, router=router, settings=settings, batch_size=plan.batch_size))
    examples = [
        Example(problem, engine.pair.encode(problem.prompt), [event.token_id for event in traces[i].events])
        for i, problem in enumerate(problems)
    ]
    starts, to_llm = [], []
    for number, truth in enumerate(teacher_force(engine.pair, examples)):
        for position in disagreements(truth):
            by_slm = traces[number].events[position].source == "slm"
            other = truth.llm_ids if by_slm else truth.slm_ids
            starts.append(Start(number, position, (int(other[position]),)))
            to_llm.append(by_slm)
    policy = Policy(engine.router(router), threshold, plan.max_new_tokens, plan.batch_size)
    answers = [traces[i].answer for i in range(len(problems))]
    was_right = [bool(answer and answer.is_correct) for answer in answers]
    counts = {True: [0, 0, 0], False: [0, 0, 0]}  # n, lost, won
    for k, outcome in roll_out(engine.pair, examples, starts, policy):
        before, count = was_right[starts[k].example], counts[to_llm[k]]
        count[0] += 1
        count[1] += before and not outcome.is_correct
        count[2] += outcome.is_correct and not before
    names = ("n", "n_lost", "n_won")
    return {
        "router": router,
        "threshold": threshold,
        "n_problems": len(problems),
        "n_right": sum(was_right),
        "n_tokens": sum(trace.n_tokens for trace in traces.values()),
        "n_llm_tokens": sum(trace.n_llm_tokens for trace in traces.values()),
        "to_slm": dict(zip(names, counts[False], strict=True)),
        "to_llm": dict(zip(names, counts[True], strict=True)),
    }
