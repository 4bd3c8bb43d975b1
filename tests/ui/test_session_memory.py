"""What gradio keeps of programs that call the API: of no more of them than a class has, and nothing for long."""

from __future__ import annotations

from typing import Any

import pytest

from citer_core.ui.server import MOST_SESSIONS
from tests.http_visitor import HttpVisitor
from tests.ui.serving import Served

pytestmark = pytest.mark.ui


def test_sessions_of_programs_are_bounded(served: Served, pages: dict[str, Any]) -> None:
    blocks = pages[served.url]._server.get_blocks()
    for number in range(MOST_SESSIONS + 5):
        blocks.state_holder[f"caller {number}"]
    assert len(blocks.state_holder.session_data) == MOST_SESSIONS
    with HttpVisitor(served.url) as visitor:
        assert visitor.call("list_routers")
    assert len(blocks.state_holder.session_data) <= MOST_SESSIONS + 1


def test_a_page_leaves_nothing_with_gradio(served: Served, pages: dict[str, Any]) -> None:
    blocks = pages[served.url]._server.get_blocks()
    before = len(blocks.state_holder.session_data), dict(blocks._queue.pending_messages_per_session)
    with HttpVisitor(served.url) as visitor:
        assert visitor.ask("engine_status")[-1]["state"] == "ready"
        asked = {"question": "A short one.", "data_type": "math", "router": None, "settings": {}}
        assert visitor.ask("run", asked)[-1]["end"]["finish_reason"] == "eos"
    assert (len(blocks.state_holder.session_data), dict(blocks._queue.pending_messages_per_session)) == before
