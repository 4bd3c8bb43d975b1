"""The page: puts the components together, wires their events, and serves it.

What can run in the browser does (τ, prices, presets, downloads: `assets/page/page.js`); the server decodes. Imports
no torch, so that the page answers before the models are read. Called by `app` and by the tests.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.events import api as gr_api
from starlette.middleware import Middleware

from citer_core.assets import ASSETS
from citer_core.config import AppConfig
from citer_core.errors import SettingError
from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.tasks.prompts import DataType
from citer_core.ui.about import about
from citer_core.ui.address import OTHER_PORT, check_address
from citer_core.ui.api.route_trace import route_trace_endpoint
from citer_core.ui.api.tab import api_tab
from citer_core.ui.api.tools import (
    RecordedRuns,
    list_presets_endpoint,
    list_routers_endpoint,
    probe_endpoint,
    replay_endpoint,
)
from citer_core.ui.compare.tab import compare_tab
from citer_core.ui.controls import SAMPLE_QUESTION, Controls, about_bundled, controls, fixed, tau_block
from citer_core.ui.document import PageDocument
from citer_core.ui.engine_script import EngineScript
from citer_core.ui.evidence.tab import evidence_tab
from citer_core.ui.familiar import Familiar
from citer_core.ui.field_limits import field_limits
from citer_core.ui.first_paint import AT_ONCE, opening_text, preload_of
from citer_core.ui.gradio_files import GradioFiles
from citer_core.ui.gradio_log import quiet_gradio
from citer_core.ui.header import header
from citer_core.ui.job_line import JobLine
from citer_core.ui.labels.jobs import LabelJobs
from citer_core.ui.labels.tab import labels_tab
from citer_core.ui.learn_tab import learn_tab
from citer_core.ui.lines import JOB_CAPACITY, Lines
from citer_core.ui.page_assets import chapters, file_url, page_files
from citer_core.ui.page_script import PageScript
from citer_core.ui.page_traffic import PageTraffic
from citer_core.ui.pair.books import PairBooks, what_it_can
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.profile.measurement import Measurement
from citer_core.ui.profile.recorded import RecordedProfiles
from citer_core.ui.profile.tab import measurement_of, profile_tab
from citer_core.ui.run.branch_events import branch_event, probe_event
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.generate import generate_event
from citer_core.ui.run.presets import opening_of, preset_cards, presets_to_show, recorded_problems
from citer_core.ui.run.registry import RunRegistry, session_of
from citer_core.ui.run.viewer import viewer
from citer_core.ui.session_memory import MOST_SESSIONS, count_less, forget_session
from citer_core.ui.site.one_file import one_file_template
from citer_core.ui.theme import theme
from citer_core.ui.views import API, COMPARE, EVIDENCE, EXPLORE, LABELS, LEARN, PROFILE, view_tab, view_tabs
from citer_core.web.door import Door
from citer_core.web.health import Health
from citer_core.web.page_policy import PagePolicy

TITLE = "CITER: two models write one answer"
# Not by `css_paths`: gradio rewrites what it is given there and loses rules it does not know (@container). What the
# first screen needs stands in the document, because each further file is a round trip before there is any text.
FIRST_STYLES = ("viewer/viewer.css", "page/page.css")
LATER_STYLES = ("page/pairs.css", "learn/learn.css")
DESCRIPTION = (
    "Token-level routing live: a small language model writes, a router sends the tokens where it would fail to a large "
    "one, and every token shows who wrote it, why, and what it cost."
)
ABOUT = (
    f'<meta name="description" content="{DESCRIPTION}"><meta property="og:type" content="website">'
    f'<meta property="og:title" content="{TITLE}"><meta property="og:description" content="{DESCRIPTION}">'
)
ICON = '<link rel="icon" href="favicon.ico">'  # under a path: a browser looks for it at the host's root
_LINKED_ROUTER = "(name) => window.citer?.link.router(name) ?? name"
# Gradio's queue takes everybody: whoever waits does so in a line of ours, which is fair and says how long. Beside all
# who wait there, some events need a moment.
SPARE_EVENTS = 100
WORKER_THREADS = 40
QUEUE_LOOK_S = 0.01


def _spare_gradio() -> None:
    """Two things that gradio does for every message or event, and whose results nobody here wants.

    It looks for matplotlib each time, through all folders where it is not installed: a quarter of a busy server's event
    loop. And it makes statistics of the last 10,000 events.
    """
    if importlib.util.find_spec("matplotlib") is None:
        sys.modules["matplotlib"] = None  # type: ignore[assignment]  # Python's way to say that there is none
    os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))


def build_page(
    config: AppConfig, slot: EngineSlot, switch: PairSwitch, lines: Lines | None = None, desk: RunDesk | None = None
) -> gr.Blocks:
    """The page over an engine that may not be there yet; `slot.start()` is the caller's, after `serve`.

    Args:
        config: of the process.
        slot: of the engine.
        switch: changes what is in it.
        lines: where visitors wait, for whoever wants to count them; None makes them.
        desk: over these lines, for whoever ends the process; None makes it.
    """
    _spare_gradio()
    lines = lines or Lines.of(config)
    presets = presets_to_show(ASSETS / "traces")
    recorded = recorded_problems(presets)
    desk, line = desk or RunDesk(slot, lines.runs, RunRegistry()), JobLine(lines.jobs)
    jobs, books = LabelJobs(), PairBooks.read(ASSETS / "datasets", recorded)
    book, measurement = books.bundled, measurement_of(slot)
    own = PRESETS[EMBEDDED].title
    familiar = Familiar([*book.questions, *(preset.question for preset in presets if preset.pair == own)])
    # The editor always holds the problem of the run that is shown.
    opening = opening_of(presets)
    question, data_type = (opening.question, opening.data_type) if opening else (SAMPLE_QUESTION, "math")
    page: gr.Blocks
    # As wide as the window from the first moment on, or gradio's own width would jump when our sheet arrives.
    with gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as page:
        header()
        with gr.Column(elem_id="cx-explore"):
            with gr.Column(elem_id="cx-first"):
                with gr.Row(elem_id="cx-hero"):
                    with gr.Column(elem_id="cx-run"):
                        screen = viewer(
                            ASSETS, switch, desk, familiar, has_cards=bool(presets), one_file=one_file_template
                        )
                    with gr.Column(elem_id="cx-side"):
                        fixed('<div id="cx-figures"></div>')
                        threshold = tau_block(opening.tau if opening else None)
                preset_cards(presets)
                panel = controls(question, data_type, threshold)
            fixed('<div id="cx-more"></div>')
        # A tab renders what it holds when it is first opened: nothing in it may be needed above.
        with view_tabs():
            with view_tab(EXPLORE):
                pass
            with view_tab(COMPARE):
                compare_tab(page, ASSETS, slot, book, line)
            with view_tab(LABELS):
                labels_tab(page, ASSETS, slot, book, jobs, line)
            with view_tab(EVIDENCE):
                evidence_tab(ASSETS)
            with view_tab(PROFILE):
                profile_tab(
                    ASSETS, RecordedProfiles(ASSETS / "benchmarks"), measurement, may_measure=config.may_measure
                )
            with view_tab(LEARN):
                about()
                learn_tab(ASSETS)
            with view_tab(API):
                api_tab(has_mcp=serves_mcp(config))
        _wire_run(panel, screen, desk, line, slot, book)
        _wire_browser(panel)
        _wire_picking(panel, screen, books, switch)
        _wire_engine(panel, screen, books, switch)
        # Gradio ends a closed page's generator where it notices; this also covers the moments where it does not. Runs
        # have their time to be found again (`RunDesk`), so they are not ended here.
        page.unload(_cancel_on_close(page, jobs, measurement))
        _wire_api(desk, line, slot, book, RecordedRuns(ASSETS / "traces", presets))
    count_less()
    page.queue(default_concurrency_limit=None, max_size=_n_events(config), api_open=False)
    # Gradio looks a thousand times a second whether an event has come, on Windows alone every 50 ms: a page that
    # nobody uses took 6 to 9% of a core. Nobody sees 10 ms.
    page._queue.sleep_when_free = QUEUE_LOOK_S
    return page


def health_of(slot: EngineSlot, lines: Lines) -> Health:
    """What `/healthz` says of a page with these lines."""
    return Health(slot.status, n_running=lines.n_running, n_waiting=lines.n_waiting)


def serve(page: gr.Blocks, config: AppConfig, traffic: PageTraffic | None = None, health: Health | None = None) -> str:
    """Starts to serve and returns the local address; does not block.

    Args:
        page: from `build_page`.
        config: of the process.
        traffic: notices the requests.
        health: what `/healthz` answers.

    Raises:
        SettingError: the port is used, or may not be, or the host is none of this machine's.
    """
    check_address(config.host, config.port)
    script = PageScript(ASSETS)
    watched = [Middleware(traffic.watch)] if traffic else []
    opening = opening_of(presets_to_show(ASSETS / "traces"))
    preload = "".join(preload_of(file_url(ASSETS / "traces" / file)) for file in opening.files) if opening else ""
    styles = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in FIRST_STYLES)
    files = GradioFiles()
    document = PageDocument(
        f"{AT_ONCE}{preload}{ABOUT}{ICON if config.root_path else ''}<style>{styles}</style>{script.head()}",
        opening_text(ASSETS / "traces", opening.file, is_probed=opening.is_probed) if opening else None,
        [file_url(ASSETS / name) for name in LATER_STYLES],
        files,
    )
    policy = Middleware(PagePolicy, changed=document, frame_ancestors=config.web.frame_ancestors)
    door = Door(config.host, config.port, config.web, field_limits(page), has_mcp=serves_mcp(config))
    routes = [
        script.route(),
        files.route(),
        EngineScript().route(),
        page_files().route(),
        chapters().route(),
        (health or Health()).route(),
    ]
    quiet_gradio()
    try:
        _, url, _ = page.launch(
            server_name=config.host,
            server_port=config.port,
            root_path=config.root_path,
            theme=theme(),
            favicon_path=ASSETS / "page" / "favicon.svg",
            footer_links=["api", "gradio"],
            run_history=False,
            show_error=False,
            ssr_mode=False,
            share=False,
            max_file_size=1,  # no route takes a file
            max_threads=_n_events(config),  # gradio's name for the number of events that go on at once
            state_session_capacity=MOST_SESSIONS,
            mcp_server=serves_mcp(config),
            enable_monitoring=False,
            auth=list(config.web.accounts) or None,
            quiet=True,
            app_kwargs={
                "routes": routes,
                "middleware": [policy, *watched],
                "lifespan": door.lifespan,
                "openapi_url": None,
            },
            prevent_thread_lock=True,
        )
    except OSError as error:  # gradio's, after its own tries; between our look and its own another took the port
        raise SettingError(f"Port {config.port} was taken while the page was being started. {OTHER_PORT}") from error
    limiter: Any = page.limiter
    limiter.total_tokens = WORKER_THREADS  # events that wait have none, so real threads can be few
    return str(url)


def _wire_run(
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


def _wire_browser(panel: Controls) -> None:
    """What needs no request at all."""
    panel.tau.input(None, panel.tau, js="(tau) => { window.citer?.setThreshold(tau); }", api_visibility="private")
    for control in panel.priced:
        control.input(
            None, panel.priced, js="(...price) => { window.citer?.setPricing(...price); }", api_visibility="private"
        )
    panel.form.router.input(
        None, panel.form.router, js="(name) => { window.citer?.routerChosen(name); }", api_visibility="private"
    )


def _wire_picking(panel: Controls, screen: gr.HTML, books: PairBooks, switch: PairSwitch) -> None:
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


def _wire_engine(panel: Controls, screen: gr.HTML, books: PairBooks, switch: PairSwitch) -> None:
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


def _wire_api(desk: RunDesk, line: JobLine, slot: EngineSlot, book: ProblemBook, runs: RecordedRuns) -> None:
    """The documented endpoints; those that use a model wait in line with everybody else."""
    gr_api(route_trace_endpoint(desk, slot, book), api_name="route_trace")
    gr_api(replay_endpoint(runs), api_name="replay")
    gr_api(probe_endpoint(line, slot, runs), api_name="probe")
    gr_api(list_presets_endpoint(runs), api_name="list_presets")
    gr_api(list_routers_endpoint(slot), api_name="list_routers")


def serves_mcp(config: AppConfig) -> bool:
    """Whether the endpoints are MCP tools too: wanted, and the package that speaks it is there."""
    return config.mcp and importlib.util.find_spec("mcp") is not None


def _n_events(config: AppConfig) -> int:
    """How many events may go on at once."""
    return config.n_concurrent_runs + config.n_queued_runs + JOB_CAPACITY + SPARE_EVENTS


def _cancel_on_close(page: gr.Blocks, jobs: LabelJobs, measurement: Measurement) -> Callable[..., None]:
    def closed(request: gr.Request) -> None:
        jobs.cancel_session(session_of(request))
        measurement.stop(session_of(request))
        forget_session(page, session_of(request))

    return closed
