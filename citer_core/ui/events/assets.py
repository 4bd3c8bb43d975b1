"""What the page has beside runs: problems to pick from, stored results, templates of one-file pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citer_core.offline import offline_template
from citer_core.ui.about_pair import about_bundled
from citer_core.ui.events.asking import Answers, at_once
from citer_core.ui.one_file import one_file_template
from citer_core.ui.pair.books import PairBooks, what_it_can
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.streaming import Message


def about_assets(books: PairBooks, switch: PairSwitch) -> Mapping[str, Answers]:
    """What may be asked, by name."""

    def offered(asked: Any) -> Message:
        is_bundled = switch.holds_bundled or (isinstance(asked, dict) and asked.get("bundled") is True)
        status = switch.status()
        is_there = status["state"] == "ready" and not switch.holds_bundled
        about = what_it_can(status["pair"], chat=status["is_chat"]) if is_there else about_bundled()
        return {"about": about, "problems": books.offered(is_bundled=is_bundled)}

    def evidence(_: Any) -> Message:
        from citer_core.ui.evidence.messages import evidence_message  # pandas and the files: when somebody wants them

        return evidence_message()

    return {
        "offered": at_once(offered),
        "evidence": at_once(evidence),
        "offline_page": at_once(lambda _: {"template": offline_template()}),
        "one_file_page": at_once(lambda _: {"template": one_file_template()}),
    }
