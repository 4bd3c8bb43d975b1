"""What rollouts found, in a file of its own: a row per example, without its text and without states.

Rollouts are nearly all of what labels cost, and a few bytes. A folder of labels is megabytes per example of a large
pair and holds the data set's text as ids; from this file the same folder is made again wherever the pair and the data
set are, with one pass per model and no rollout.

    {"id": digest of prompt and truth, "name": the example's id, "rollouts": [[position, right], ...], "slm_alone": 1}

Published labels have one outcome a position, labels by outcome two: [position, SLM's branch, LLM's branch]. Who rolled
out, and how, stands in the sidecar of `RowFile`; another pair, policy or limit is refused. Called by `label_files`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citer_core.errors import DatasetError, GateError
from citer_core.gate.fields import ListOf, Maybe, Record, Row, Text, Whole
from citer_core.labelling.teacher_forcing import Example
from citer_core.row_file import PAIR_REVISION, RowFile

MAX_POSITIONS = 100_000  # of one example


def rollouts_row(branches: int) -> Record:
    """A row, of rollouts with so many outcomes a position."""
    outcome = Row(Whole(0, MAX_POSITIONS), *[Whole(0, 1)] * branches)
    return Record(
        {
            "id": Text(64),
            "name": Maybe(Text(100_000)),
            "rollouts": ListOf(outcome, most=MAX_POSITIONS),
            "slm_alone": Maybe(Whole(0, 1)),
        }
    )


@dataclass(frozen=True, slots=True)
class RolledOut:
    """What the rollouts of one example found.

    Attributes:
        outcomes: of the positions that were rolled out, whether the answer was right, 1 or 0: of the one branch of
            published labels, or of the SLM's and the LLM's.
        slm_alone: whether the SLM alone answers right, 1 or 0; None where it was not asked.
    """

    outcomes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    slm_alone: int | None = None


NOTHING = RolledOut()


class RolloutsFile(RowFile):
    """An open file of rollouts: what is known, and where more is kept."""

    def __init__(self, path: Path, rolled_by: Mapping[str, Any], *, branches: int) -> None:
        """Opens or creates the file and takes a lock on it.

        Args:
            path: of the rows.
            rolled_by: who rolled out and how, with the pair's revision; JSON values.
            branches: outcomes of a position, 1 or 2.

        Raises:
            DatasetError: it cannot be written, is being written by another run, is damaged, or is of other rollouts.
        """
        rest = {name: value for name, value in rolled_by.items() if name != PAIR_REVISION}
        super().__init__(path, {"schema": "citer-rollouts", **rest}, {"rollouts": list})
        try:
            self.bind({PAIR_REVISION: rolled_by[PAIR_REVISION]})
            kind = rollouts_row(branches)
            self._known = {id_: self._read(kind, row) for id_, row in self.rows.items()}
        except BaseException:
            self._file.close()
            raise

    def known(self, example: Example) -> RolledOut:
        """What the file has of an example; nothing, if it is not there."""
        return self._known.get(_digest(example), NOTHING)

    def keep(self, example: Example, found: RolledOut) -> None:
        """Writes what rollouts found of an example, unless the file has all of it.

        Raises:
            MachineError: the disk is full or gone.
        """
        id_, before = _digest(example), self.known(example)
        merged = RolledOut(
            {**before.outcomes, **found.outcomes}, before.slm_alone if found.slm_alone is None else found.slm_alone
        )
        if id_ in self._known and merged == before:
            return
        rollouts = [[position, *outcome] for position, outcome in sorted(merged.outcomes.items())]
        self.append({"id": id_, "name": example.problem.id, "rollouts": rollouts, "slm_alone": merged.slm_alone})
        self._known[id_] = merged

    def _read(self, kind: Record, row: Mapping[str, Any]) -> RolledOut:
        try:
            read = kind.read(row, "")
        except GateError as error:
            raise DatasetError(
                f"{self.path} holds a row that is none of rollouts ({error}). Take the row out, or choose another file."
            ) from error
        return RolledOut({position: tuple(bits) for position, *bits in read["rollouts"]}, read["slm_alone"])


def _digest(example: Example) -> str:
    """Names an example by what both models read, so that a changed text has other rollouts."""
    text = json.dumps([example.prompt_ids, example.truth_ids], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
