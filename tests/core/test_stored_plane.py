"""What was measured of looking back: read whole from beside the advice, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from citer_core import browser_pair
from citer_core.browser_pair import stored_advice


def plane(n_columns: int = 2, n_right: object = 190) -> dict[str, Any]:
    points = {
        "n": 200,
        "grid": [[[n_right, 3e6], [191, 4e6]]] * n_columns,
        "alone": {name: [194, 5e6] for name in ("slm", "llm", "speculative")},
    }
    return {"router": "r", "final_doubt": 0.02, "budgets": [0, 0.35], "ratios": [0, 0.2], "points": {"math": points}}


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ({"plane": plane()}, [[190, 3e6], [191, 4e6]]),
        ({}, None),
        ({"plane": None}, None),
        ({"plane": plane(n_columns=1)}, None),
        ({"plane": plane() | {"points": {}}}, None),
    ],
)
def test_a_plane_is_read_where_all_of_it_was_measured(
    monkeypatch: pytest.MonkeyPatch, stored: dict[str, Any], wanted: list[list[float]] | None
) -> None:
    revision = browser_pair._card()["pair_revision"]
    advice = {"pair_revision": revision, "best": "r", "said": {}, "drafts": ""} | stored
    monkeypatch.setattr(browser_pair, "_card", lambda: {"pair_revision": revision})
    monkeypatch.setattr(browser_pair, "read_json", lambda _: advice)
    found = stored_advice()
    assert found is not None
    read = found["plane"] and [list(place) for place in found["plane"]["points"]["math"]["grid"][1]]
    assert read == wanted


def test_a_damaged_plane_is_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    advice = {"pair_revision": "x", "best": "r", "said": {}, "drafts": "", "plane": plane(n_right="many")}
    monkeypatch.setattr(browser_pair, "read_json", lambda _: advice)
    assert stored_advice() is None
