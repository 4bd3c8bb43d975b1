"""What follows from what on the page: which event of a component calls what, in the browser or on the server.

What can run in the browser does (τ, prices, presets, downloads: `assets/page/page.js`); the server decodes. Called
by `page` once it has put the components together.
"""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.events import api as gr_api

from citer_core.tasks.prompts import DataType
from citer_core.ui.api.route_trace import route_trace_endpoint
from citer_core.ui.api.tools import (
    RecordedRuns,
    list_presets_endpoint,
    list_routers_endpoint,
    probe_endpoint,
    replay_endpoint,
)
from citer_core.ui.controls import Controls, about_bundled
from citer_core.ui.job_line import JobLine
from citer_core.ui.pair.books import PairBooks, what_it_can
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run.branch_events import branch_event, probe_event
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.generate import generate_event

_LINKED_ROUTER = "(name) => window.citer?.link.router(name) ?? name"


def wire_run(
    panel: Controls, screen: gr.HTML, desk: RunDesk, line: JobLine, slot: EngineSlot, book: ProblemBook
) -> None:
    """Generate, Stop, and what is asked about a finished run: a branch of it, a probe."""
    # The component takes a text as it is; gradio would send each message through a thread to find that out.
    streamed: dict[str, Any] = {"postprocess": False, "show_progress": "hidden", "api_visibility": "private"}
    take_request = "() => window.citer?.branches.takeRequest()"
    panel.generate.click(None, panel.form.inputs, None, js=panel.form.read_script, api_visibility="private")
    run = panel.ask.click(generate_event(desk, book), panel.request, screen, js=take_request, **streamed)
    branch = panel.branch.click(
        branch_event(desk, slot, book),
        panel.request,
        screen,
        js=take_request,
        **streamed,
    )
    for event in (run, branch):
        event.then(None, js="() => window.citer?.settled()", api_visibility="private")
        event.failure(None, js="() => window.citer?.refused()", api_visibility="private")
    probe = panel.probe.click(
        probe_event(line, slot, book),
        panel.request,
        screen,
        js=take_request,
        **streamed,
    )
    probe.then(None, js="() => window.citer?.branches.probeSettled()", api_visibility="private")
    probe.failure(None, js="() => window.citer?.branches.probeRefused()", api_visibility="private")
    # A run is stopped by its id between two tokens, so that its last message still arrives; `cancels` would throw that
    # away. It is for a run that has no id yet: one that waits in the queue. `page.js` chooses.
    panel.stop.click(None, js="() => window.citer?.stop()", api_visibility="private")
    panel.cancel.click(None, cancels=[run, branch], api_visibility="private")


def wire_browser(panel: Controls) -> None:
    """What needs no request at all."""
    panel.tau.input(None, panel.tau, js="(tau) => { window.citer?.setThreshold(tau); }", api_visibility="private")
    for control in panel.priced:
        control.input(
            None, panel.priced, js="(...price) => { window.citer?.setPricing(...price); }", api_visibility="private"
        )
    panel.form.router.input(
        None, panel.form.router, js="(name) => { window.citer?.routerChosen(name); }", api_visibility="private"
    )


def wire_picking(panel: Controls, screen: gr.HTML, books: PairBooks, switch: PairSwitch) -> None:
    """The problems that suit the pair."""

    def pick(key: object) -> tuple[object, object]:
        problem = books.pick(key if isinstance(key, str) else None)
        return (problem.question, problem.data_type) if problem else (gr.skip(), gr.skip())

    def another(data_type: DataType) -> tuple[object, object]:
        found = books.other(data_type, is_bundled=switch.holds_bundled)
        return (found[0], found[1].question) if found else (gr.skip(), gr.skip())

    quick: dict[str, Any] = {
        "concurrency_limit": None, "show_progress": "hidden", "show_progress_on": screen, "api_visibility": "private"
    }  # fmt: skip
    # Unchecked by gradio, which would compare with choices that it may have forgotten.
    panel.picker.input(pick, panel.picker, [panel.form.question, panel.form.data_type], preprocess=False, **quick)
    panel.another.click(another, panel.form.data_type, [panel.picker, panel.form.question], **quick)


def wire_engine(panel: Controls, screen: gr.HTML, books: PairBooks, switch: PairSwitch) -> None:
    """What is filled in later: problems to pick, and what only a loaded engine knows. `page_pairs.js` says when."""

    def engine_changed() -> tuple[object, object, object]:
        status, is_bundled = switch.status(), switch.holds_bundled
        names = list(status.get("thresholds", {}))
        info = "Who decides which model writes" if names else status["message"]
        router = gr.Dropdown(choices=names, value=status.get("default_router"), info=info)
        picker = gr.Dropdown(choices=books.choices(is_bundled=is_bundled), value=None)
        if not names:
            return router, gr.skip(), picker
        words = about_bundled() if is_bundled else what_it_can(status["pair"], chat=status["is_chat"])
        return router, gr.Textbox(info=words), picker

    changed = [panel.form.router, panel.form.question, panel.picker]
    how: dict[str, Any] = {"concurrency_limit": None, "show_progress": "hidden", "api_visibility": "private"}
    # With each message of a run gradio copies whatever it has shown progress on, the problems to pick one by one.
    ready = screen.ready(engine_changed, None, changed, show_progress_on=screen, **how)
    # Only now are there routers to choose from; the other settings of a link are put in at once.
    ready.then(None, panel.form.router, panel.form.router, js=_LINKED_ROUTER, api_visibility="private")
    screen.linked(None, None, panel.form.inputs, js=panel.form.fill_script, api_visibility="private")
    screen.priced(None, None, panel.priced, js="() => window.citer.link.priced()", api_visibility="private")


def wire_api(desk: RunDesk, line: JobLine, slot: EngineSlot, book: ProblemBook, runs: RecordedRuns) -> None:
    """The documented endpoints; those that use a model wait in line with everybody else."""
    gr_api(route_trace_endpoint(desk, slot, book), api_name="route_trace")
    gr_api(replay_endpoint(runs), api_name="replay")
    gr_api(probe_endpoint(line, slot, runs), api_name="probe")
    gr_api(list_presets_endpoint(runs), api_name="list_presets")
    gr_api(list_routers_endpoint(slot), api_name="list_routers")
