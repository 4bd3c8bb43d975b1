"""What the page is told that is not about a run: notices, places in a line, errors; and how any message travels.

Where a run of another pair cannot be gone on with, it says which pair is needed, so that it can be offered. Called by
all of the page's events; knows nothing about runs or lines.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from citer_core.errors import CiterError, SettingError
from citer_core.models.presets import preset_of
from citer_core.models.same_pair import is_same_run

if TYPE_CHECKING:
    from citer_core.engine import Engine


Message = dict[str, Any]

UNEXPECTED = "Something went wrong on the server and this run ended early; the server's log says what. Try again."


def notice(text: str, level: str = "error") -> Message:
    """A message that is not about a run: bad input, a wait."""
    return {"notice": text, "level": level}


def place_notice(place: int, seconds: float | None) -> Message:
    """A visitor's place in the line, with the numbers too.

    Args:
        place: 1 for the next one.
        seconds: until the turn, as far as is known.
    """
    return {**notice(place_words(place, seconds), "wait"), "place": place, "seconds": seconds}


def place_words(place: int, seconds: float | None) -> str:
    """The same as a sentence; seconds are rounded as far as they are uncertain."""
    where = "You are next in line" if place == 1 else f"You are {ordinal(place)} in line"
    if seconds is None:
        return f"{where}; how long that takes is not known yet."
    if seconds < 20:
        return f"{where}, about {max(1, round(seconds))} s."
    if seconds < 90:
        return f"{where}, about {5 * round(seconds / 5)} s."
    return f"{where}, about {round(seconds / 60)} minutes."


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    last = 0 if number % 100 in (11, 12, 13) else number % 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def encode(message: Message) -> str:
    """A message as one line of JSON; `<` is escaped so that no token text can look like markup on the way."""
    return json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


class OtherPairError(SettingError):
    """The loaded pair is not the one that is needed.

    Attributes:
        needed: its title, as traces have it.
    """

    def __init__(self, message: str, needed: str) -> None:
        super().__init__(message)
        self.needed = needed


def check_pair(engine: Engine, title: str, revision: str) -> None:
    """Whether a run of the pair of that title and revision can go on with the loaded one.

    Raises:
        OtherPairError: it cannot.
    """
    loaded = engine.pair_info
    if is_same_run(revision, loaded.revision):
        return
    if not title or title == loaded.name:
        raise OtherPairError(
            f"This run was made by other weights, or in another precision, than {loaded.name} in {loaded.dtype}, which "
            "is loaded: generate it again to go on from it.",
            title,
        )
    raise OtherPairError(
        f"This run was made by {title}, and {loaded.name} is loaded. To go on from it, change the pair to {title}; or "
        f"generate it again with {loaded.name}.",
        title,
    )


def error_notice(error: CiterError) -> Message:
    """An error as a message for the page; where another pair is needed, it says which, so that it can be offered."""
    message = notice(str(error))
    if isinstance(error, OtherPairError):
        message["needs"] = {"title": error.needed, "pair": preset_of(error.needed)}
    return message
