"""Engines, labels and rows that several commands' tests share."""

from __future__ import annotations

import pytest

from citer_core.cli.main import main
from citer_core.engine import Engine
from citer_core.tasks.datasets import bundled_rows
from tests.cli.examples import LABEL, QUICK, small_parts, write_rows
from tests.core.conftest import _bundled_pair_is_loaded_once  # noqa: F401  # fixture
from tests.fakes import FakeEngine, use


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    return use(monkeypatch, FakeEngine())


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture(scope="package")
def trained(tmp_path_factory):
    """The whole way once: labels of the bundled pair, and a router of them."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        small_parts(patch)
        assert main([*LABEL, "--output-dir", str(folder / "labels")]) == 0
    assert (
        main(["train-router", "--labels", str(folder / "labels"), "--output-dir", str(folder / "routers"), *QUICK]) == 0
    )
    return folder


@pytest.fixture
def data(tmp_path):
    """Math rows with ground truth that are not among the bundled problems, some for tests and some for tuning."""
    rows = [{**bundled_rows("math")[n].row, "id": f"new-{n}"} for n in range(8)]
    for row in rows:
        row["problem"] = "Here is a question. " + row["problem"]
    write_rows(tmp_path / "tuning.jsonl", rows[5:])
    return write_rows(tmp_path / "rows.jsonl", rows[:5])


@pytest.fixture
def no_loading(monkeypatch):
    monkeypatch.setattr(Engine, "load", lambda *_, **__: pytest.fail("a model was loaded"))
