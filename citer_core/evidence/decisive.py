"""The oracle of decisive tokens: the fewest LLM tokens that save an answer, as far as one look ahead can tell.

The SLM writes, and where its answer is right that is all. In a wrong one, where the LLM would write another token, it
goes on in thought from the SLM's: the first token from which it no longer reaches the right answer is decisive, the LLM
writes it, and the SLM goes on. A problem that the LLM cannot solve from the start is left to the SLM. It needs the
known answer, so it is a bound and no router.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from citer_core.evaluation.run_book import KeptRun
from citer_core.evidence.plan import EvidencePlan
from citer_core.labelling.rollouts import Policy, Start, disagreements, roll_out
from citer_core.labelling.teacher_forcing import Example, TeacherForced, teacher_force
from citer_core.models.batch import greedy_completions
from citer_core.models.pair import ModelPair
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import Problem
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
        changed = _correct_once(pair, open_texts, policy)
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
        text.ids = [*text.ids[:position], _llm_token(forced[number], position)]
        text.llm_at.append(position)
        text.is_open = text.ids[-1] not in pair.eos_ids
        if text.is_open:
            changed.append(text)
    return changed


def _llm_token(truth: TeacherForced, position: int) -> int:
    return int(truth.llm_ids[position])


def _go_on(pair: ModelPair, texts: Sequence[_Text], plan: EvidencePlan) -> None:
    """Lets the SLM write each text to its end, and closes those that it brings to the right answer."""
    for i, new_ids in _completions(pair, texts, plan):
        texts[i].ids += new_ids
        texts[i].is_open = not _is_right(pair, texts[i])


def _completions(pair: ModelPair, texts: Sequence[_Text], plan: EvidencePlan) -> Iterator[tuple[int, list[int]]]:
    if not texts:
        return
    for i, ids in greedy_completions(
        pair.slm,
        [text.prompt_ids + text.ids for text in texts],
        eos_ids=pair.eos_ids,
        max_new_tokens=plan.max_new_tokens,
        max_context=pair.max_context,
        batch_size=plan.batch_size,
    ):
        yield i, ids[: plan.max_new_tokens - len(texts[i].ids)]


def _is_right(pair: ModelPair, text: _Text) -> bool:
    answer = str(pair.tokenizer.decode(text.ids, skip_special_tokens=True))
    return bool(check_answer(answer, text.problem).is_correct)


def _kept(pair: ModelPair, text: _Text, plan: EvidencePlan) -> KeptRun:
    n_tokens, llm_at = len(text.ids), sorted(text.llm_at)
    work = Workload.routed(len(text.prompt_ids), n_tokens, llm_at)
    is_cut = n_tokens >= plan.max_new_tokens and text.ids[-1] not in pair.eos_ids
    return KeptRun(0.0, 0.0, _is_right(pair, text), n_tokens, len(llm_at), is_cut, 0.0, 0.0, work)
