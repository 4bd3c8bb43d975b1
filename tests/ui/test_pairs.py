"""The pair picker: what it says before it loads, progress, Cancel, and what two sessions see of one change."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from citer_core.assets import ASSETS
from citer_core.config import AppConfig
from citer_core.engine import Engine
from citer_core.models.presets import PRESETS
from citer_core.models.store import PairNeeds
from citer_core.routing.decoder import Decoder
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from citer_core.ui.pair import offers as pair_offers
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.offers import PairOffers
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.server import PageServer
from tests.core.conftest import tiny_qwen2
from tests.fakes import FakeEngine
from tests.http_visitor import free_port
from tests.ui.axe import sound
from tests.ui.serving import SLOW_TOKEN_S, Served, script
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
CODER = "qwen2.5-coder-0.5b-1.5b"
TITLE, BUNDLED = PRESETS[CODER].title, PRESETS["embedded"].title
NEEDS = {
    "embedded": PairNeeds(0, 0, False, 37_000_000, 37_000_000),
    CODER: PairNeeds(2, 1_608_720_832, True, 5_400_000_000, 9_000_000_000),
}
HUGE = PairNeeds(2, 150 * 10**9, False, 160 * 10**9, 160 * 10**9)


class Gate:
    """A loader of fakes that stops after half a download until it is let on."""

    def __init__(self) -> None:
        self.may_go = threading.Event()
        self.error: Exception | None = None
        self.engines: dict[str, FakeEngine] = {}

    def __call__(self, pair: str, dtype: str, download: bool, on_progress: Any) -> FakeEngine:
        if pair == CODER:
            on_progress("fetch", 400_000_000, 1_600_000_000)
            while not self.may_go.wait(0.05):
                on_progress("fetch", 400_000_000, 1_600_000_000)
            on_progress("load", 0, None)
            if self.error is not None:
                raise self.error
        engine = FakeEngine(script, delay_s=SLOW_TOKEN_S)
        if pair == CODER:
            engine.router_names, engine.default_router = ("entropy", "margin"), "entropy"
            engine.default_threshold = lambda name=None: 0.41
        engine._ids = itertools.count(1000 * (len(self.engines) + 1))  # ids of runs are unique on a server
        engine.load(PRESETS[pair].title, dtype=dtype)
        self.engines[pair] = engine
        return engine


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    monkeypatch.setattr(pair_offers, "needs_of", lambda pair, *_: NEEDS.get(pair, HUGE))
    monkeypatch.setattr(pair_offers, "free_bytes", lambda device: 16 * 10**9)
    return Gate()


@pytest.fixture
def changing(gate: Gate, make_server: Callable[..., Served]) -> Served:
    engine = FakeEngine(script, delay_s=SLOW_TOKEN_S)
    load = engine.load
    engine.load = lambda *_, **how: load(BUNDLED, **how)  # type: ignore[method-assign]
    served = make_server(engine, gate, pairs="presets")
    served.may_load.set()
    return served


@pytest.fixture
def come(visit: Callable[..., Visitor]) -> Callable[..., Visitor]:
    """Opens windows in which the pair is there."""

    def open_window(url: str) -> Visitor:
        visitor = visit(url=url)
        expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=60_000)
        return visitor

    return open_window


def open_picker(page: Page) -> None:
    page.locator("#cx-pair").click()
    expect(page.locator(".cx-pairs-card").first).to_be_visible(timeout=20_000)


def choose(page: Page, name: str) -> None:
    page.locator(f'.cx-pairs input[value="{name}"]').check()


def test_the_picker_and_what_two_sessions_see_of_a_change(come: Any, changing: Served, gate: Gate) -> None:
    """By the keyboard alone, to a second asker, after a failure, under a stream, and for a run of another pair."""
    first, second = come(changing.url), come(changing.url)
    page, state, dialog = first.page, first.page.locator(".cx-pairs-state"), first.page.get_by_role("dialog")
    page.set_viewport_size({"width": 390, "height": 900})
    expect(page.locator("#cx-pair")).to_have_text(BUNDLED)
    open_picker(page)
    expect(dialog).to_contain_text("16.0 GB of memory free")
    choose(page, "qwen2-1.5b-72b")
    expect(page.locator(".cx-pairs-plan")).to_contain_text("Too large for this machine: loading it takes 160 GB")
    expect(page.locator(".cx-pairs-load")).to_be_disabled()
    sound(page, ".cx-pairs")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#cx-pair")).to_be_focused()

    page.keyboard.press("Enter")
    expect(page.locator(".cx-pairs-card").first).to_be_visible(timeout=20_000)
    page.locator(f'.cx-pairs input[value="{CODER}"]').focus()
    page.keyboard.press("Space")
    page.locator(".cx-pairs-load").focus()
    page.keyboard.press("Enter")
    expect(state).to_have_text(f"{TITLE}: Downloading: 400 MB of 1.6 GB", timeout=10_000)
    open_picker(second.page)
    expect(second.page.locator(".cx-pairs-foot progress")).to_be_visible(timeout=15_000)
    expect(second.page.locator(".cx-pairs-foot button", has_text="Cancel")).to_be_hidden()
    # Nor with what it is told: the id is everybody's, and cancels nothing.
    told = second.page.evaluate("window.citer.pairs.status.change")
    for key in ({"id": told["id"]}, {"token": told["id"]}, {}):
        assert second.page.evaluate("(key) => window.citer.ask('cancel_change', key)", key) == {"cancelled": False}
    # A reload does not take it from the page that began it.
    page.reload()
    open_picker(page)
    page.locator(".cx-pairs-foot button", has_text="Cancel").click()
    for visitor in (first, second):
        expect(visitor.page.locator(".cx-pairs-state")).to_have_text(f"Cancelled. {BUNDLED} goes on.", timeout=15_000)
    second.page.keyboard.press("Escape")

    gate.error = RuntimeError("secret path")
    gate.may_go.set()
    choose(page, CODER)
    page.locator(".cx-pairs-load").click()
    expect(state).to_contain_text(f"{TITLE} could not be loaded", timeout=10_000)
    expect(state).to_contain_text(f"{BUNDLED} goes on.")
    expect(page.locator("body")).not_to_contain_text("secret path")
    page.keyboard.press("Escape")

    # A finished run plays without its pair; to flip a token of it the pair is needed.
    page.evaluate(
        """(title) => {
          const view = window.citer.viewer.trace();
          view.pair = {...view.pair, name: title, revision: "another"};
          window.citer.recorded.showImported(view);
        }""",
        TITLE,
    )
    page.locator(".cv-t").nth(2).click()
    page.locator("button", has_text="Let the LLM write it").or_(page.locator("button", has_text="Flip")).first.click()
    notice = page.locator("#cx-notice")
    expect(notice).to_contain_text(f"This run was made by {TITLE}, and {BUNDLED} is loaded.", timeout=10_000)
    notice.locator("button", has_text="Change the pair").click()
    expect(page.locator(f'.cx-pairs input[value="{CODER}"]')).to_be_checked(timeout=20_000)

    gate.error = None
    second.ask("A long story that goes on while the pair changes.")
    second.wait_live()
    page.locator(".cx-pairs-load").click()
    expect(state).to_have_text(f"{TITLE} is loaded.", timeout=15_000)
    # The stream of the other session is the old pair's, to its end.
    run = changing.engine.runs[-1]
    assert run.finish_reason is None, "the change was done under a run"
    changing.engine.delay_s = 0
    second.wait_idle()
    assert run.finish_reason == "length" and second.text() == run.trace().completion
    assert second.page.evaluate("window.citer.viewer.trace().pair.name") == BUNDLED
    # And then its page follows: the routers and the problems. Tau stays; the pair's own is offered.
    expect(second.page.locator("#cx-pair")).to_have_text(TITLE, timeout=15_000)
    second.page.get_by_role("button", name="’s τ, 0.41").click()
    expect(second.page.locator("#cx-tau input[type=number]")).to_have_value("0.41")
    second.ask("A short one.")
    expect(second.page.locator(".citer-viewer")).to_contain_text("answer 42", timeout=15_000)
    assert gate.engines[CODER].runs[-1].router_info.name == "entropy"


@pytest.mark.slow
def test_two_real_pairs_of_ones_own(
    pages: dict[str, Any], come: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models from folders that a visitor names; a stream of the first goes on, token for token, under the change."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(ASSETS / "models" / "tokenizer")
    halves = []
    for seed in range(2):
        folder = tmp_path_factory.mktemp(f"model{seed}") / f"model{seed}"
        tiny_qwen2(seed).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        halves.append(str(folder))
    first = ",".join(halves)
    problem = problem_from_text("Tell me how many there are.", "math")
    settings = DecodeSettings(threshold=0.5, max_new_tokens=256)
    reference = Engine.load(first).start(problem, router="random", settings=settings)
    expected = [event.token_id for event in reference]
    step = Decoder.step

    is_over = threading.Event()

    def slow(decoder: Decoder) -> Any:
        is_over.wait(0.02)  # a pace at which a change fits under a run
        return step(decoder)

    monkeypatch.setattr(Decoder, "step", slow)

    def load(pair: str, dtype: str, download: bool, on_progress: Any) -> Engine:
        return Engine.load(pair, dtype=dtype, on_progress=on_progress)

    # Small as they are, there is room for both; of folders the size is not known beforehand.
    monkeypatch.setattr(pair_offers, "room_for", lambda *_: "beside")
    config = AppConfig(port=free_port(), pair=first, pairs="any")
    slot = EngineSlot(lambda: load(first, "float32", False, lambda *_: None))
    server = PageServer(config, slot, PairSwitch(slot, load, PairOffers(config), first, "float32"))
    url = server.start()
    pages[url] = server  # closed after the windows are: an open one would ask it in vain, and complain
    slot.start()
    streaming, changer = come(url), come(url)
    expect(streaming.page.locator("#cx-where"), "of the bundled pair, which is not here").to_be_hidden()
    streaming.page.locator("#cx-settings summary").click()
    streaming.page.locator("#cx-router select").select_option("random")
    streaming.page.locator("#cx-tau input[type=number]").fill("0.5")
    streaming.ask("Tell me how many there are.")
    streaming.wait_live()
    open_picker(changer.page)
    for label, folder in (("SLM", halves[1]), ("LLM", halves[0])):
        changer.page.locator(f'.cx-pairs input[aria-label="{label}"]').fill(folder)
    changer.page.locator('.cx-pairs input[value="float32"]').check()
    for label, folder in (("SLM", halves[1]), ("LLM", halves[0])):
        expect(changer.page.locator(f'.cx-pairs input[aria-label="{label}"]')).to_have_value(folder)
    changer.page.locator(".cx-pairs-load").click()
    expect(changer.page.locator(".cx-pairs-state")).to_have_text("model1 / model0 is loaded.", timeout=30_000)
    assert streaming.page.evaluate("window.citer.isLive"), "the change was done under a run"
    is_over.set()
    streaming.wait_idle()
    tokens = streaming.page.evaluate("window.citer.viewer.events.map((event) => event.token_id)")
    assert tokens == expected
    expect(streaming.page.locator("#cx-pair")).to_have_text("model1 / model0", timeout=15_000)
    assert slot.status()["pair"] == "model1 / model0"
