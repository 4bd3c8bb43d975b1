"""`ProblemSet`: some problems of one format under a name. Knows nothing about models or files."""

from __future__ import annotations

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
