"""A class on the page as files: answers end as codes, and a teacher's page adds them up and sends nothing."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.traces import recorded
from tests.ui.axe import sound
from tests.ui.serving import Served, hosted
from tests.ui.visitor import Visitor

pytestmark = pytest.mark.ui
N_STUDENTS = 30
HEAT = """[...document.querySelectorAll(".cc-token")].map((node) => [
  node.textContent, Number(node.dataset.n ?? 0), node.style.getPropertyValue("--heat")])"""


def line(of: str, key: int, **answer: object) -> str:
    """One answer as a line of JSON."""
    nothing = dict.fromkeys(("guess", "marks", "curve", "number"))
    return json.dumps({"schema": "citer-answer", "version": 1, "of": of, "key": f"{key:06x}", **nothing, **answer})


def test_thirty_students_are_one_heat_map_equal_to_what_was_sent(browser: Browser, site: Path) -> None:
    chance = random.Random(60)
    run = recorded("trip")
    texts = [event.text for event in run.events if event.text]
    marks = [sorted(chance.sample(range(len(texts)), 6)) for _ in range(N_STUDENTS)]
    sent = Counter(mark for of_one in marks for mark in of_one)
    lines = [line("who-writes-what", k, marks=of_one, number=3) for k, of_one in enumerate(marks)]
    curve = {"n": 1000, "points": [[0, 551], [0.05, 738], [0.2, 922]]}
    lines += [line("what-a-call-costs", 100 + k, guess=k, number=64 if k < 9 else None) for k in range(N_STUDENTS)]
    lines += [line("lab", 200 + k, curve=curve) for k in range(4)]
    with hosted(site) as url:
        visitor = Visitor(browser, f"{url}?view=class", width=1440)
        page = visitor.page
        add = page.get_by_role("button", name="Add answers")
        expect(page.get_by_role("button", name="Save all")).to_be_disabled(timeout=20_000)
        add.click()
        page.get_by_label("Codes or lines").fill("\n".join([*lines, lines[0], "no code"]))
        before = len(visitor.requests)
        page.get_by_role("button", name="Show the class").click()
        said = page.locator(".cc-said-list")
        expect(said).to_contain_text("64 answers read, 64 in all.")
        expect(said).to_contain_text("Line 66: There is no code in it")
        page.get_by_role("button", name="Show the class").click()
        expect(page.locator(".cc-token")).to_have_count(len(texts))
        most = max(sent.values())
        found = page.evaluate(HEAT)
        assert [n for _, n, _ in found] == [n if (n := sent[i]) >= 3 else 0 for i in range(len(texts))]
        assert [heat for *_, heat in found] == [f"{round(100 * sent[i] / most)}%" for i in range(len(texts))]
        # The truth is not there before it is shown.
        body = page.locator(".cc-body")
        expect(page.locator(".cc-llm")).to_have_count(0)
        expect(page.locator(".cc-dot")).to_have_count(N_STUDENTS)
        expect(page.locator("path.cc-curve")).to_have_count(4)
        page.get_by_role("button", name="Show the truth").click()
        llm = {i for i, event in enumerate(run.events) if event.source == "llm"}
        expect(page.locator(".cc-llm")).to_have_count(len(llm))
        right = sum(mark in llm for of_one in marks for mark in of_one) / N_STUDENTS
        expect(body).to_contain_text(f"{right:.1f} of 6.0 marks were right")
        expect(body).to_contain_text("The number: 64. 9 of 30 found it.")
        kept = visitor.saved("Save all").decode().splitlines()
        assert [json.loads(one) for one in kept] == [json.loads(one) for one in lines]
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 844})
        sound(page, "main")
        # Only files of the page were asked for, and nothing was sent.
        assert all(asked.startswith((url, "blob:", "data:")) for asked in visitor.requests[before:])
        visitor.leave()


def test_a_room_brings_what_is_sent_and_keeps_nothing(browser: Browser, served: Served) -> None:
    visitors = [Visitor(browser, f"{served.url}?{what}") for what in ("view=class", "lesson=look-back")]
    teacher, student = (visitor.page for visitor in visitors)
    teacher.get_by_role("button", name="Open a room").click(timeout=20_000)
    room = teacher.locator(".cc-room .cc-code")
    expect(room).to_have_text(re.compile(r"^[0-9A-HJKMNP-TV-Z]{6}$"))
    code = room.inner_text()
    # One of them by hand, at the end of a lesson.
    go = student.locator(".citer-lesson .ls-act .ls-go")
    scale = student.locator(".citer-lesson input[type=range]")
    expect(scale).to_be_visible(timeout=20_000)
    scale.press("ArrowLeft")
    go.click()
    go.click()
    student.get_by_label("The number").fill("28")
    student.get_by_label("The number").press("Enter")
    student.get_by_label("Room code").fill("00000000")
    send = student.get_by_role("button", name="Send to the class")
    send.click()
    expect(student.locator(".cc-card")).to_contain_text("room")
    student.get_by_label("Room code").fill(f" {code.lower()}")
    send.click()
    expect(student.locator(".cc-card")).to_contain_text("Sent.")
    expect(teacher.locator(".cc-count")).to_have_text("1", timeout=10_000)
    # Ten more at once; what is no answer of this page is taken by the room and not by the class.
    sent = student.evaluate(
        """async (room) => {
          const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
          const { codeOf, newKey } = await import(loaded.find((name) => name.endsWith("class/answer_code.js")));
          const nothing = { guess: null, marks: null, curve: null, number: null };
          const codes = Array.from({ length: 10 }, (_, guess) =>
            codeOf({ ...nothing, of: "look-back", key: newKey(), guess }));
          const all = [...codes, "AAAA-BBBB-CCCC-DDDD"];
          const told = await Promise.all(all.map((answer) => window.citer.ask("room_send", { room, answer })));
          return told.filter(({ sent }) => sent).length;
        }""",
        code,
    )
    assert sent == 11
    expect(teacher.locator(".cc-count")).to_have_text("11", timeout=10_000)
    expect(teacher.locator(".cc-dot")).to_have_count(11)
    teacher.get_by_role("button", name="Close the room").click()
    expect(teacher.locator(".cc-room")).to_contain_text("nothing of it is kept")
    expect(teacher.locator(".cc-count")).to_have_text("11")  # the teacher's page has what it read
    for visitor in visitors:
        visitor.leave()
        assert visitor.complaints == []
