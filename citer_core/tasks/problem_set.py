"""`ProblemSet`: some problems of one format under a name. Knows nothing about models or files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from citer_core.tasks.problems import Problem
from citer_core.tasks.prompts import DataType


@dataclass(frozen=True, slots=True)
class ProblemSet:
    """Some problems of one format.

    Attributes:
        name: of format and purpose; one name has the same problems in the same order, more of them or fewer.
    """

    name: str
    data_type: DataType
    problems: tuple[Problem, ...]


def problems_digest(problems: Sequence[Problem]) -> str:
    """Says which problems these are, whatever file they come from."""
    asked = [(problem.prompt, problem.true_answer) for problem in problems]
    return f"{len(asked)} problems, {hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]}"
