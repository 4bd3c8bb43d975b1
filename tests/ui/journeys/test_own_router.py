"""A router of a person's own: opened from a file, asked in Explore and Compare, kept over a reload, linked to."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect
from safetensors.torch import save_file

from citer_core.engine import Engine
from citer_core.evaluation.label_view import label_texts
from citer_core.labelling.teacher_forcing import example_of
from citer_core.routing.catalog import load_router
from citer_core.routing.routers.citer_plus import CiterPlusRouter
from citer_core.tasks.datasets import bundled_rows
from citer_core.types import DecodeSettings
from tests.ui.conftest import on_one_host
from tests.ui.journeys.conftest import ids
from tests.ui.labels import VIEW as LABELS
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
Enter = Callable[..., Visitor]
TAU = 0.8


def own_file(engine: Engine, folder: Path, **changes: str) -> Path:
    """A router that does not ship: one that trusts the SLM less."""
    shipped = engine.router("citer-plus")
    assert isinstance(shipped, CiterPlusRouter)
    network = copy.deepcopy(shipped.network)
    network.linear.bias.data -= 1.5
    own = CiterPlusRouter(network, shipped.card | {"label": "A careful one"} | changes)
    tensors = {name: tensor for name, tensor in network.state_dict().items() if tensor.ndim}
    path = folder / f"own-{own.revision[:8]}{len(changes) or ''}.safetensors"
    save_file(tensors, path, metadata={"card": json.dumps(own.card | {"revision": own.revision})})
    return path


def open_file(page: Page, path: Path) -> None:
    if not page.locator("#cx-router-file").is_visible():
        page.locator("#cx-settings summary").click()
    page.locator("#cx-router-file input").set_input_files(path)


@on_one_host("static")
def test_a_router_from_a_file_is_asked_and_kept(enter: Enter, engine: Engine, tmp_path: Path, is_served: bool) -> None:
    path = own_file(engine, tmp_path)
    visitor = enter()
    page = visitor.page
    visitor.ready()
    notice, router = page.locator("#cx-notice"), page.locator("#cx-router select")
    open_file(page, own_file(engine, tmp_path, pair_revision="a-b"))
    expect(notice).to_contain_text("trained for a pair with other weights", timeout=30_000)
    open_file(page, path)
    expect(router).to_have_value(path.stem, timeout=30_000)
    expect(router.locator("option", has_text="Yours: A careful one")).to_have_count(1)

    # It decides as it does in Python, in this browser even where the server was chosen.
    problem = bundled_rows("math")[3].problem
    visitor.set_tau(TAU)
    visitor.ask(problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    run = visitor.shown()
    own = load_router(path, engine.pair)
    settings = DecodeSettings(threshold=TAU, max_new_tokens=256)
    expected = list(Engine(engine.pair, {own.name: own}).start(problem, settings=settings))
    assert (run.router.name, run.router.revision) == (path.stem, own.revision)
    assert ids(run.events) == ids(expected)
    assert [event.slm_confidence for event in run.events] == pytest.approx(
        [event.slm_confidence for event in expected], abs=1e-4
    )
    assert {event.source for event in run.events} == {"slm", "llm"} and "browser" in run.record.hardware
    said = "Your router is in this browser alone, so this browser writes." if is_served else ""
    assert notice.inner_text() == said
    expect(page.locator("#cx-advice")).to_be_hidden()  # nothing was measured of it
    assert visitor.saved("Save this router") == path.read_bytes()
    page.reload(wait_until="load")
    expect(page.locator(f"#cx-router option[value={path.stem}]")).to_have_count(1, timeout=20_000)


@pytest.mark.slow
def test_it_is_compared_labelled_with_and_linked_to(enter: Enter, engine: Engine, tmp_path: Path) -> None:
    path = own_file(engine, tmp_path)
    visitor = enter()
    page = visitor.page
    visitor.ready()
    open_file(page, path)
    expect(page.locator("#cx-router select")).to_have_value(path.stem, timeout=30_000)
    visitor.set_tau(TAU)
    visitor.ask(bundled_rows("math")[3].problem.question)
    visitor.wait_live()
    visitor.wait_idle()
    run = visitor.shown()
    own = load_router(path, engine.pair)
    link = page.evaluate("window.citer.link.address()")

    # Beside the free baseline, as the Lab asks for it.
    page.evaluate(f"window.citer.ownRouters().then((own) => own.compare('{path.stem}'))")
    page.get_by_role("button", name="Write it now, in every way").click()
    column = page.get_by_role("region", name=f"{path.stem} at τ {own.default_threshold:.2f}")
    expect(column).to_contain_text("of the tokens by the LLM", timeout=30_000)

    # At every token of the recorded set, whose first problems Python scores alike.
    visitor.open_view("Labels")
    page.get_by_label("Add a router of yours").select_option(path.stem, timeout=20_000)
    chosen = page.get_by_label("Router", exact=True)
    expect(chosen).to_have_value(path.stem, timeout=60_000)
    expect(page.locator(".cl-finding")).to_contain_text(path.stem)
    examples = [example_of(row.row, "math", engine.pair) for row in bundled_rows("math")[:3]]
    wanted = torch.cat([text.confidence[own.name] for text in label_texts(engine.pair, [own], examples)])
    column = f"{LABELS}.view.analysis.confidence['{path.stem}']"
    found, n_all, n_tokens = page.evaluate(f"[[...{column}], {column}.length, {LABELS}.view.analysis.n]")
    assert found[: len(wanted)] == pytest.approx(wanted.tolist(), abs=1e-4) and n_all == n_tokens

    # Elsewhere the link says what is missing; with the file, what it names is written.
    other = enter(url=link)
    expect(other.page.locator("#cx-notice")).to_contain_text("The router of this run is not here")
    expect(other.page.locator(".cv-mode")).to_have_text("Recorded")
    open_file(other.page, path)
    other.wait_live()
    other.wait_idle()
    assert other.text() == run.completion and other.shown().router.revision == own.revision
