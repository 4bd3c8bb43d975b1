"""What the journeys hold the page against."""

from __future__ import annotations

from typing import Any

import pytest

from citer_core.engine import Engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The independent reference: the bundled pair, called as a program does."""
    return Engine.load()


def ids(events: Any) -> list[int]:
    return [event.token_id for event in events]
