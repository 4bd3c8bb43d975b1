"""The view "Is routing worth it here?": recorded profiles, and a quick one of this device, each as one message: words,
tables, and what the two charts draw.

Everything that a person reads is computed here; the browser only draws. Imports torch only where an engine is there
already.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from citer_core.browser_pair import stored_advice
from citer_core.cost import ROUTER_BYTES_PER_PARAM
from citer_core.errors import CiterError
from citer_core.measuring.profile_numbers import Profile, measured_crossing, read_profile
from citer_core.measuring.profile_words import big_numbers, headline, provenance, sentences, tables
from citer_core.measuring.report.stored import StoredReport, stored_reports
from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.serving.wake import Wake
from citer_core.types import WithResult
from citer_core.ui.asking import Answers, Visitor, at_once
from citer_core.ui.messages import Message, notice
from citer_core.ui.pair.engine_slot import EngineSlot

KEPT_S = 600.0

KEEP_S = 5.0

EVERY_S = 0.1

MOST_FOLLOWERS = 200

# Steps of a measurement; the argument says whether it should end.
Measure = Callable[[Callable[[], bool]], Iterator[Message]]


class TooManyError(Exception):
    """More follow it than are allowed."""


@dataclass(eq=False, slots=True)
class _Going:
    """One that goes on: its latest step, and whether it should end or has."""

    latest: Message | None = None
    has_ended: bool = False
    stopped: threading.Event = field(default_factory=threading.Event)


class Measurement:
    """The measurement that goes on, or was the last: one at a time for the whole server, which all who ask see.

    It takes most of the device for a minute, so no second one may start: who asks meanwhile follows the one that is
    going on, and who asks within some minutes gets its result, once. It ends early when the last page that follows it
    is gone. Runs and other jobs go on beside it. All but its own thread is done in the event loop.

    Args:
        measure: makes the steps; the last one is the result where it has a "profile".
        of: what is measured; a result of something else is not handed out.
        kept_s: how long a result is handed out again.
    """

    def __init__(self, measure: Measure, of: Callable[[], object], kept_s: float = KEPT_S) -> None:
        self._measure, self._of, self._kept_s = measure, of, kept_s
        self._followers: dict[str, Wake] = {}
        self._turn = threading.Lock()  # of who measures: one that was stopped is at its last step
        self._going = _Going(has_ended=True)
        self._result: tuple[Message, object, float] | None = None
        self._given_to: set[str] = set()

    def recent(self, session: str) -> tuple[Message, float] | None:
        """A result that is new enough and that this page has not seen, and how many seconds old it is."""
        if self._result is None or session in self._given_to:
            return None
        message, of, at = self._result
        age_s = time.monotonic() - at
        if age_s > self._kept_s or of != self._of():
            return None
        self._given_to.add(session)
        return message, age_s

    async def follow(self, session: str) -> AsyncGenerator[Message, None]:
        """Begins one, or joins the one that goes on; its steps as far as a page needs them: the latest one.

        Raises:
            TooManyError: too many follow it.
        """
        before = self._followers.get(session)
        if len(self._followers) >= MOST_FOLLOWERS and before is None:
            raise TooManyError
        wake = self._followers[session] = Wake()
        if before is not None:
            before()
        if self._going.has_ended or self._going.stopped.is_set():
            self._going = _Going()
            threading.Thread(target=self._work, args=(self._going,), name="measurement", daemon=True).start()
        going, shown = self._going, None
        try:
            while True:
                has_ended, message = going.has_ended, going.latest  # in this order: then it is the last one
                if message is not None and message is not shown:
                    shown = message
                    yield message
                if has_ended or self._followers.get(session) is not wake:  # the same page asked again
                    return
                await asyncio.sleep(EVERY_S)  # the latest step is enough
                if not await wake.wait(KEEP_S):
                    shown = None  # a message is where it is noticed that a page is gone
        finally:
            if self._followers.get(session) is wake:
                del self._followers[session]
            if not self._followers:
                self._going.stopped.set()

    def _work(self, going: _Going) -> None:
        try:
            with self._turn:
                of = self._of()
                for message in self._measure(going.stopped.is_set):
                    if "profile" in message:
                        self._result = (message, of, time.monotonic())
                        self._given_to = set(self._followers)
                    going.latest = message
                    self._tell()
        finally:
            going.has_ended = True
            self._tell()

    def _tell(self) -> None:
        for wake in list(self._followers.values()):
            wake()


Kind = Literal["recorded", "live"]

SHARES = tuple(n / 40 for n in range(41))


def profile_message(profile: Profile, kind: Kind, more: Sequence[str] = ()) -> Message:
    """The whole panel; `more` are sentences to be said beside its own."""
    return {
        "profile": {
            "kind": kind,
            "pair": profile.pair,
            "headline": headline(profile),
            "numbers": [asdict(number) for number in big_numbers(profile)],
            "provenance": provenance(profile),
            "sentences": [*sentences(profile), *_drafts(profile.pair), *more],
            "tables": [asdict(table) for table in tables(profile)],
            "shares": _share_chart(profile),
            "passes": _pass_chart(profile),
        }
    }


def _drafts(pair: str) -> list[str]:
    """What else reads the large model less often, where that was measured on this pair."""
    advice = stored_advice() if pair == PRESETS[EMBEDDED].title else None
    return [advice["drafts"]] if advice and advice["drafts"] else []


def progress_message(done: float, doing: str) -> Message:
    """How far a measurement is, `done` of 1."""
    return {"progress": {"done": done, "doing": doing}}


def _share_chart(profile: Profile) -> dict[str, Any]:
    """Cost of a routed token of that of the LLM alone, over the share of LLM tokens; above 1 routing loses."""
    costs, even, crossing = profile.costs, profile.break_even, measured_crossing(profile.check)
    context, router_bytes = even.n_context, profile.router.n_params * ROUTER_BYTES_PER_PARAM
    paid = (profile.slm.pass_bytes + router_bytes) / profile.llm.pass_bytes
    alone = costs.llm_only_s(context)
    return {
        "share": SHARES,
        "time": [costs.routed_s(share, context) / alone for share in SHARES],
        "bytes": [paid + share for share in SHARES],
        "break_even": {"time": even.time, "bytes": even.bytes},
        "crossing": None if crossing is None or crossing.at is None else asdict(crossing),
        "measured": [
            {"share": row.llm_share, "time": row.measured_of_llm_alone}
            for row in profile.check
            if row.llm_share is not None
        ],
    }


def _pass_chart(profile: Profile) -> list[dict[str, Any]]:
    """Measured milliseconds of a pass over the tokens that it feeds, and the fitted line, per model."""
    context = profile.break_even.n_context
    series = []
    for name, model in (("SLM", profile.slm), ("LLM", profile.llm)):
        passes = [row for row in model.passes if row.n_cached == context]
        n_new = [row.n_new for row in passes]
        series.append(
            {
                "name": name,
                "n_new": n_new,
                "measured_ms": [1000 * row.seconds for row in passes],
                "fitted_ms": [1000 * model.fit.seconds(n, context) for n in n_new],
                "n_context": context,
            }
        )
    return series


FIRST = "Bundled pair on a processor"


class RecordedProfiles:
    """What is stored in a folder.

    Args:
        folder: has `profile.json`, and a folder for each device report.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _reports(self) -> list[StoredReport]:
        return stored_reports(self._folder)

    @cached_property
    def _of_reports(self) -> dict[str, tuple[StoredReport, Profile]]:
        return {
            f"{pair} on {report.hardware}, {report.date}": (report, profile)
            for report in self._reports
            for pair, profile in report.profiles().items()
        }

    def choices(self) -> list[str]:
        """What there is to choose from, the first one first."""
        return [FIRST, *self._of_reports]

    def message(self, choice: object = None) -> Message:
        """One profile as a message, with what its report says of the device; or what is wrong with its file.

        Args:
            choice: one of `choices`; None, and what is none of them, takes the first.
        """
        found = self._of_reports.get(choice) if isinstance(choice, str) else None
        if found is not None:
            report, profile = found
            return profile_message(profile, "recorded", report.sentences())
        try:
            said = [sentence for report in self._reports for sentence in report.sentences()]
            return profile_message(read_profile(self._folder / "profile.json"), "recorded", said)
        except CiterError as error:
            return notice(str(error))


logger = logging.getLogger(__name__)

WAIT_S = 0.25

NOT_HERE = (
    "Measuring takes most of the device for a minute, so visitors of this page may not start it. Run "
    "`python -m citer_core profile --quick` on a machine of yours; the operator of this page may set CITER_MEASURE=1."
)

TOO_MANY = "A measurement is going on and too many follow it already: its result can be asked for in a minute."

STOPPED = "The measurement was stopped: nothing was kept."

FAILED = "The measurement failed on the server; its log says why. Try again."

COMMAND = "python -m citer_core profile --quick"


def about_profiles(stored: RecordedProfiles, slot: EngineSlot, *, may_measure: bool) -> Mapping[str, Answers]:
    """What may be asked, by name.

    Args:
        stored: the recorded ones.
        slot: of the engine that is measured.
        may_measure: whether visitors may start one.
    """
    measurement = Measurement(
        lambda is_stopped: measure_messages(slot, is_stopped=is_stopped), lambda: slot.status()["generation"]
    )

    async def measure(_: bytes, visitor: Visitor) -> AsyncIterator[Message | str]:
        if not may_measure:
            yield notice(NOT_HERE)
            return
        if (recent := measurement.recent(visitor.tab)) is not None:
            result, age_s = recent
            yield {"profile": {**result["profile"], "age_s": age_s}}
            return
        message: Message = {}
        try:
            async with aclosing(measurement.follow(visitor.tab)) as messages:
                async for message in messages:
                    yield message
        except TooManyError:
            yield notice(TOO_MANY)
        else:
            if "profile" not in message and message.get("level") in (None, "wait"):
                yield notice(STOPPED, "info")

    return {"measure": measure, "profile": at_once(lambda asked: stored.message(asked.get("profile")))}


def measure_messages(slot: EngineSlot, *, is_stopped: Callable[[], bool] = lambda: False) -> Iterator[Message]:
    """A quick profile of the loaded pair, with progress; an error becomes a calm notice.

    Args:
        slot: of the engine.
        is_stopped: asked between steps; a stopped measurement ends with a notice.
    """
    try:
        with slot.lease() as lease:
            while (engine := lease.wait(WAIT_S)) is None:
                if is_stopped():
                    yield notice(STOPPED, "info")
                    return
                yield notice("The models are loading; the measurement starts as soon as they are ready.", "wait")
            from citer_core.measuring.profile import profile_pair
            from citer_core.measuring.profile_numbers import ProfilePlan

            steps = WithResult(profile_pair(engine, ProfilePlan.quick(), command=COMMAND))
            for progress in steps:
                yield progress_message(progress.done, progress.doing)
                if is_stopped():
                    yield notice(STOPPED, "info")
                    return
            yield profile_message(steps.result, "live")
    except CiterError as error:
        yield notice(str(error))
    except Exception:
        logger.exception("a quick profile failed")
        yield notice(FAILED)
