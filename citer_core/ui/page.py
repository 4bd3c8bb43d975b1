"""The page: puts the components together and serves it.

Imports no torch, so that the page answers before the models are read. Called by `app` and by the tests.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from citer_core.assets import ASSETS
from citer_core.config import AppConfig
from citer_core.errors import SettingError
from citer_core.models.presets import EMBEDDED, PRESETS
from citer_core.ui.about import about
from citer_core.ui.address import OTHER_PORT, check_address
from citer_core.ui.api.tab import api_tab
from citer_core.ui.api.tools import RecordedRuns
from citer_core.ui.compare.tab import compare_tab
from citer_core.ui.controls import SAMPLE_QUESTION, controls, fixed, tau_block
from citer_core.ui.document import PageDocument
from citer_core.ui.engine_script import EngineScript
from citer_core.ui.evidence.tab import evidence_tab
from citer_core.ui.familiar import Familiar
from citer_core.ui.field_limits import event_weights, field_limits
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
from citer_core.ui.pair.books import PairBooks
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.switch import PairSwitch
from citer_core.ui.profile.measurement import Measurement
from citer_core.ui.profile.recorded import RecordedProfiles
from citer_core.ui.profile.tab import measurement_of, profile_tab
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.presets import opening_of, preset_cards, presets_to_show, recorded_problems
from citer_core.ui.run.registry import RunRegistry, session_of
from citer_core.ui.run.viewer import viewer
from citer_core.ui.session_memory import MOST_SESSIONS, count_less, drop_unread, forget_session, is_known
from citer_core.ui.site.one_file import one_file_template
from citer_core.ui.theme import theme
from citer_core.ui.views import API, COMPARE, EVIDENCE, EXPLORE, LABELS, LEARN, PROFILE, view_tab, view_tabs
from citer_core.ui.wiring import wire_api, wire_browser, wire_engine, wire_picking, wire_run
from citer_core.web.door import Door
from citer_core.web.health import Health
from citer_core.web.own_address import without_proxies
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
        wire_run(panel, screen, desk, line, slot, book)
        wire_browser(panel)
        wire_picking(panel, screen, books, switch)
        wire_engine(panel, screen, books, switch)
        # Gradio ends a closed page's generator where it notices; this also covers the moments where it does not. Runs
        # have their time to be found again (`RunDesk`), so they are not ended here.
        page.unload(_cancel_on_close(page, jobs, measurement))
        wire_api(desk, line, slot, book, RecordedRuns(ASSETS / "traces", presets))
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
    door = Door(
        config.host,
        config.port,
        config.web,
        field_limits(page),
        has_mcp=serves_mcp(config),
        forget=functools.partial(drop_unread, page),
        weight_of=event_weights(page),
        is_known=is_known,
    )
    routes = [
        script.route(),
        files.route(),
        EngineScript().route(),
        page_files().route(),
        chapters().route(),
        (health or Health()).route(),
    ]
    quiet_gradio()
    if not config.web.is_proxied:  # else uvicorn believes whoever is on this machine where a request comes from
        os.environ["FORWARDED_ALLOW_IPS"] = ""
    try:
        with without_proxies():
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
    server: Any = page.server
    server.config.encoded_headers = []  # which server it is, and its version, is nobody's business
    limiter: Any = page.limiter
    limiter.total_tokens = WORKER_THREADS  # events that wait have none, so real threads can be few
    return str(url)


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
