"""Accuracy and share of LLM tokens by the length of question and answer: the part `length`.

Of runs that the part `accuracy` has made; nothing is decoded again where it has. Knows nothing about training.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from citer_core.evaluation.run_book import KeptRun, RunBook, threshold_for
from citer_core.evidence.accuracy import ALONE, Named, length_classes
from citer_core.evidence.part_tables import N_LENGTHS
from citer_core.evidence.statistics import pack
from citer_core.tasks.problem_set import ProblemSet


def by_length(
    book: RunBook, test: ProblemSet, tuning: ProblemSet, routers: Sequence[Named], share: float
) -> dict[str, Any]:
    """The entry of one format.

    Args:
        book: of an engine that has all routers.
        test, tuning: problems.
        routers: that are looked at, beside either model alone.
        share: of LLM tokens, at which they are.

    Returns:
        Quarters by the tokens of the prompt and of the LLM's own answer, and one point per router with its right
        answers and, for each quarter, its tokens and its LLM tokens.
    """
    pair = book.engine.pair
    answers = [run.n_tokens for run in book.runs("always-llm", test, 1.0)]
    prompts = [len(pair.encode(problem.prompt)) for problem in test.problems]
    kinds = {"question": length_classes(prompts), "answer": length_classes(answers)}

    def point(named: Named, tau: float, wanted: float | None) -> dict[str, Any]:
        runs = book.runs(named.key, test, tau)
        return {
            "router": named.router,
            "label": named.label,
            "seed": named.seed,
            "share_wanted": wanted,
            "threshold": tau,
            "right": pack([run.is_right for run in runs]),
            **{f"by_{kind}": _tokens(runs, of) for kind, (of, _) in kinds.items()},
        }

    engine = book.engine
    alone = [point(Named(name, name, engine.router(name).label), tau, None) for name, tau in ALONE.items()]
    found = [point(named, threshold_for(book, named.key, tuning, share), share) for named in routers]
    return {
        "n": len(test.problems),
        **{f"{kind}_of": "".join(map(str, of)) for kind, (of, _) in kinds.items()},
        **{f"{kind}_bounds": bounds for kind, (_, bounds) in kinds.items()},
        "points": alone + found,
    }


def _tokens(runs: Sequence[KeptRun], of: Iterable[int]) -> list[list[int]]:
    """(tokens, LLM tokens) of each quarter."""
    found = [[0, 0] for _ in range(N_LENGTHS)]
    for k, run in zip(of, runs, strict=True):
        found[k][0] += run.n_tokens
        found[k][1] += run.n_llm_tokens
    return found
