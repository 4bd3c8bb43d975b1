"""The question of other languages: computed from rows, and asked with the same problems in both."""

from __future__ import annotations

import re

import numpy as np
import pytest

from citer_core.assets import ASSETS
from citer_core.errors import DatasetError
from citer_core.evaluation.metrics import paired_difference, wilson_interval
from citer_core.evidence.claim import Stored
from citer_core.evidence.claims import QUESTIONS
from citer_core.tasks.datasets import read_rows
from citer_core.tasks.problems import problem_from_row
from citer_core.ui.labels.recorded_labels import rows_in_file
from tests.core.stored_evidence import evaluated

LANGUAGES = next(question for question in QUESTIONS if question.name == "languages")
DATASETS = ASSETS / "datasets"


def test_languages_are_compared_on_the_same_problems(tmp_path):
    en, de = [True] * 7 + [False], [True] * 3 + [False] * 5
    assert LANGUAGES.ask(Stored([], tmp_path)).verdict == "not measured"
    for code, right, share in (("en", en, 0.1), ("de", de, 0.2)):
        for kind in ("math", "mc"):
            rows = [evaluated(name, share, right) for name in ("always-slm", "always-llm", "citer")]
            (tmp_path / f"languages-{code}-{kind}.jsonl").write_text("".join(rows))
    found = LANGUAGES.ask(Stored([], tmp_path))
    assert found.verdict == "answered" and found.command
    _, (low, high) = paired_difference([np.array(de * 2)], [np.array(en * 2)])
    said = f"CITER: 14 of 16 right in English, 6 in German (-50 points, {100 * low:+.0f} to {100 * high:+.0f}; "
    assert f"{said}10% and 20% LLM tokens in math, 10% and 20% LLM tokens in mc)" in found.number
    assert found.sentence == (
        "Both models lose right answers; routed answers lose right ones with every router, and at the same tau each "
        "asks the LLM more often."
    )
    rows = {(row.group, row.label): row for figure in found.figures for row in figure.rows if row.n}
    assert rows["German", "CITER"].value == 6 / 16 and (
        (rows["German", "CITER"].low, rows["German", "CITER"].high) == wilson_interval(6, 16)
    )
    (tmp_path / "languages-de-mc.jsonl").write_text(evaluated("citer", 0.1, en, is_kept=False))
    with pytest.raises(DatasetError, match="which problems were right"):
        LANGUAGES.ask(Stored([], tmp_path))
    (tmp_path / "languages-de-mc.jsonl").write_text(evaluated("citer", 0.1, en))
    with pytest.raises(DatasetError, match="the same ways"):
        LANGUAGES.ask(Stored([], tmp_path))
    for code in ("en", "de"):
        rows = [evaluated(name, 0.1, en) for name in ("always-slm", "always-llm", "citer", "citer")]
        (tmp_path / f"languages-{code}-mc.jsonl").write_text("".join(rows))
    with pytest.raises(DatasetError, match="at two taus"):
        LANGUAGES.ask(Stored([], tmp_path))


def test_who_loses_right_answers_is_told_apart(tmp_path):
    """The models alone, and each router: what is level for one may be a loss beyond doubt for another."""
    en, fewer = [True] * 8, [True] * 3 + [False] * 5

    def sentence(llm: list[bool], plus: list[bool]) -> str:
        for code, of_llm, of_plus in (("en", en, en), ("de", llm, plus)):
            given = (("always-slm", en), ("always-llm", of_llm), ("citer", en), ("citer-plus", of_plus))
            rows = [evaluated(name, 0.1, right) for name, right in given]
            (tmp_path / f"languages-{code}-mc.jsonl").write_text("".join(rows))
        return LANGUAGES.ask(Stored([], tmp_path)).sentence

    assert sentence(en, fewer).startswith(
        "For neither model alone is a loss beyond doubt; routed answers lose right ones with CITER plus, and at "
    )
    assert sentence(fewer, en).startswith(
        "One of the models loses right answers; routed answers lose none beyond doubt, and at "
    )


@pytest.mark.parametrize("kind", ["math", "mc"])
def test_the_problems_of_the_two_languages_are_the_same(kind):
    english, german = (list(read_rows(DATASETS / f"languages-{code}-{kind}.jsonl", kind)) for code in ("en", "de"))
    solved = {row["id"]: problem_from_row(row, of) for row, of in rows_in_file(DATASETS / "labelled-qwen.jsonl").rows}
    assert len(english) == len(german) == sum(id_.startswith(f"labelled-{kind}") for id_ in solved)
    for here, there in zip(english, german, strict=True):
        number = here.id.removeprefix("en-")
        assert there.id == f"de-{number}" and here.problem.question == solved[f"labelled-{number}"].question
        answers = [here.problem.true_answer, there.problem.true_answer, solved[f"labelled-{number}"].true_answer]
        assert answers[0] is not None and len(set(answers)) == 1
        numbers = [sorted(re.findall(r"\d+", row.problem.question)) for row in (here, there)]
        assert numbers[0] == numbers[1] and here.problem.question != there.problem.question
