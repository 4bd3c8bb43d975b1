"""Whose text is labelled: a data set's ground truth, or what the LLM itself answers, for which no answer need be known.

    gold  the row's own solution and answer
    llm   the LLM's greedy answer, and what it comes to
    walk  the same with each token of the SLM put in after which the LLM comes to the same, one after the other

In the last one the models differ only where it matters, so the shortcut's cases are its labels: 1 where a token may be
the SLM's, 2 where it must be the LLM's. That is the search of AutoJudge (arXiv 2504.20039) with the SLM's greedy token.
Called by `label_files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from citer_core.errors import DatasetError
from citer_core.labelling.rollouts import Policy, Start, continued, roll_out
from citer_core.labelling.teacher_forcing import Example, example_of, slm_choices
from citer_core.models.pair import ModelPair
from citer_core.tasks.answers import extract_answer
from citer_core.tasks.problems import Problem, Rows, problem_from_row

Truth = Literal["gold", "llm", "walk"]


def examples_of(pair: ModelPair, rows: Rows, truth: Truth, policy: Policy) -> list[Example]:
    """What is labelled of each row.

    Args:
        pair: the two models.
        rows: in an official format; of `gold` with a solution.
        truth: whose text.
        policy: its limits hold for what the LLM writes.

    Raises:
        DatasetError: a row is malformed, or leaves no room in the models' context.
    """
    if truth == "gold":
        return [example_of(row, data_type, pair) for row, data_type in rows]
    limits = Policy.llm_alone(max_new_tokens=policy.max_new_tokens, batch_size=policy.batch_size)
    examples = _answered(pair, [problem_from_row(row, data_type) for row, data_type in rows], limits)
    return _walked(pair, examples, limits) if truth == "walk" else examples


def _answered(pair: ModelPair, problems: Sequence[Problem], llm: Policy) -> list[Example]:
    """Each problem with the LLM's text; its answer is what that comes to, None where it comes to nothing."""
    prompts = [pair.encode(problem.prompt) for problem in problems]
    for problem, prompt_ids in zip(problems, prompts, strict=True):
        if len(prompt_ids) > pair.max_context - 2:
            raise DatasetError(
                f"The row {problem.id or problem.question[:40]!r} has {len(prompt_ids):,} tokens; this pair reads "
                f"fewer than {pair.max_context - 1:,}. Leave it out or shorten it."
            )
    examples = [Example(problem, ids, []) for problem, ids in zip(problems, prompts, strict=True)]
    for i, new_ids in continued(pair, prompts, llm):
        ids = new_ids[: pair.max_context - 1 - len(prompts[i])]  # room for one more, as gold texts leave it
        text = str(pair.tokenizer.decode(ids, skip_special_tokens=True))
        answer = extract_answer(text, problems[i])
        examples[i] = Example(replace(problems[i], true_answer=answer), prompts[i], ids)
    return examples


def _walked(pair: ModelPair, examples: Sequence[Example], llm: Policy) -> list[Example]:
    """Each text after the search; one that comes to nothing stays as the LLM wrote it."""
    found = list(examples)
    at = dict.fromkeys((i for i, example in enumerate(found) if example.problem.true_answer is not None), 0)
    while at:
        starts = []
        for i, slm_ids in zip([*at], slm_choices(pair, [found[i] for i in at]), strict=True):
            tokens = zip(slm_ids.tolist(), found[i].truth_ids, strict=True)
            place = next((p for p, (ours, theirs) in enumerate(tokens) if p >= at[i] and ours != theirs), None)
            if place is None:
                del at[i]
                continue
            starts.append(Start(i, place, (int(slm_ids[place]),)))
            at[i] = place + 1
        for k, outcome in roll_out(pair, found, starts, llm, llm.max_new_tokens):
            i = starts[k].example
            if outcome.is_correct:
                found[i] = replace(found[i], truth_ids=outcome.token_ids)
    return found
