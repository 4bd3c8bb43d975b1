"""`PairSwitch`: changes the pair of a running page, in stages that can be seen and, mostly, cancelled.

One change at a time, for the whole server: two pairs in memory are enough. The old pair serves until the new one is
ready, or, where there is no room for both, until its last run has ended. Whatever goes wrong, it goes on or comes back.
Must not import torch; the loader that it is given does. Below it, what a page may ask about pairs.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from citer_core.errors import CiterError, ModelFileError, SettingError, StoppedError
from citer_core.models.presets import EMBEDDED, parse_pair
from citer_core.system_memory import MEMORY_FULL, give_back, is_out_of_memory
from citer_core.tasks.problems import MAX_PROMPT_CHARS
from citer_core.types import LoadProgress, LoadStage
from citer_core.ui.about_pair import Familiar, told_of_bundled, what_it_can
from citer_core.ui.asking import Answers, at_once
from citer_core.ui.messages import Message
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.offers import PairOffers, Room
from citer_core.ui.problems import PairBooks

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.trace import PairInfo

logger = logging.getLogger(__name__)
Stage = Literal["fetch", "convert", "wait", "load", "restore", "ready", "failed", "cancelled"]
# (pair, dtype, may it download, told where it is) -> the engine; in the thread of the change.
LoadPair = Callable[[str, str, bool, LoadProgress], "Engine"]
ENDED: tuple[Stage, ...] = ("ready", "failed", "cancelled")
LOOK_S = 0.1
UNEXPECTED = "something unexpected went wrong, and the server's log says what"
WORDS: dict[Stage, str] = {
    "fetch": "downloading",
    "convert": "unpacking its weights",
    "wait": "waiting for the runs of the old pair",
    "load": "being loaded",
    "restore": "making way for the old pair",
}


@dataclass(eq=False)
class Change:
    """One change of the pair, as far as it is.

    Attributes:
        id: by which pages that see it know it again.
        token: who has it may cancel; only the page that began the change is given it.
        done, total: bytes while it downloads.
        message: what came of it, or what is special about now.
    """

    pair: str
    dtype: str
    title: str
    room: Room
    id: str = field(default_factory=lambda: secrets.token_urlsafe(8))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    stage: Stage = "fetch"
    done: int = 0
    total: int | None = None
    message: str = ""
    cancelled: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        """Whether it has come to an end, a good or a bad one."""
        return self.stage in ENDED

    def check(self) -> None:
        """Ends the change here if it was cancelled."""
        if self.cancelled.is_set():
            raise StoppedError("Cancelled.")


class PairSwitch:
    """Changes what is in a slot.

    Args:
        slot: of the page.
        load: makes an engine.
        offers: what may be chosen.
        pair, dtype: what the slot is filled with at first, for the way back.
    """

    def __init__(self, slot: EngineSlot, load: LoadPair, offers: PairOffers, pair: str, dtype: str) -> None:
        self._slot, self._load, self.offers = slot, load, offers
        self._loaded = (pair, dtype)
        self._beginning = threading.Lock()
        self._change: Change | None = None

    @property
    def pair(self) -> str:
        """What the slot holds, as `--pair` spells it."""
        return self._loaded[0]

    @property
    def holds_bundled(self) -> bool:
        """Whether that is the pair whose problems come with the project."""
        return self.pair == EMBEDDED

    def begin(self, pair: object, dtype: object = "") -> dict[str, Any]:
        """Begins a change in the background.

        Returns:
            Its state, as `status` has it, and `token`, which `cancel` asks for and no other page is told.

        Raises:
            CiterError: it is not possible or not allowed (see `PairOffers.check`), or another one is going on.
        """
        with self._beginning:
            self._refuse_second()
            status = self._slot.status()
            if status["state"] == "loading":
                raise SettingError("The first pair is still being loaded: change it when it is there.")
            name, number_format, room = self.offers.check(pair, dtype, self._loaded_info(), self.pair)
            self._change = change = Change(name, number_format, parse_pair(name).name, room)
        threading.Thread(target=self._work, args=(change,), name="pair-switch", daemon=True).start()
        return {**self._state(change), "token": change.token}

    def cancel(self, token: object) -> bool:
        """Ends the change of that token as soon as it can be; False where it is over or another one.

        Reading weights cannot be interrupted: what it gives is dropped then.
        """
        change = self._change
        if change is None or change.is_over or not isinstance(token, str):
            return False
        if not secrets.compare_digest(change.token.encode(), token.encode("utf-8", "replace")):
            return False
        change.cancelled.set()
        return True

    def wait(self, timeout_s: float) -> bool:
        """Whether no change goes on any more, after `timeout_s` at the latest."""
        return self._change is None or self._change.over.wait(timeout_s)

    def status(self) -> dict[str, Any]:
        """The slot's status, with the change that is going on or was the last, and why none is possible."""
        change = self._change
        return {
            **self._slot.status(),
            "pair_name": self.pair,
            "picker": {"on": not self.offers.why_off, "why": self.offers.why_off},
            "change": None if change is None else self._state(change),
        }

    def listed(self) -> dict[str, Any]:
        """What the picker shows."""
        return self.offers.listed(self._loaded_info(), self.pair)

    def _loaded_info(self) -> PairInfo | None:
        engine = self._slot.wait(0) if self._slot.status()["state"] == "ready" else None
        return engine.pair_info if engine else None

    def _refuse_second(self) -> None:
        change = self._change
        if change is not None and not change.is_over:
            raise SettingError(
                f"{change.title} is {WORDS[change.stage]} already: wait for it, or cancel it where it was begun."
            )

    def _state(self, change: Change) -> dict[str, Any]:
        return {
            "id": change.id,
            "pair": change.pair,
            "title": change.title,
            "dtype": change.dtype,
            "stage": change.stage,
            "done": change.done,
            "total": change.total,
            "message": change.message,
            "is_over": change.is_over,
            "is_cancelling": change.cancelled.is_set(),
            "n_runs": self._slot.n_leases if change.stage == "wait" else 0,
        }

    # ------------------------------------------------------------ in the thread of the change

    def _work(self, change: Change) -> None:
        old_title = self._slot.status().get("pair", "")
        ended, why = self._try(change)
        if ended == "ready":
            self._end(change, ended, why)
        else:
            self._go_back(change, ended, why, old_title)

    def _try(self, change: Change) -> tuple[Stage, str]:
        """Loads and puts in; what it raised is gone when this returns, and with it what was loaded halfway."""
        try:
            engine = self._load(change.pair, change.dtype, self.offers.may_download, self._progress(change))
            change.check()
        except StoppedError:
            return "cancelled", "Cancelled."
        except CiterError as error:
            return "failed", str(error)
        except Exception as error:
            logger.exception("the pair %s could not be loaded", change.pair)
            if is_out_of_memory(error):
                return "failed", f"{change.title} could not be loaded: {MEMORY_FULL}"
            return "failed", f"{change.title} could not be loaded: {UNEXPECTED}."
        before = self._slot.put(engine)
        self._loaded = (change.pair, change.dtype)
        self._slot.retire(before)
        return "ready", f"{change.title} is loaded."

    def _progress(self, change: Change) -> LoadProgress:
        def tell(stage: LoadStage, done: int, total: int | None) -> None:
            change.check()
            change.stage, change.done, change.total = stage, done, total
            if stage == "load" and change.room == "after":
                self._make_room(change)

        return tell

    def _make_room(self, change: Change) -> None:
        """Frees the old pair once no run uses it; new runs wait meanwhile."""
        change.stage = "wait"
        old = self._slot.close(f"Changing to {change.title}")
        try:
            while old is not None and not old.unused.wait(LOOK_S):
                change.check()
            change.check()
        except StoppedError:
            self._slot.open()
            raise
        change.stage = "load"
        self._slot.take_out()

    def _go_back(self, change: Change, ended: Stage, why: str, old_title: str) -> None:
        """Ends a change that came to nothing; loads the old pair again where it had to make way."""
        give_back()  # what was loaded halfway
        self._slot.open()
        if not self._slot.has_engine and old_title:
            change.stage = "restore"
            try:
                self._slot.put(self._load(*self._loaded, False, lambda *_: None))
            except CiterError as error:
                self._slot.fail(error)
                why += f" {old_title} could not be loaded again: {error}"
            except Exception:
                logger.exception("the old pair %s could not be loaded again", self._loaded[0])
                self._slot.fail(ModelFileError(f"No pair is loaded: {UNEXPECTED}. Choose a pair."))
                why += f" {old_title} could not be loaded again either."
        self._end(change, ended, f"{why} {old_title} goes on." if self._slot.has_engine else why)

    def _end(self, change: Change, stage: Stage, message: str) -> None:
        change.message = message
        change.stage = stage  # last: it is what others look at
        change.over.set()
        logger.info("change to %s: %s. %s", change.pair, stage, message)


def about_pairs(
    switch: PairSwitch, books: PairBooks, familiar: Familiar, recorded: Mapping[str, str]
) -> Mapping[str, Answers]:
    """What may be asked, by name: the loaded pair, the others, the change to one, and what suits it or does not.

    Args:
        switch: of the page.
        books: problems to pick from.
        familiar: judges what the bundled pair is asked.
        recorded: the kind of each recorded question.
    """

    def offered(asked: dict[str, Any]) -> Message:
        is_bundled = switch.holds_bundled or asked.get("bundled") is True
        status = switch.status()
        is_there = status["state"] == "ready" and not switch.holds_bundled
        told = {"about": what_it_can(status["pair"], chat=status["is_chat"])} if is_there else told_of_bundled(recorded)
        return {**told, "problems": books.offered(is_bundled=is_bundled)}

    def foreign_problem(asked: dict[str, Any]) -> Message:
        question, data_type = asked.get("question"), asked.get("data_type")
        if not switch.holds_bundled or not isinstance(question, str) or not isinstance(data_type, str):
            return {"warning": None}
        return {"warning": familiar.warning(question[:MAX_PROMPT_CHARS], data_type)}

    return {
        "engine_status": at_once(lambda _: switch.status()),
        "list_pairs": at_once(lambda _: switch.listed()),
        "change_pair": at_once(lambda asked: {"change": switch.begin(asked.get("pair"), asked.get("dtype", ""))}),
        "cancel_change": at_once(lambda asked: {"cancelled": switch.cancel(asked.get("token"))}),
        "offered": at_once(offered),
        "foreign_problem": at_once(foreign_problem),
    }
