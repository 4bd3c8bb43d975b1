"""The page's server: Gradio's API engine (`gradio.Server`), with a page of our own at `/` and what that page asks.

The only module that imports gradio: what programs call goes through its queue, client, schema and MCP; the page is a
document and a stream of messages for each thing that it asks (`asking`). Imports no torch, so that it answers before
the models are read. Called by `app` and by the tests.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from typing import Any

import gradio as gr
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from citer_core.assets import ASSETS
from citer_core.browser_pair import engine_script, lab_script, pair_facts
from citer_core.comparison import COMPARISONS
from citer_core.config import AppConfig
from citer_core.errors import CiterError, SettingError
from citer_core.joined_script import JoinedScript, import_map_of
from citer_core.models.presets import parse_pair
from citer_core.offline import offline_template
from citer_core.ui.about_pair import Familiar
from citer_core.ui.api import Api, RecordedRuns
from citer_core.ui.asking import Answers, asking_route, at_once
from citer_core.ui.class_rooms import ClassRooms, about_rooms
from citer_core.ui.compare import about_comparing
from citer_core.ui.document import ENTRY, Document, usual_props
from citer_core.ui.jobs import JOB_CAPACITY, JobLine, Lines
from citer_core.ui.labels.answers import about_labels
from citer_core.ui.labels.recorded_labels import LABELS, StoredLabels
from citer_core.ui.messages import UNEXPECTED, Message
from citer_core.ui.one_file import one_file_template
from citer_core.ui.page_assets import chapters, file_url, files_root, page_files, plotly_script
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.switch import PairSwitch, about_pairs
from citer_core.ui.presets import presets_to_show, recorded_kinds, recorded_problems
from citer_core.ui.problems import PairBooks
from citer_core.ui.profile import RecordedProfiles, about_profiles
from citer_core.ui.run.answers import about_runs
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.order import RunRegistry
from citer_core.ui.views import API, LEARN, VIEWS, api_words, how_it_works
from citer_core.web.before_gradio import OTHER_PORT, check_address, without_proxies
from citer_core.web.bodies import SHORT_CHARS
from citer_core.web.door import Door
from citer_core.web.open_routes import RUN_BYTES
from citer_core.web.page_files import Health, NamedText, page_route
from citer_core.web.traffic import PageTraffic

logger = logging.getLogger(__name__)
# A worker has the policy of its own answer, not that of the page: it may compile its products and fetch our files.
WORKER_POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
# Gradio's queue takes all events: visitors wait in a line of ours, which is fair and says how long. Beside those
# who wait there, some events need a moment.
SPARE_EVENTS = 100
WORKER_THREADS = 40
MOST_SESSIONS = 200  # of programs, whose state gradio keeps
# Gradio looks a thousand times a second whether an event has come, which takes 6 to 9% of a core without visitors.
QUEUE_LOOK_S = 0.01


class PageServer:
    """A page over an engine that may not be there yet; `slot.start()` is the caller's, after `start`.

    Args:
        config: of the process.
        slot: of the engine.
        switch: changes what is in it.
        lines: where visitors wait; None makes them.
        desk: over these lines, for the end of the process; None makes it.
        traffic: notices the requests.
    """

    def __init__(
        self,
        config: AppConfig,
        slot: EngineSlot,
        switch: PairSwitch,
        lines: Lines | None = None,
        desk: RunDesk | None = None,
        traffic: PageTraffic | None = None,
    ) -> None:
        self._config = config
        lines = lines or Lines.of(config)
        desk = desk or RunDesk(slot, lines.runs, RunRegistry())
        line = JobLine(lines.jobs, slot)
        presets = presets_to_show(ASSETS / "traces")
        books = PairBooks.read(ASSETS / "datasets", recorded_problems(presets))
        profiles = RecordedProfiles(ASSETS / "benchmarks")
        recorded = _recorded_labels()
        own = parse_pair("embedded").name
        familiar = Familiar([*books.bundled.questions, *(preset.question for preset in presets if preset.pair == own)])
        answers: dict[str, Answers] = {
            **about_runs(desk, line, slot, books.bundled),
            **about_pairs(switch, books, familiar, recorded_kinds(presets)),
            **about_comparing(line, books.bundled),
            **about_labels(line, slot, recorded),
            **about_profiles(profiles, slot, may_measure=config.may_measure),
            **about_rooms(ClassRooms()),
            "evidence": at_once(lambda _: _evidence()),
            "offline_page": at_once(lambda _: {"template": offline_template()}),
            "one_file_page": at_once(lambda _: {"template": one_file_template()}),
        }
        runs = RecordedRuns(ASSETS / "traces", presets)
        self._functions = Api(runs, desk, line, slot, books.bundled).functions()
        script = JoinedScript.of(ENTRY, file_url)
        page_script = NamedText("page", script.module_text)
        workers = [
            NamedText(name, text, policy=WORKER_POLICY)
            for name, text in (("engine", engine_script()), ("lab", lab_script()))
        ]
        props = {
            **usual_props(pair_facts(f"{files_root()}/", *(worker.url for worker in workers))),
            "pair": parse_pair(switch.pair).name,
            "offers": sorted(answers),
            "plotly": file_url(plotly_script()),
            "comparisons": _comparisons(),
            "labels": [{**asdict(entry), "url": file_url(ASSETS / "labelled" / entry.file)} for entry in recorded],
            "profiles": profiles.choices(),
            "may_measure": config.may_measure,
        }
        self.document = Document(
            props,
            VIEWS,
            {LEARN.name: how_it_works(chapters().links()), API.name: api_words(has_mcp=serves_mcp(config))},
            script=page_script.url,
            import_map=import_map_of([file_url(module) for module in script.modules], page_script.url),
            presets=presets,
            traces=f"{files_root()}/traces",
            head=f'<link rel="icon" href="{file_url(ASSETS / "app" / "favicon.svg")}">',
        )
        health = Health(slot.status, n_running=lines.n_running, n_waiting=lines.n_waiting)
        routes = [
            page_route(self.document.body, self.document.policy, config.web.frame_ancestors),
            asking_route(answers),
            *(text.route() for text in (page_script, *workers)),
            page_files().route(),
            chapters().route(),
            health.route(),
            Route("/favicon.ico", _favicon),
        ]
        watched = [Middleware(traffic.watch)] if traffic else []
        self._server = gr.Server(routes=routes, middleware=watched, docs_url=None, redoc_url=None, openapi_url=None)
        for name, function in self._functions.items():
            self._server.api(exposed(function), name=name, concurrency_limit=None)

    def start(self) -> str:
        """Begins to serve and returns the local address; does not block.

        Raises:
            SettingError: the port is used, or may not be, or the host is none of this machine's.
        """
        config = self._config
        check_address(config.host, config.port)
        door = Door(
            config.host,
            config.port,
            config.web,
            self._limits,
            has_mcp=serves_mcp(config),
            forget=self._forget,
            is_known=self._is_known,
        )
        if not config.web.is_proxied:  # else uvicorn believes a client on this machine about where a request comes from
            os.environ["FORWARDED_ALLOW_IPS"] = ""
        try:
            with without_proxies():
                _, url, _ = self._server.launch(
                    server_name=config.host,
                    server_port=config.port,
                    root_path=config.root_path,
                    run_history=False,
                    show_error=False,
                    ssr_mode=False,
                    share=False,
                    max_file_size=1,  # no route takes a file
                    max_threads=config.n_concurrent_runs + config.n_queued_runs + JOB_CAPACITY + SPARE_EVENTS,
                    state_session_capacity=MOST_SESSIONS,
                    mcp_server=serves_mcp(config),
                    enable_monitoring=False,
                    auth=list(config.web.accounts) or None,
                    quiet=True,
                    app_kwargs={"lifespan": door.lifespan},
                    prevent_thread_lock=True,
                )
        except OSError as error:  # gradio's, after its own tries; between our look and its own another took the port
            raise SettingError(
                f"Port {config.port} was taken while the page was being started. {OTHER_PORT}"
            ) from error
        blocks = self._server.get_blocks()
        blocks._queue.sleep_when_free = QUEUE_LOOK_S
        server: Any = blocks.server
        server.config.encoded_headers = []  # the server's name and version are not told
        limiter: Any = blocks.limiter
        limiter.total_tokens = WORKER_THREADS  # events that wait have none, so real threads can be few
        return str(url)

    def close(self) -> None:
        """Ends it; may take seconds."""
        self._server.get_blocks().close(verbose=False)

    def _limits(self, function: object) -> Mapping[object, int] | None:
        """How long each field of a function may be, by its name or number; None where there is no such one."""
        names = list(self._functions)
        if isinstance(function, int) and not isinstance(function, bool) and 0 <= function < len(names):
            function = names[function]
        found = self._functions.get(function) if isinstance(function, str) else None
        return None if found is None else limits_of(found)

    async def _forget(self, session: str) -> None:
        """Ends the events of a program's session without a listener, and drops what they gave."""
        queue: Any = self._server.get_blocks()._queue
        await queue.clean_events(session_hash=session)
        queue.pending_event_ids_session.pop(session, None)
        queue.pending_messages_per_session.pop(session, None)

    def _is_known(self, scope: Scope) -> bool:
        """Whether a request has the cookie of a visitor who has logged in."""
        app: Any = self._server
        cookies = Request(scope).cookies
        names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
        return any(cookies.get(name) in app.tokens for name in names)


@functools.cache
def limits_of(function: Callable[..., Any]) -> Mapping[object, int]:
    """How many characters each of its fields may have, by name: texts may be long, everything else is short."""
    return {
        name: RUN_BYTES if parameter.annotation is str else SHORT_CHARS
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "request"
    }


@contextmanager
def _said() -> Iterator[None]:
    """What is raised inside, as gradio says it."""
    try:
        yield
    except CiterError as error:
        raise gr.Error(str(error), print_exception=False) from error
    except Exception as error:
        logger.error("a call of the API failed", exc_info=error)
        raise gr.Error(UNEXPECTED, print_exception=False) from error


def exposed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as gradio takes it: it is given gradio's request, and its errors are messages, not tracebacks."""

    async def stream(*given: Any, **named: Any) -> Any:
        with _said():
            async with aclosing(function(*given, **named)) as answers:
                async for answer in answers:
                    yield answer

    async def wait(*given: Any, **named: Any) -> Any:
        with _said():
            if inspect.iscoroutinefunction(function):
                return await function(*given, **named)
            return await run_in_threadpool(function, *given, **named)

    wrapped: Callable[..., Any] = stream if inspect.isasyncgenfunction(function) else wait
    functools.update_wrapper(wrapped, function)
    signature = inspect.signature(function)
    if "request" in function.__annotations__:
        # Gradio looks for its own type to know what it is to fill in.
        wrapped.__annotations__ = {**function.__annotations__, "request": gr.Request | None}
        own = signature.parameters["request"].replace(annotation=gr.Request | None)
        parameters = {**signature.parameters, "request": own}
        setattr(wrapped, "__signature__", signature.replace(parameters=list(parameters.values())))  # noqa: B010
    return wrapped


def serves_mcp(config: AppConfig) -> bool:
    """Whether the endpoints are MCP tools too: wanted, and the package that speaks it is there."""
    return config.mcp and importlib.util.find_spec("mcp") is not None


def _evidence() -> Message:
    from citer_core.ui.evidence import evidence_message  # pandas and the files: when they are needed

    return evidence_message()


async def _favicon(_: Request) -> Response:
    return FileResponse(ASSETS / "app" / "favicon.svg", media_type="image/svg+xml")


def _comparisons() -> list[dict[str, str]]:
    """Each recorded comparison with its address; none where the index is damaged."""
    folder = ASSETS / "comparisons"
    there = [entry for entry in COMPARISONS.to_show(folder) if (folder / entry["file"]).exists()]
    return [{**entry, "url": file_url(folder / entry["file"])} for entry in there]


def _recorded_labels() -> list[StoredLabels]:
    """The recorded analyses; a damaged index costs these, not the page."""
    folder = ASSETS / "labelled"
    return [StoredLabels(**one) for one in LABELS.to_show(folder) if (folder / one["file"]).is_file()]
