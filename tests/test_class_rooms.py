"""Rooms of a class: 60 students at once, nothing kept, nothing read without the key."""

from __future__ import annotations

import asyncio

import pytest

from citer_core.errors import GateError, SettingError
from citer_core.ui.asking import Visitor
from citer_core.ui.class_rooms import (
    ALPHABET,
    MOST_ANSWERS,
    MOST_OF_ADDRESS,
    MOST_ROOMS,
    NO_ROOM,
    UNREAD_S,
    ClassRooms,
    about_rooms,
)
from tests.asking import collected, last
from tests.loops import run_async


class Clock:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def code(number: int) -> str:
    """What looks like the code of an answer."""
    return f"2J0B-H8DJ-RCX8-0S{number // 32 % 32:02d}-{ALPHABET[number % 32]}{ALPHABET[number // 32 % 32]}F0"


def test_sixty_students_at_once_are_all_there_once_and_in_order_for_the_teacher_alone() -> None:
    answers = about_rooms(ClassRooms())
    opened = last(answers["room_open"], None)
    room = {"room": opened["room"]}
    codes = [code(k) for k in range(60)]

    async def all_at_once() -> list[object]:
        students = [Visitor(f"student-{k}", "127.0.0.1", None) for k in range(60)]
        asked = [
            collected(answers["room_send"], {**room, "answer": c}, s) for c, s in zip(codes, students, strict=True)
        ]
        return await asyncio.gather(*asked)

    assert run_async(all_at_once()) == [[{"sent": True}]] * 60
    assert last(answers["room_send"], {**room, "answer": codes[0]}) == {"sent": True}  # pressed twice
    own = {**room, "key": opened["key"]}
    got = last(answers["room_read"], own)["answers"]
    assert sorted(got) == sorted(codes)
    assert last(answers["room_read"], {**own, "first": 50})["answers"] == got[50:]
    # The code alone reads nothing, nor does another room's key.
    other = last(answers["room_open"], None)
    for key in (None, "", "x" * 22, other["key"]):
        told = last(answers["room_read"], {**room, "key": key})
        assert "answers" not in told and told["level"] == "error"
        assert "closed" not in last(answers["room_close"], {**room, "key": key})
    assert last(answers["room_close"], own) == {"closed": True}
    assert last(answers["room_read"], own)["notice"] == NO_ROOM
    assert last(answers["room_send"], {**room, "answer": codes[1]})["notice"] == NO_ROOM


@pytest.mark.parametrize("answer", [None, 7, "", "<b>hello</b>", "hello there", "A" * 401, "é" * 20, ["A" * 20]])
def test_no_text_of_a_visitor_is_taken(answer: object) -> None:
    rooms = ClassRooms()
    opened = rooms.open("a")
    with pytest.raises(GateError, match="must be a text of 16 to 400 characters"):
        rooms.send({"room": opened["room"], "answer": answer})
    assert rooms.read(opened) == {"answers": []}


def test_rooms_and_answers_are_bounded() -> None:
    rooms = ClassRooms()
    opened = rooms.open("a")
    for k in range(MOST_ANSWERS):
        rooms.send({"room": opened["room"], "answer": f"AAAA-BBBB-CCCC-{k:04d}"})
    with pytest.raises(SettingError, match="500 answers already"):
        rooms.send({"room": opened["room"], "answer": "AAAA-BBBB-CCCC-DDDD"})
    rooms.send({"room": opened["room"], "answer": "AAAA-BBBB-CCCC-0000"})  # which is there
    for _ in range(MOST_OF_ADDRESS - 1):
        rooms.open("a")
    with pytest.raises(SettingError, match="as many rooms"):
        rooms.open("a")
    for k in range(MOST_ROOMS - MOST_OF_ADDRESS):
        rooms.open(f"b{k}")
    with pytest.raises(SettingError, match="as many rooms"):
        rooms.open("c")


def test_a_room_that_its_teacher_has_left_is_forgotten() -> None:
    clock = Clock()
    rooms = ClassRooms(clock)
    opened = rooms.open("a")
    clock.now += UNREAD_S - 1
    assert rooms.read(opened) == {"answers": []}
    clock.now += UNREAD_S - 1
    rooms.send({"room": opened["room"], "answer": code(1)})  # students do not keep it
    clock.now += 2
    with pytest.raises(SettingError, match="no room with this code"):
        rooms.send({"room": opened["room"], "answer": code(2)})
    with pytest.raises(SettingError, match="no room with this code"):
        rooms.read(opened)


def test_a_room_is_asked_for_by_six_of_the_letters_that_are_not_mistaken() -> None:
    rooms = ClassRooms()
    opened = rooms.open("a")
    assert len(opened["room"]) == 6 and set(opened["room"]) <= set(ALPHABET) and len(opened["key"]) >= 20
    for room in (None, 3, "abc", "oooooo", opened["room"].lower() + "0"):
        with pytest.raises(GateError, match="6 characters"):
            rooms.send({"room": room, "answer": code(1)})
