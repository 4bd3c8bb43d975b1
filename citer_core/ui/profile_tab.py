"""The tab "Is routing worth it here?": a recorded profile, and a quick one of this device on demand.

Nothing is read before the tab is opened: its component then mounts and asks. Measuring shares the concurrency group of
all decoding, or it would measure the page's own runs. Imports torch only where an engine is there already.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from citer_core.errors import CiterError
from citer_core.evaluation.profile_file import read_profile
from citer_core.ui.engine_slot import EngineSlot
from citer_core.ui.page_assets import file_url, plotly_script
from citer_core.ui.profile_jobs import ProfileJobs
from citer_core.ui.profile_messages import profile_message, progress_message
from citer_core.ui.run_registry import session_of
from citer_core.ui.streaming import Message, encode, notice

logger = logging.getLogger(__name__)
WAIT_S = 0.25
STOPPED = "The measurement was stopped: nothing of it is kept."
UNEXPECTED = "The measurement failed on the server; its log says why. Try it again."
COMMAND = "python -m citer_core profile --quick"
_ON_LOAD = """
import(new URL(props.entry, document.baseURI).href)
  .then((profile) => profile.mountProfile({ element, props, watch, onOpen: () => trigger("opened") }))
  .catch((error) => { element.textContent = "The tab could not be started: " + error.message; });
"""


def profile_tab(assets: Path, slot: EngineSlot, jobs: ProfileJobs, queue: dict[str, Any]) -> None:
    """Lays the tab out and wires it.

    Args:
        assets: the project's assets.
        slot: of the engine.
        jobs: of this page.
        queue: the concurrency group that all decoding shares.
    """
    with gr.Row(elem_id="cx-profile-buttons"):
        measure = gr.Button("Measure on this device", elem_id="cx-profile-measure", scale=0, min_width=260)
        stop = gr.Button("Stop measuring", elem_id="cx-profile-stop", scale=0, min_width=160)
        recorded = gr.Button("Show the recorded profile", elem_id="cx-profile-recorded", scale=0, min_width=230)
    screen = gr.HTML(
        value=None,
        html_template='<div class="cx-profile"></div>',
        js_on_load=_ON_LOAD,
        apply_default_css=False,
        elem_id="cx-profile",
        entry=file_url(assets / "profile" / "profile.js"),
        plotly=file_url(plotly_script()),
    )

    def opened() -> Iterator[str]:
        yield encode(recorded_message(assets))

    def measured(request: gr.Request) -> Iterator[str]:
        with jobs.running(session_of(request)) as stopped:
            yield from map(encode, measure_messages(slot, is_stopped=stopped.is_set))

    def stopped(request: gr.Request) -> None:
        jobs.stop(session_of(request))

    how: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    screen.opened(opened, None, screen, concurrency_limit=None, **how)
    recorded.click(opened, None, screen, concurrency_limit=None, **how)
    measuring = measure.click(measured, None, screen, **how, **queue)
    # However it ended: the queue may be full, or the connection lost.
    measuring.then(None, js="() => window.citerProfile?.settled()", api_visibility="private")
    # Not `cancels`: that would throw the last message away, and the thread would go on measuring.
    stop.click(stopped, None, None, concurrency_limit=None, **how)


def recorded_message(assets: Path) -> Message:
    """The stored profile of the bundled pair, or what is wrong with its file."""
    try:
        return profile_message(read_profile(assets / "benchmarks" / "profile.json"), "recorded")
    except CiterError as error:
        return notice(str(error))


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
            from citer_core.evaluation.profile import ProfilePlan, profile_pair

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
