"""The view "Worth it here?": recorded at once, measured on demand, readable without the charts."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import expect

from citer_core.assets import ASSETS
from citer_core.errors import ModelFileError
from citer_core.measuring.profile_numbers import read_profile
from citer_core.measuring.profile_words import big_numbers, headline
from citer_core.measuring.report.folder import ReportFolder
from citer_core.ui import profile as profiles
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.profile import (
    Measurement,
    RecordedProfiles,
    about_profiles,
    measure_messages,
    profile_message,
    progress_message,
)
from tests.asking import last
from tests.ui.axe import sound
from tests.ui.visitor import Visitor


def failing_slot(error: Exception) -> EngineSlot:
    def load() -> Any:
        raise error

    slot = EngineSlot(load)
    slot.fill()
    return slot


def test_a_pair_that_could_not_be_loaded_and_a_missing_file_are_notices(tmp_path: Path) -> None:
    messages = list(measure_messages(failing_slot(ModelFileError("The weights are not there."))))
    assert [message["notice"] for message in messages] == ["The weights are not there."]
    assert "cannot be read as a profile" in RecordedProfiles(tmp_path).message()["notice"]


def test_where_a_report_is_stored_its_profiles_can_be_chosen(tmp_path: Path) -> None:
    profile = (ASSETS / "benchmarks" / "profile.json").read_text(encoding="utf-8")
    (tmp_path / "profile.json").write_text(profile, encoding="utf-8")
    assert len(RecordedProfiles(tmp_path).choices()) == 1
    report = ReportFolder(tmp_path / "a-gpu", {"hardware": "A GPU", "torch": "1", "transformers": "2"})
    report.store("device", "facts", {}, 0.0)
    report.store("profile", "bundled", {"profile": json.loads(profile) | {"pair": "Another pair"}}, 0.0)
    stored = RecordedProfiles(tmp_path)
    asked = about_profiles(stored, failing_slot(ModelFileError("none")), may_measure=False)["profile"]
    assert [last(asked, {"profile": choice})["profile"]["pair"] for choice in stored.choices()] == [
        "Bundled pair",
        "Another pair",
    ]
    for odd in (None, "nothing of that name", 7, ["Bundled pair"]):
        assert last(asked, {"profile": odd})["profile"]["pair"] == "Bundled pair"


def test_who_may_not_measure_is_told_how_to() -> None:
    stored = RecordedProfiles(ASSETS / "benchmarks")
    asked = about_profiles(stored, failing_slot(ModelFileError("none")), may_measure=False)["measure"]
    assert "profile --quick" in last(asked, None)["notice"]


@pytest.mark.ui
def test_a_recorded_profile_and_one_measured_on_demand_stopped_and_ended_with_its_page(
    visit: Callable[..., Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First a recorded profile; then progress and the new one; where that is ended, what was shown before it stays."""
    # All tests share a server, which would hand out again what it measured for another one.
    monkeypatch.setattr(Measurement, "recent", lambda *_: None)
    stored = read_profile(ASSETS / "benchmarks" / "profile.json")
    profile = replace(stored, break_even=replace(stored.break_even, time=0.123))

    def measured(_slot: EngineSlot, **_: Any) -> Any:
        yield progress_message(0.5, "forward passes")
        yield profile_message(profile, "live")

    visitor = visit(width=390)
    page, view = visitor.page, visitor.page.locator(".citer-profile")
    kind, status = page.locator(".citer-profile .cp-kind"), page.locator(".citer-profile .cl-status")
    measure = page.locator("button#cx-profile-measure")
    visitor.open_view("Worth it here?")
    expect(kind).to_contain_text("Recorded", timeout=20_000)
    expect(view.locator("h2")).to_have_text(headline(stored))
    expect(view.locator(".cp-number")).to_have_text([number.value for number in big_numbers(stored)])
    expect(view.locator('.cl-plot[data-drawn="true"]')).to_have_count(2, timeout=30_000)
    sound(page, "[data-panel]:not([hidden])")
    choice = page.get_by_role("combobox", name="Recorded profile")
    names = choice.locator("option").all_text_contents()
    choice.select_option(names[1])
    expect(kind).to_contain_text(names[1].partition(",")[0], timeout=20_000)
    choice.select_option(names[0])
    expect(kind).to_contain_text("Bundled pair", timeout=20_000)
    with monkeypatch.context() as patch:
        patch.setattr(profiles, "measure_messages", measured)
        measure.click()
        expect(kind).to_contain_text("Measured just now", timeout=20_000)
    expect(page.locator(".citer-profile h2")).to_contain_text("12%")
    page.locator("button#cx-profile-recorded").click()
    expect(kind).to_contain_text("Recorded", timeout=20_000)

    ended = threading.Event()

    def endless(*_: Any, **__: Any) -> Any:
        try:
            for number in itertools.count():
                time.sleep(0.02)
                yield SimpleNamespace(done=0.5, doing=f"round {number}")
        finally:
            ended.set()

    monkeypatch.setattr("citer_core.measuring.profile.profile_pair", endless)
    measure.click()
    expect(status).to_contain_text("Measuring: round", timeout=20_000)
    expect(page.locator("button#cx-generate")).to_be_enabled()
    visitor.open_view("Explore")
    page.locator("button#cx-stop").click()
    expect(status).to_contain_text("was stopped", timeout=10_000)
    assert ended.wait(5)
    ended.clear()
    visitor.open_view("Worth it here?")
    expect(kind).to_contain_text("Recorded")
    measure.click()
    expect(status).to_contain_text("Measuring", timeout=20_000)
    page.close()
    assert ended.wait(10)
