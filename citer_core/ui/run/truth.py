"""What a probe says about labels: those of a run whose problem has a known solution, or in words why there are none.

Imports torch only when it is asked, with an engine there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from citer_core.errors import CiterError
from citer_core.tasks.prompts import DataType
from citer_core.ui.streaming import Message

if TYPE_CHECKING:
    from citer_core.engine import Engine

NO_SOLUTION = "No worked solution of this problem is known here, and a label compares tokens with one."


def truth_message(
    engine: Engine, row: Mapping[str, Any] | None, data_type: DataType, token_ids: Sequence[int]
) -> Message:
    """Case, label and true token of the run's first tokens, as far as they are defined.

    Args:
        engine: has the models.
        row: the problem with its solution; None where none is known.
        data_type: of the row.
        token_ids: what the run wrote.

    Returns:
        `case` and `label`, a digit per token, `true`, its text, null for the end of the text, and `shared`, how many of
        them the run has too; or `why` there are none.
    """
    if row is None:
        return {"why": NO_SOLUTION}
    from citer_core.evaluation.run_labels import label_run
    from citer_core.labelling.teacher_forcing import example_of

    try:
        found = label_run(engine.pair, example_of(row, data_type, engine.pair), token_ids)
    except CiterError as error:
        return {"why": str(error)}
    eos_ids = engine.pair.eos_ids
    return {
        "shared": found.n_shared,
        "case": "".join(map(str, found.case)),
        "label": "".join(map(str, found.label)),
        "true": [None if i in eos_ids else engine.pair.token_text(i) for i in found.truth_ids],
    }
