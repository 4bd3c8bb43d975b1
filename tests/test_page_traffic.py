"""Who imports waits for the page's requests, but not for ever."""

from __future__ import annotations

import time
from typing import Any

import pytest

from citer_core.web.traffic import PageTraffic


async def application(scope: Any, _receive: Any, _send: Any) -> None:
    scope["reached"] = True


def ask(traffic: PageTraffic, kind: str) -> None:
    """One request of this kind, which has to get through."""
    scope: dict[str, Any] = {"type": kind}
    unused: Any = None
    # Without an event loop, of which a thread of tests may have one already: nothing here has to be waited for.
    answered = traffic.watch(application)(scope, unused, unused)
    with pytest.raises(StopIteration):
        answered.__await__().__next__()
    assert scope["reached"]


def waited(traffic: PageTraffic) -> float:
    start = time.monotonic()
    traffic.let_pass()
    return time.monotonic() - start


def test_there_is_no_wait_for_a_page_without_requests() -> None:
    traffic = PageTraffic(quiet_s=30.0, patience_s=30.0)
    assert waited(traffic) < 5.0
    ask(traffic, "lifespan")
    assert waited(traffic) < 5.0


def test_a_request_is_let_pass_until_it_is_quiet() -> None:
    traffic = PageTraffic(quiet_s=0.2, patience_s=30.0)
    ask(traffic, "http")
    assert 0.1 < waited(traffic) < 15.0
    assert waited(traffic) < 0.1


def test_patience_ends_and_does_not_come_back() -> None:
    traffic = PageTraffic(quiet_s=30.0, patience_s=0.2)
    ask(traffic, "http")
    assert 0.1 < waited(traffic) < 15.0
    ask(traffic, "http")
    assert waited(traffic) < 0.1
