"""The pair picker: what it says before it loads, progress, Cancel, and what two sessions see of one change."""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from citer_core.assets import ASSETS
from citer_core.config import AppConfig
from citer_core.engine import Engine
from citer_core.models.needs import PairNeeds
from citer_core.models.presets import PRESETS
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
from tests.traces import opening_run
from tests.ui.axe import violations
from tests.ui.conftest import SLOW_TOKEN_S, Served, Visitor, free_port, script

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
def come(browser: Browser) -> Iterator[Callable[..., Visitor]]:
    """Opens windows, and sees to it that none of them had anything to complain about."""
    visitors: list[Visitor] = []

    def open_window(url: str, **how: Any) -> Visitor:
        visitor = Visitor(browser, url, **how)
        visitors.append(visitor)
        expect(visitor.page.locator("#cx-device")).to_have_attribute("data-state", "ready", timeout=60_000)
        return visitor

    yield open_window
    for visitor in visitors:
        visitor.leave()
    assert [complaint for visitor in visitors for complaint in visitor.complaints] == []


def open_picker(page: Page) -> None:
    page.locator("#cx-pair").click()
    expect(page.locator(".cx-pairs-card").first).to_be_visible(timeout=20_000)


def choose(page: Page, name: str) -> None:
    page.locator(f'.cx-pairs input[value="{name}"]').check()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_picker_says_what_each_pair_needs(come: Any, changing: Served, theme: str, width: int) -> None:
    page = come(changing.url, theme=theme, width=width).page
    expect(page.locator("#cx-pair")).to_have_text(BUNDLED)
    open_picker(page)
    dialog = page.get_by_role("dialog", name="Pair of models")
    expect(dialog).to_contain_text("16.0 GB of memory free")
    card = page.locator(".cx-pairs-card", has_text=TITLE)
    for fact in ("SLM 0.63 B, LLM 1.78 B", "1.6 GB to download", "5.4 GB memory in", "Apache-2.0", "routers"):
        expect(card).to_contain_text(fact)
    expect(page.locator(".cx-pairs-card", has_text="Llama")).to_contain_text("gated")
    choose(page, CODER)
    plan = page.locator(".cx-pairs-plan")
    expect(plan).to_contain_text("1.6 GB are downloaded first. Its weights are unpacked once")
    expect(plan).to_contain_text("The present pair goes on until this one is ready")
    choose(page, "qwen2-1.5b-72b")
    expect(plan).to_contain_text("Too large for this machine: loading it takes 160 GB, and 16.0 GB can be free.")
    expect(page.locator(".cx-pairs-load")).to_be_disabled()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate("(d => d.scrollWidth <= d.clientWidth)(document.querySelector('dialog.cx-pairs'))")
    assert violations(page, ".cx-pairs", tags=()) == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#cx-pair")).to_be_focused()


def test_by_keyboard_alone(come: Any, changing: Served, gate: Gate) -> None:
    page = come(changing.url).page
    page.locator("#cx-pair").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".cx-pairs-card").first).to_be_visible(timeout=20_000)
    page.locator(f'.cx-pairs input[value="{CODER}"]').focus()
    page.keyboard.press("Space")
    page.locator(".cx-pairs-load").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".cx-pairs-foot button", has_text="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".cx-pairs-state")).to_have_text(f"Cancelled. {BUNDLED} goes on.", timeout=10_000)
    assert page.evaluate("document.querySelector('dialog.cx-pairs').contains(document.activeElement)")


def test_a_change_seen_from_two_sessions_fails_no_stream(come: Any, changing: Served, gate: Gate) -> None:
    streaming, changer = come(changing.url), come(changing.url)
    open_picker(changer.page)
    choose(changer.page, CODER)
    changer.page.locator(".cx-pairs-load").click()
    state = changer.page.locator(".cx-pairs-state")
    expect(state).to_have_text(f"{TITLE}: Downloading: 400 MB of 1.6 GB", timeout=10_000)
    assert changer.page.locator(".cx-pairs-bar").evaluate("bar => bar.value") == pytest.approx(0.25)
    streaming.ask("A long story that goes on while the pair changes.")
    streaming.wait_live()
    gate.may_go.set()
    expect(state).to_have_text(f"{TITLE} is loaded.", timeout=15_000)
    expect(changer.page.locator("#cx-pair")).to_have_text(TITLE)
    # The stream of the other session is the old pair's, to its end.
    run = changing.engine.runs[-1]
    assert run.finish_reason is None, "the change was done under a run"
    streaming.wait_idle()
    assert run.finish_reason == "length" and streaming.text() == run.trace().completion
    assert streaming.page.evaluate("window.citer.viewer.trace().pair.name") == BUNDLED
    # And then its page follows: the routers, the words, the problems. Tau stays; the pair's own is offered.
    expect(streaming.page.locator("#cx-pair")).to_have_text(TITLE, timeout=15_000)
    opened_at = f"{opening_run().settings.threshold:g}"
    expect(streaming.page.locator("#cx-tau input[type=number]")).to_have_value(opened_at)
    streaming.page.get_by_role("button", name="’s τ, 0.41").click()
    expect(streaming.page.locator("#cx-tau input[type=number]")).to_have_value("0.41")
    expect(streaming.page.locator("#cx-notice")).to_contain_text(f"The pair is {TITLE} now.")
    expect(streaming.page.locator("#cx-prompt")).to_contain_text(f"{TITLE}: models without a chat form")
    streaming.page.locator("#cx-settings summary").click()
    expect(streaming.page.locator("#cx-router select")).to_have_value("entropy")
    streaming.page.locator("#cx-picker input").click()
    first = streaming.page.locator("#cx-problems option").first
    expect(first).to_have_attribute("value", re.compile("^mc 1 · What makes bread dough rise"))
    streaming.ask("A short one.")
    expect(streaming.page.locator(".citer-viewer")).to_contain_text("answer 42", timeout=15_000)
    assert gate.engines[CODER].runs[-1].router_info.name == "entropy"


def test_a_failure_is_said_and_the_old_pair_goes_on(come: Any, changing: Served, gate: Gate) -> None:
    gate.error = RuntimeError("secret path")
    gate.may_go.set()
    visitor = come(changing.url)
    open_picker(visitor.page)
    choose(visitor.page, CODER)
    visitor.page.locator(".cx-pairs-load").click()
    state = visitor.page.locator(".cx-pairs-state")
    expect(state).to_contain_text(f"{TITLE} could not be loaded", timeout=10_000)
    expect(state).to_contain_text(f"{BUNDLED} goes on.")
    expect(visitor.page.locator("body")).not_to_contain_text("secret path")
    visitor.page.keyboard.press("Escape")
    visitor.ask("A short one.")
    visitor.wait_live()
    visitor.wait_idle()
    assert "42" in visitor.text()


def test_a_second_asker_is_told(come: Any, changing: Served, gate: Gate) -> None:
    first, second = come(changing.url), come(changing.url)
    for visitor in (first, second):
        open_picker(visitor.page)
        choose(visitor.page, CODER)
    first.page.locator(".cx-pairs-load").click()
    expect(first.page.locator(".cx-pairs-state")).to_contain_text("Downloading", timeout=10_000)
    load = second.page.locator(".cx-pairs-load")
    if load.is_visible() and load.is_enabled():  # it may have noticed by itself already
        load.click()
    expect(second.page.locator(".cx-pairs-state")).to_contain_text(f"{TITLE}", timeout=15_000)
    expect(second.page.locator(".cx-pairs-foot progress")).to_be_visible(timeout=15_000)
    expect(second.page.locator(".cx-pairs-foot button", has_text="Cancel")).to_be_hidden()
    # Nor with what it is told: the id is everybody's, and cancels nothing.
    told = second.page.evaluate("window.citer.pairs.status.change")
    for key in ({"id": told["id"]}, {"token": told["id"]}, {}):
        assert second.page.evaluate("(key) => window.citer.ask('cancel_change', key)", key) == {"cancelled": False}
    # A reload does not take it from whoever began it.
    first.page.reload()
    open_picker(first.page)
    first.page.locator(".cx-pairs-foot button", has_text="Cancel").click()
    for visitor in (first, second):
        expect(visitor.page.locator(".cx-pairs-state")).to_have_text(f"Cancelled. {BUNDLED} goes on.", timeout=15_000)


def test_a_run_of_another_pair_says_which_and_offers_it(come: Any, changing: Served) -> None:
    """A finished run plays without its pair; to flip a token of it the pair is needed."""
    visitor = come(changing.url)
    visitor.ask("A short one.")
    visitor.wait_live()
    visitor.wait_idle()
    page = visitor.page
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


def test_where_the_pair_stays_the_picker_says_why(come: Any, make_server: Callable[..., Served]) -> None:
    served = make_server(FakeEngine(script), pairs="fixed")
    served.may_load.set()
    page = come(served.url).page
    page.locator("#cx-pair").click()
    expect(page.locator(".cx-pairs-note")).to_contain_text("CITER_PAIRS=fixed")
    expect(page.locator(".cx-pairs-load")).to_be_hidden()


def test_two_real_pairs_of_ones_own(
    pages: dict[str, Any], come: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models from folders that a visitor names; a stream of the first goes on, token for token, under the change."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(ASSETS / "models" / "tokenizer")
    halves = []
    for seed in range(4):
        folder = tmp_path_factory.mktemp(f"model{seed}") / f"model{seed}"
        tiny_qwen2(seed).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        halves.append(str(folder))
    first, second = ",".join(halves[:2]), ",".join(halves[2:])
    problem = problem_from_text("Tell me how many there are.", "math")
    settings = DecodeSettings(threshold=0.5, max_new_tokens=256)
    reference = Engine.load(first).start(problem, router="random", settings=settings)
    expected = [event.token_id for event in reference]
    step = Decoder.step

    def slow(decoder: Decoder) -> Any:
        time.sleep(0.02)  # a pace at which a change fits under a run
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
    for label, folder in (("SLM", halves[2]), ("LLM", halves[3])):
        changer.page.locator(f'.cx-pairs input[aria-label="{label}"]').fill(folder)
    changer.page.locator('.cx-pairs input[value="float32"]').check()
    for label, folder in (("SLM", halves[2]), ("LLM", halves[3])):
        expect(changer.page.locator(f'.cx-pairs input[aria-label="{label}"]')).to_have_value(folder)
    changer.page.locator(".cx-pairs-load").click()
    expect(changer.page.locator(".cx-pairs-state")).to_have_text("model2 / model3 is loaded.", timeout=30_000)
    assert streaming.page.evaluate("window.citer.isLive"), "the change was done under a run"
    streaming.wait_idle()
    tokens = streaming.page.evaluate("window.citer.viewer.events.map((event) => event.token_id)")
    assert tokens == expected
    expect(streaming.page.locator("#cx-pair")).to_have_text("model2 / model3", timeout=15_000)
    assert second == f"{halves[2]},{halves[3]}" and slot.status()["pair"] == "model2 / model3"
