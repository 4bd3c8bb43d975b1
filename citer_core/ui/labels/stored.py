"""`stored_analysis`: a bundled set as the Labels view reads it, for a page that has no server to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citer_core.tasks.prompts import DataType
from citer_core.ui.labels.messages import analysis_body
from citer_core.ui.labels.rows import bundled_set
from citer_core.ui.streaming import Message

if TYPE_CHECKING:
    from citer_core.engine import Engine

TRAINED = 3  # so many of the trained routers: each costs a browser a hundred kilobytes


def stored_analysis(engine: Engine, data_type: DataType) -> Message:
    """All bundled problems of a type, read by both models, with the first trained routers' confidences.

    Args:
        engine: with the bundled pair.
        data_type: of the set.
    """
    from citer_core.evaluation.label_view import label_texts
    from citer_core.labelling.teacher_forcing import example_of

    source = bundled_set(data_type)
    routers = [engine.router(name) for name in engine.router_names[:TRAINED]] + [engine.router("max-probability")]
    examples = [example_of(row, kind, engine.pair) for row, kind in source.rows]
    texts = list(label_texts(engine.pair, routers, examples))
    return {"analysis": "stored", "number": 0, **analysis_body(source.title, engine.pair, routers, texts)}
