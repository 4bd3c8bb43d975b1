"""The Labels tab as its tests use it: the bundled pair behind it, what it should show, and what a person does there."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
from playwright.sync_api import expect

from citer_core.engine import Engine
from citer_core.evaluation.label_view import LabelledText, label_texts
from citer_core.labelling.teacher_forcing import example_of
from citer_core.tasks.datasets import bundled_rows
from tests.ui.serving import Served
from tests.ui.visitor import Visitor

FIRST_PROBLEM = "math 3"
OWN = "Read something else with the loaded pair"
VIEW = "window.citer.views.filled.get('labels')"
CELLS = ("kept", "waste", "risk", "caught")


class RealEngine:
    """The bundled pair behind the interface that `make_server` expects of a fake."""

    engine: Engine | None = None

    def load(self) -> Engine:
        self.engine = Engine.load()
        return self.engine


@functools.cache
def labelled_text(served: Served, key: str) -> LabelledText:
    """What the tab shows of a bundled problem, computed here."""
    engine = served.slot.wait(0)
    assert engine is not None
    kind, number = key.split()
    row = bundled_rows(kind)[int(number) - 1].row  # type: ignore[arg-type]
    routers = [engine.router(name) for name in engine.router_names]
    (text,) = label_texts(engine.pair, routers, [example_of(row, kind, engine.pair)])  # type: ignore[arg-type]
    return text


def numbers_of(text: LabelledText, router: str) -> tuple[Any, Any]:
    return text.confidence[router].numpy().astype(np.float64), text.label.numpy().astype(np.int64)


def without_charts(visitor: Visitor) -> None:
    """Holds their library back: to load it and to draw takes seconds of processor, and not all tests look at charts."""
    visitor.page.route("**/plotly*.min.js", lambda _: None)


def settle(visitor: Visitor) -> None:
    """Until what a person has done is drawn."""
    visitor.page.wait_for_function(f"() => {VIEW}.frame === null")


def matrix(visitor: Visitor) -> dict[str, int]:
    settle(visitor)
    counts = visitor.page.locator(".cl-cell").evaluate_all(
        "nodes => nodes.map(node => [node.dataset.cell, node.querySelector('.cl-cell-count').textContent])"
    )
    return {cell: int(count.replace(",", "")) for cell, count in counts}


def set_tau(visitor: Visitor, tau: float) -> None:
    number = visitor.page.locator(".cl-threshold .cl-number")
    number.fill(str(tau))
    number.press("Enter")
    expect(visitor.page.locator(".cl-threshold .cl-range").first).to_have_value(re.compile(r"[01]"))
    visitor.page.wait_for_function(f"() => {VIEW}.view.tau === {tau} && {VIEW}.frame === null")


def rows_of(visitor: Visitor) -> list[int]:
    settle(visitor)
    rows = visitor.page.locator(".cl-token-table tbody tr")
    return rows.evaluate_all("rows => rows.map(row => Number(row.dataset.i))")


def pick(visitor: Visitor, key: str) -> None:
    picker = visitor.page.locator("#cx-labels-picker input")
    open_own(visitor)
    expect(visitor.page.locator("#cx-labels-problems option")).to_have_count(400)
    picker.fill(f"{key} ·")
    picker.press("Enter")
    expect(visitor.page.locator(".cl-reading h3")).to_have_text(key, timeout=10_000)


def open_own(visitor: Visitor) -> None:
    """Opens the ways to read something else."""
    if not visitor.page.locator("#cx-labels-paste textarea").is_visible():
        visitor.page.get_by_text(OWN).click()
    expect(visitor.page.locator("#cx-labels-paste textarea")).to_be_visible()


def paste(visitor: Visitor, text: str) -> None:
    open_own(visitor)
    visitor.page.locator("#cx-labels-paste textarea").fill(text)
    visitor.page.locator("#cx-labels-read").click()
