"""What a live comparison is asked with: one object from the browser in, checked values out.

    {"question": "1 + 1?", "data_type": "math", "together": true, "routers": [{"router": "citer", "threshold": 0.9}],
     "settings": {"max_new_tokens": 128, "temperature": 0}}

Knows the problem book, no engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from citer_core.decode_settings import DecodeSettings
from citer_core.errors import GateError, SettingError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.json_text import parse_json
from citer_core.tasks.problems import Problem
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run.asked import MAX_REQUEST_CHARS, asked_run

MOST_ROUTERS = 2
NAMES = ("question", "data_type", "together", "routers", "settings")


@dataclass(frozen=True, slots=True)
class AskedComparison:
    """One problem for all, and settings but for tau; `routers` has names with taus; `together` gives tokens in turn."""

    problem: Problem
    routers: tuple[tuple[str, float], ...]
    settings: DecodeSettings
    together: bool


def read_comparison(book: ProblemBook, text: object) -> AskedComparison:
    """Reads the browser's request.

    Args:
        book: the bundled problems, whose answers are known.
        text: the object above as JSON.

    Raises:
        CiterError: it is none; it names something else; a value is of another kind or outside its range.
    """
    try:
        given = parse_json(text, max_chars=MAX_REQUEST_CHARS)
    except GateError as error:
        raise SettingError(f"The request for a comparison cannot be read: {error}") from None
    if not isinstance(given, Mapping) or any(name not in NAMES for name in given):
        raise SettingError(f"A comparison is asked with an object that may hold {', '.join(NAMES)}.")
    together, routers = given.get("together", False), given.get("routers", [])
    if not isinstance(together, bool):
        raise SettingError(f"together is {excerpt(together)}: give true or false.")
    if not isinstance(routers, list) or not 1 <= len(routers) <= MOST_ROUTERS:
        raise SettingError(f"routers is {excerpt(routers)}: give a list of 1 to {MOST_ROUTERS} of them.")
    shared = given.get("settings", {})
    if not isinstance(shared, Mapping) or "threshold" in shared:
        raise SettingError("settings holds those of decoding that all ways share; each router has its tau.")
    asked = []
    for entry in routers:
        if not isinstance(entry, Mapping) or entry.keys() != {"router", "threshold"}:
            raise SettingError('A router to compare is {"router": name, "threshold": tau}.')
        asked.append(
            asked_run(
                book,
                question=given.get("question"),
                data_type=given.get("data_type"),
                router=entry["router"],
                settings={**shared, "threshold": entry["threshold"]},
            )
        )
    for one in asked:
        if not one.router or not 0 < one.settings.threshold < 1:
            raise SettingError("Give each router by its name and a tau between 0 and 1: both ends are there anyway.")
    routers = tuple((one.router or "", one.settings.threshold) for one in asked)
    return AskedComparison(asked[0].problem, routers, asked[0].settings, together)
