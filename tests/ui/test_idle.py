"""A page that is not used hardly uses the processor."""

from __future__ import annotations

import inspect
from typing import Any

from gradio.queueing import Queue

from citer_core.ui.server import QUEUE_LOOK_S
from tests.ui.serving import Served


def test_the_queue_is_looked_at_a_hundred_times_a_second_and_not_a_thousand(
    served: Served, pages: dict[str, Any]
) -> None:
    """Gradio has no setting for it; that it still waits this long is what its source says."""
    assert pages[served.url]._server.get_blocks()._queue.sleep_when_free == QUEUE_LOOK_S == 0.01
    assert "sleep(self.sleep_when_free)" in inspect.getsource(Queue.start_processing)
