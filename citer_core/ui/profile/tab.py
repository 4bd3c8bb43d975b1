"""The tab "Is routing worth it here?": a recorded profile, and a quick one of this device on demand.

Nothing is read before the tab is opened: its component then mounts and asks. There is one measurement at a time for the
whole server (`measurement`), beside which runs go on. Imports torch only where an engine is there already.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import gradio as gr

from citer_core.errors import CiterError
from citer_core.ui.page_assets import file_url, plotly_script
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.profile.measurement import Measurement, TooManyError
from citer_core.ui.profile.messages import profile_message, progress_message
from citer_core.ui.profile.recorded import RecordedProfiles
from citer_core.ui.run.registry import session_of
from citer_core.ui.streaming import Message, encode, notice

logger = logging.getLogger(__name__)
WAIT_S = 0.25
NOT_HERE = (
    "Measuring takes most of the device for a minute, so visitors of this page may not start it. Run "
    "`python -m citer_core profile --quick` on a machine of yours; whoever serves this page may set CITER_MEASURE=1."
)
TOO_MANY = "A measurement is going on and too many follow it already: its result can be asked for in a minute."
_numbers = itertools.count()  # gradio drops a value that equals the last one
STOPPED = "The measurement was stopped: nothing was kept."
UNEXPECTED = "The measurement failed on the server; its log says why. Try again."
COMMAND = "python -m citer_core profile --quick"
_ON_LOAD = """
import(new URL(props.entry, document.baseURI).href)
  .then((profile) => profile.mountProfile({ element, props, watch, onOpen: () => trigger("opened") }))
  .catch((error) => { element.textContent = "The tab could not be started: " + error.message; });
"""


def profile_tab(assets: Path, stored: RecordedProfiles, measurement: Measurement, *, may_measure: bool) -> None:
    """Lays the tab out and wires it.

    Args:
        assets: the project's assets.
        stored: profiles to show; where there are several, one of them can be chosen.
        measurement: of this server.
        may_measure: whether visitors may start one.
    """
    with gr.Row(elem_id="cx-profile-buttons"):
        measure = gr.Button(
            "Measure on this device", elem_id="cx-profile-measure", scale=0, min_width=260, visible=may_measure
        )
        stop = gr.Button("Stop measuring", elem_id="cx-profile-stop", scale=0, min_width=160, visible=may_measure)
        recorded = gr.Button("Show the recorded profile", elem_id="cx-profile-recorded", scale=0, min_width=230)
    choices = stored.choices()
    choice = gr.Dropdown(
        choices,
        value=choices[0],
        label="Recorded profile",
        elem_id="cx-profile-choice",
        visible=len(choices) > 1,
        filterable=False,
    )
    screen = gr.HTML(
        value=None,
        html_template='<div class="cx-profile"></div>',
        js_on_load=_ON_LOAD,
        apply_default_css=False,
        elem_id="cx-profile",
        entry=file_url(assets / "profile" / "profile.js"),
        plotly=file_url(plotly_script()),
    )

    def opened(chosen: str | None) -> Iterator[str]:
        yield encode(stored.message(chosen))

    async def measured(request: gr.Request) -> AsyncGenerator[str, None]:
        session = session_of(request)
        if not may_measure:
            yield encode(notice(NOT_HERE))
            return
        if (recent := measurement.recent(session)) is not None:
            result, age_s = recent
            yield encode({**result, "profile": {**result["profile"], "age_s": age_s}, "number": next(_numbers)})
            return
        message: Message = {}
        try:
            async with aclosing(measurement.follow(session)) as messages:
                async for message in messages:
                    yield encode({**message, "number": next(_numbers)})
        except TooManyError:
            yield encode(notice(TOO_MANY))
        else:
            if "profile" not in message and message.get("level") in (None, "wait"):
                yield encode(notice(STOPPED, "info"))

    async def stopped(request: gr.Request) -> None:
        measurement.stop(session_of(request))

    how: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    screen.opened(opened, choice, screen, **how)
    recorded.click(opened, choice, screen, **how)
    choice.input(opened, choice, screen, **how)
    measuring = measure.click(measured, None, screen, **how)
    # However it ended: the line may be full, or the connection lost.
    measuring.then(None, js="() => window.citerProfile?.settled()", api_visibility="private")
    measuring.failure(None, js="() => window.citerProfile?.settled()", api_visibility="private")
    # Not `cancels`: that would throw the last message away.
    stop.click(stopped, None, None, **how)


def measurement_of(slot: EngineSlot) -> Measurement:
    """The one measurement that there is of what is in a slot."""
    return Measurement(
        lambda is_stopped: measure_messages(slot, is_stopped=is_stopped), lambda: slot.status()["generation"]
    )


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
        yield notice(UNEXPECTED)
