"""The loaded pair: how it is, which others there are, the change to one of them, and what it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citer_core.tasks.problems import MAX_PROMPT_CHARS
from citer_core.ui.events.asking import Answers, at_once
from citer_core.ui.familiar import Familiar
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.streaming import Message


def about_pairs(switch: PairSwitch, familiar: Familiar) -> Mapping[str, Answers]:
    """What may be asked about pairs, by name.

    Args:
        switch: of the page.
        familiar: judges what the bundled pair is asked.
    """

    def change_pair(asked: Any) -> Message:
        fields = asked if isinstance(asked, dict) else {}
        return {"change": switch.begin(fields.get("pair"), fields.get("dtype", ""))}

    def cancel_change(asked: Any) -> Message:
        return {"cancelled": switch.cancel(asked.get("token") if isinstance(asked, dict) else None)}

    def foreign_problem(asked: Any) -> Message:
        fields = asked if isinstance(asked, dict) else {}
        question, data_type = fields.get("question"), fields.get("data_type")
        if not switch.holds_bundled or not isinstance(question, str) or not isinstance(data_type, str):
            return {"warning": None}
        return {"warning": familiar.warning(question[:MAX_PROMPT_CHARS], data_type)}

    return {
        "engine_status": at_once(lambda _: switch.status()),
        "list_pairs": at_once(lambda _: switch.listed()),
        "change_pair": at_once(change_pair),
        "cancel_change": at_once(cancel_change),
        "foreign_problem": at_once(foreign_problem),
    }
