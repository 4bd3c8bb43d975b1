"""The page as it is served: over a scripted engine, or as files by any web server."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from citer_core.config import AppConfig
from citer_core.recording import RecordedRun
from citer_core.tasks.problems import Problem
from citer_core.ui.jobs import Lines
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.offers import PairOffers
from citer_core.ui.pair.switch import LoadPair, PairSwitch
from citer_core.ui.presets import read_presets
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.order import RunRegistry
from citer_core.ui.server import PageServer
from tests.fakes import PAIR, FakeEngine, right_answer
from tests.http_visitor import free_port

HOSTILE = (
    " <script>window.hacked=1</script> ${window.hacked=2} `tick` {{value}} \u202eשלום\u202c 🎉"
    " <img src=x onerror=window.hacked=3>"
)
SLOW_TOKEN_S = 0.05
N_CONCURRENT = 2


def script(problem: Problem) -> str:
    """What the scripted engine writes: hostile, long or as a pupil would."""
    if "hostile" in problem.question:
        return HOSTILE + right_answer(problem)
    if "long" in problem.question:
        return " one more word" * 200
    return f" We read {len(problem.question)} letters and think a little." + right_answer(problem)


@dataclass(eq=False)
class Served:
    """A running page: its address, what is behind it, and the switch that lets the engine load."""

    url: str
    engine: FakeEngine
    slot: EngineSlot
    desk: RunDesk
    may_load: threading.Event = field(default_factory=threading.Event)


def unchanging(*_: Any) -> Any:
    """The loader of a page whose pair is not to be changed."""
    raise AssertionError("the pair was changed")


def bundled_presets(folder: Path) -> list[RecordedRun]:
    """The recorded runs of the pair that the fakes stand for."""
    return [preset for preset in read_presets(folder) if preset.pair == PAIR.name]


def closed(pages: dict[str, Any]) -> None:
    """Closes servers, all at once: each waits a while for its last listeners."""
    with ThreadPoolExecutor(max(1, len(pages))) as together:
        for _ in together.map(lambda page: page.close(), pages.values()):
            pass


def server_maker(pages: dict[str, Any]) -> Callable[..., Served]:
    """Serves a page over an engine of one's own, and notes it by its address in `pages`."""

    def make(
        engine: FakeEngine,
        change: LoadPair = unchanging,
        *,
        all_runs: bool = False,
        loads_after_s: float = 60,
        **config: Any,
    ) -> Served:
        may_load = threading.Event()

        def load() -> FakeEngine:
            may_load.wait(loads_after_s)
            return engine.load()

        config.setdefault("pairs", "fixed")
        config.setdefault("n_concurrent_runs", N_CONCURRENT)
        settings = AppConfig(port=free_port(), **config)
        slot = EngineSlot(load, retry_s=0.3, n_runs=N_CONCURRENT)  # type: ignore[arg-type]  # a fake engine
        switch = PairSwitch(slot, change, PairOffers(settings), settings.pair, settings.dtype)
        lines = Lines.of(settings)
        desk = RunDesk(slot, lines.runs, RunRegistry())
        with pytest.MonkeyPatch.context() as patch:
            if not all_runs:  # tests know the bundled pair's by heart; which others are shipped is not their business
                patch.setattr("citer_core.ui.server.presets_to_show", bundled_presets)
            server = PageServer(settings, slot, switch, lines, desk)
        url = server.start()
        slot.start()
        pages[url] = server
        return Served(url, engine, slot, desk, may_load)

    return make


class Files(http.server.SimpleHTTPRequestHandler):
    """Sends a folder's files, and says nothing of it."""

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # which browsers ask for by themselves
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """Any web server: the address of one that sends the folder's files."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
