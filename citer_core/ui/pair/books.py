"""`PairBooks`: which problems and which words about its ability suit the loaded pair.

The bundled pair knows its own word problems and facts; any other pair gets ordinary questions, written by this project.
Knows no engine.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from citer_core.errors import CiterError
from citer_core.gate.fields import Choice, Record, Text
from citer_core.gate.json_file import read_json_lines
from citer_core.tasks.problems import MAX_PROMPT_CHARS, Problem, problem_from_text
from citer_core.tasks.prompts import DATA_TYPES, DataType
from citer_core.ui.problem_book import ProblemBook

logger = logging.getLogger(__name__)
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


def what_it_can(title: str, *, chat: bool) -> str:
    """What a pair that is not the bundled one may be asked, in a few sentences under the problem's box."""
    if chat:
        return (
            f"{title}: instruct models, which follow ordinary instructions in many languages. Ask what you like, or "
            "pick a question. They can be wrong about facts and numbers, and know nothing later than their training."
        )
    return (
        f"{title}: models without a chat form, which go on with a text. Problems are put to them as plain text; "
        "what they can answer depends on their training."
    )


def _samples(path: Path) -> list[Problem]:
    try:
        rows = [_SAMPLE.read(row, f"line {number}") for number, row in read_json_lines(path)]
        return [problem_from_text(row["question"], row["data_type"], row.get("answer") or None) for row in rows]
    except CiterError as error:
        logger.warning("no ordinary questions: %s cannot be read (%s)", path.name, error)
        return []
