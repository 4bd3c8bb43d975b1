"""Rooms of a class: students send the codes of their answers, the teacher's page reads them, and nothing is kept.

A code has letters and digits only, so no text of a visitor reaches another. A room is in memory alone: it is gone when
it is closed, or when its teacher's page has not read it for a while. Who sends needs the room's code; who reads needs
the key too, which only the page that opened the room was told. Knows no lessons: codes are read by the browser.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from citer_core.errors import SettingError
from citer_core.gate.fields import Text, Whole
from citer_core.ui.asking import Answers, Visitor, at_once
from citer_core.ui.messages import Message

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, as in `assets/class/answer_code.js`
CODE_CHARS = 6
MOST_ROOMS = 40
MOST_OF_ADDRESS = 4
MOST_ANSWERS = 500
UNREAD_S = 15 * 60.0
CODE = Text(CODE_CHARS, CODE_CHARS, ALPHABET)
KEY = Text(64, 8)
ANSWER = Text(400, 16, f"{ALPHABET}-")
PLACE = Whole(0, MOST_ANSWERS)

NO_ROOM = "There is no room with this code. It may be closed; ask for the code again."
FULL_ROOM = f"This room has its {MOST_ANSWERS} answers already. Its teacher can close it and open another."
NO_MORE = "There are as many rooms as this server holds. Close one, or try again in a quarter of an hour."


@dataclass(slots=True)
class Room:
    """One of them.

    Attributes:
        key: that reads it.
        address: from where it was opened.
        read_at: when its teacher's page last asked.
        answers: codes in the order in which they came, each once.
    """

    key: str
    address: str
    read_at: float
    answers: dict[str, None] = field(default_factory=dict)


class ClassRooms:
    """All rooms of a process.

    Args:
        now: seconds, of a clock that never goes back.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._rooms: dict[str, Room] = {}
        self._lock = threading.Lock()

    def open(self, address: str) -> Message:
        """A new room: its code, and the key that reads it.

        Raises:
            SettingError: there are too many.
        """
        with self._lock:
            self._forget_unread()
            of_address = sum(room.address == address for room in self._rooms.values())
            if len(self._rooms) >= MOST_ROOMS or of_address >= MOST_OF_ADDRESS:
                raise SettingError(NO_MORE)
            code = ""
            while not code or code in self._rooms:
                code = "".join(secrets.choice(ALPHABET) for _ in range(CODE_CHARS))
            self._rooms[code] = Room(secrets.token_urlsafe(16), address, self._now())
            return {"room": code, "key": self._rooms[code].key}

    def send(self, asked: Mapping[str, Any]) -> Message:
        """Takes the code of an answer; the same one twice counts once.

        Raises:
            GateError: it is no code.
            SettingError: there is no such room, or it is full.
        """
        answer = ANSWER.read(asked.get("answer"), "answer")
        with self._lock:
            room = self._room(asked)
            if answer not in room.answers and len(room.answers) >= MOST_ANSWERS:
                raise SettingError(FULL_ROOM)
            room.answers[answer] = None
        return {"sent": True}

    def read(self, asked: Mapping[str, Any]) -> Message:
        """The codes from a place on.

        Raises:
            SettingError: there is no such room, or the key is not its key.
        """
        first = PLACE.read(asked.get("first", 0), "first")
        with self._lock:
            room = self._own(asked)
            room.read_at = self._now()
            return {"answers": list(room.answers)[first:]}

    def close(self, asked: Mapping[str, Any]) -> Message:
        """Forgets a room and all that is in it.

        Raises:
            SettingError: there is no such room, or the key is not its key.
        """
        with self._lock:
            self._own(asked)
            del self._rooms[asked["room"]]
        return {"closed": True}

    def _room(self, asked: Mapping[str, Any]) -> Room:
        self._forget_unread()
        room = self._rooms.get(CODE.read(asked.get("room"), "room"))
        if room is None:
            raise SettingError(NO_ROOM)
        return room

    def _own(self, asked: Mapping[str, Any]) -> Room:
        key = KEY.read(asked.get("key"), "key")
        room = self._room(asked)
        if not secrets.compare_digest(room.key.encode(), key.encode()):
            raise SettingError(NO_ROOM)
        return room

    def _forget_unread(self) -> None:
        oldest = self._now() - UNREAD_S
        self._rooms = {code: room for code, room in self._rooms.items() if room.read_at >= oldest}


def about_rooms(rooms: ClassRooms) -> Mapping[str, Answers]:
    """What may be asked, by name."""

    async def opened(_: bytes, visitor: Visitor) -> AsyncIterator[Message | str]:
        yield rooms.open(visitor.address)

    return {
        "room_open": opened,
        "room_send": at_once(rooms.send),
        "room_read": at_once(rooms.read),
        "room_close": at_once(rooms.close),
    }
