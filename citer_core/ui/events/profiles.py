"""Recorded profiles, and a quick one of this device.

There is one measurement at a time for the whole server (`profile.measurement`), beside which runs go on; it ends where
nobody reads on. Imports torch only where an engine is there already.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing

from citer_core.errors import CiterError
from citer_core.ui.events.asking import Answers, Visitor, at_once
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.profile.measurement import Measurement, TooManyError
from citer_core.ui.profile.messages import profile_message, progress_message
from citer_core.ui.profile.recorded import RecordedProfiles
from citer_core.ui.streaming import Message, notice

logger = logging.getLogger(__name__)
WAIT_S = 0.25
NOT_HERE = (
    "Measuring takes most of the device for a minute, so visitors of this page may not start it. Run "
    "`python -m citer_core profile --quick` on a machine of yours; whoever serves this page may set CITER_MEASURE=1."
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

    return {"measure": measure, "profile": at_once(stored.message)}


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
            from citer_core.measuring.profile_plan import ProfilePlan

            steps = profile_pair(engine, ProfilePlan.quick(), command=COMMAND)
            while True:
                if is_stopped():
                    yield notice(STOPPED, "info")
                    return
                try:
                    progress = next(steps)
                except StopIteration as stop:
                    yield profile_message(stop.value, "live")
                    return
                yield progress_message(progress.done, progress.doing)
    except CiterError as error:
        yield notice(str(error))
    except Exception:
        logger.exception("a quick profile failed")
        yield notice(FAILED)
