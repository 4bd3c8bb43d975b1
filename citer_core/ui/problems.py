"""`ProblemBook`: problems that a person can pick from, and the way from a text on the page to a `Problem`; `PairBooks`:
which of them suit the loaded pair.

The bundled pair knows its own word problems and facts; any other pair gets ordinary questions, written by this project.
Knows data sets, no engine.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citer_core.errors import CiterError, DatasetError
from citer_core.gate.fields import Choice, Record, Text
from citer_core.gate.json_file import read_json_lines
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import MAX_PROMPT_CHARS, Problem, problem_from_text
from citer_core.tasks.prompts import DATA_TYPES, DataType

logger = logging.getLogger(__name__)

PICKED_TYPES: tuple[DataType, ...] = ("math", "mc")


class ProblemBook:
    """Problems by a short key (`math 12`) and by their exact text."""

    def __init__(
        self,
        problems: Mapping[DataType, Sequence[Problem]],
        known: Sequence[Problem] = (),
        rows: Sequence[tuple[Problem, Mapping[str, Any]]] = (),
    ) -> None:
        self._by_key = {
            f"{data_type} {number}": problem
            for data_type, some in problems.items()
            for number, problem in enumerate(some, start=1)
        }
        listed = [*known, *self._by_key.values()]
        self._by_text = {(problem.data_type, problem.question): problem for problem in listed}
        self._rows = {(problem.data_type, problem.question): row for problem, row in rows}

    @classmethod
    def bundled(cls, known: Sequence[Problem] = ()) -> ProblemBook:
        """The problems that come with the project; a damaged file costs its problems, not the page.

        Args:
            known: problems that are recognized by their text without being offered, such as those of recorded runs.
        """
        problems: dict[DataType, list[Problem]] = {}
        rows: list[tuple[Problem, Mapping[str, Any]]] = []
        for data_type in PICKED_TYPES:
            try:
                bundled = bundled_rows(data_type)
                problems[data_type] = [row.problem for row in bundled]
                rows += [(row.problem, row.row) for row in bundled]
            except DatasetError as error:
                logger.warning("no bundled problems of the type %s: %s", data_type, error)
        return cls(problems, known, rows)

    @property
    def questions(self) -> list[str]:
        """Of the problems that are offered."""
        return [problem.question for problem in self._by_key.values()]

    def offered(self) -> list[dict[str, str]]:
        """`key`, `question`, `data_type` and where it is known `kind` of every problem; a key names a data set and a
        number.
        """
        kinds = {question: row["kind"] for (_, question), row in self._rows.items() if "kind" in row}
        return [
            {"key": key, "question": problem.question, "data_type": problem.data_type}
            | ({"kind": kinds[problem.question]} if problem.question in kinds else {})
            for key, problem in self._by_key.items()
        ]

    def row(self, problem: Problem) -> Mapping[str, Any] | None:
        """The bundled row of exactly this text, with its worked solution; None where there is none."""
        return self._rows.get((problem.data_type, problem.question))

    def problem(self, text: str, data_type: DataType, true_answer: str = "") -> Problem:
        """What a person asks: the bundled problem of exactly this text, whose answer is known, or else a new one.
        Where a person says what the answer is, that counts.

        Raises:
            PromptError: see `problem_from_text`.
        """
        if true_answer.strip():
            return problem_from_text(text, data_type, true_answer)
        return self._by_text.get((data_type, text.strip())) or problem_from_text(text, data_type)


_SAMPLE = Record(
    {"question": Text(MAX_PROMPT_CHARS), "data_type": Choice(*DATA_TYPES)}, {"answer": Text(MAX_PROMPT_CHARS)}
)


class PairBooks:
    """The bundled problems and the ordinary questions.

    Attributes:
        bundled: the book through which every text on the page becomes a problem.
    """

    def __init__(self, bundled: ProblemBook, samples: ProblemBook) -> None:
        self.bundled, self._samples = bundled, samples

    @classmethod
    def read(cls, datasets: Path, recorded: Sequence[Problem]) -> PairBooks:
        """From the project's assets; a damaged file costs its questions, not the page.

        Args:
            datasets: the folder.
            recorded: what the recorded runs were asked.
        """
        samples = _samples(datasets / "recorded-qwen.jsonl")
        by_type: dict[DataType, list[Problem]] = {}
        for problem in samples:
            by_type.setdefault(problem.data_type, []).append(problem)
        return cls(ProblemBook.bundled([*recorded, *samples]), ProblemBook(by_type))

    def offered(self, *, is_bundled: bool) -> list[dict[str, str]]:
        """What suits the pair: `key`, `question` and `data_type` of each."""
        return (self.bundled if is_bundled else self._samples).offered()


def _samples(path: Path) -> list[Problem]:
    try:
        rows = [_SAMPLE.read(row, f"line {number}") for number, row in read_json_lines(path)]
        return [problem_from_text(row["question"], row["data_type"], row.get("answer") or None) for row in rows]
    except CiterError as error:
        logger.warning("no ordinary questions: %s cannot be read (%s)", path.name, error)
        return []
