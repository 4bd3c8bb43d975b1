"""What gradio keeps of sessions: no large value, nothing of a closed page, and of no more sessions than a class has."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import gradio as gr
import pytest

from citer_core.config import AppConfig
from citer_core.ui.page import build_page, serve
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.offers import PairOffers
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.session_memory import MOST_SESSIONS, forget_session, forget_value
from tests.http_visitor import HttpVisitor
from tests.ui.conftest import free_port, unchanging

ROW = '{"problem": "What is 2 + 3?", "solution": "$2+3=5$, so $\\\\boxed{5}$."}'


@pytest.fixture(scope="module")
def page() -> Iterator[gr.Blocks]:
    """A page over the bundled pair, served."""
    from citer_core.engine import Engine

    config = AppConfig(port=free_port(), pairs="fixed")
    slot = EngineSlot(Engine.load)
    page = build_page(config, slot, PairSwitch(slot, unchanging, PairOffers(config), config.pair, config.dtype))
    serve(page, config)
    slot.start()
    assert slot.wait(60) is not None
    yield page
    page.close(verbose=False)


def values_of(page: gr.Blocks, session: str) -> list[object]:
    """Every component's last value, as it is kept for a session."""
    kept = page.state_holder.session_data[session].config_values.values()
    return [config["props"].get("value") for config in kept if config and "props" in config]


def test_an_analysis_is_not_kept_and_a_closed_page_not_at_all(page: gr.Blocks) -> None:
    with HttpVisitor(page.local_url) as visitor:
        with visitor.page():
            (text,) = visitor.click("cx-labels-read", ["\n".join([ROW] * 20)])
            assert len(json.loads(text)["problems"]) == 20 and len(text) > 10_000
            longest = max(len(value) for value in values_of(page, visitor.session) if isinstance(value, str))
            assert longest < 10_000
        deadline = time.monotonic() + 20
        while visitor.session in page.state_holder.session_data:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert visitor.session not in page._queue.pending_messages_per_session


def test_a_session_that_was_forgotten_goes_on(page: gr.Blocks) -> None:
    """Its page may be open: nothing that it asks for needs what was forgotten, chosen problems included."""
    with HttpVisitor(page.local_url) as visitor:
        first = visitor.click("cx-labels-picker", ["math 2"], event="input")
        forget_session(page, visitor.session)
        assert visitor.session not in page.state_holder.session_data
        again = visitor.click("cx-labels-picker", ["math 2"], event="input")
        assert json.loads(first[0])["problems"] == json.loads(again[0])["problems"]
        unknown = visitor.click("cx-labels-picker", [{"a": 1}], event="input")
        assert "no bundled problem" in json.loads(unknown[0])["notice"]


def test_sessions_are_bounded_and_events_are_not_counted(page: gr.Blocks) -> None:
    for _ in range(MOST_SESSIONS + 5):
        page.state_holder[f"caller {_}"]
    assert len(page.state_holder.session_data) == MOST_SESSIONS
    assert len(page.state_holder.time_last_used) <= MOST_SESSIONS + 1
    with HttpVisitor(page.local_url) as visitor:
        visitor.call("list_routers")
    assert page._queue.cached_event_analytics_summary == {"functions": {}}


def test_what_is_not_as_it_was_fails_no_event() -> None:
    with gr.Blocks() as other:
        component = gr.HTML()
    forget_value(other, "nobody", component)
    forget_session(other, "nobody")
