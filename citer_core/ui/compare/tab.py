"""The Compare tab: one component whose script (`assets/compare`) draws recorded comparisons, and asks for live ones.

Recorded comparisons are files that the browser fetches; nothing is read or computed before the tab is opened.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gradio as gr

from citer_core.comparison import read_comparisons
from citer_core.cost import H100_SXM
from citer_core.errors import CiterError, TraceError
from citer_core.ui.compare.asked import read_comparison
from citer_core.ui.compare.live import compared
from citer_core.ui.job_line import JobLine
from citer_core.ui.page_assets import file_url
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run.registry import address_of, session_of
from citer_core.ui.session_memory import forget_value
from citer_core.ui.streaming import UNEXPECTED, encode, notice

logger = logging.getLogger(__name__)
_ON_LOAD = """
import(new URL(props.entry, document.baseURI).href)
  .then((compare) => compare.mountCompare({
    element, props, server, watch,
    onAsk: (asked) => trigger("asked", asked),
    onStop: () => trigger("halted"),
  }))
  .catch((error) => { element.textContent = "The tab could not be started: " + error.message; });
"""


@dataclass(eq=False)
class _Job:
    """One live comparison; ends at its next token."""

    _cancelled: threading.Event = field(default_factory=threading.Event)
    _told: list[Callable[[], None]] = field(default_factory=list)

    def cancel(self) -> None:
        """See `Cancellable`."""
        self._cancelled.set()
        for callback in self._told:
            callback()

    def when_cancelled(self, callback: Callable[[], None]) -> None:
        """See `Cancellable`."""
        self._told.append(callback)

    def is_cancelled(self) -> bool:
        """Asked between tokens."""
        return self._cancelled.is_set()


def compare_tab(page: gr.Blocks, assets: Path, slot: EngineSlot, book: ProblemBook, line: JobLine) -> None:
    """Lays the tab out and wires it.

    Args:
        page: that it is a part of.
        assets: the project's assets; `comparisons` in it are the recorded ones.
        slot: of the engine.
        book: the bundled problems, whose answers are known.
        line: where live comparisons take turns with other jobs.
    """

    def compare_status(_: Any) -> dict[str, Any]:
        """What can be asked live: routers with their taus; none while models load."""
        status = slot.status()
        return {name: status.get(name) for name in ("state", "message", "pair", "thresholds", "default_router")}

    screen = gr.HTML(
        value=None,
        html_template='<div class="cx-compare"></div>',
        js_on_load=_ON_LOAD,
        apply_default_css=False,
        elem_id="cx-compare",
        server_functions=[compare_status],
        entry=file_url(assets / "compare" / "compare.js"),
        device=asdict(H100_SXM),
        problems=stored_problems(assets / "comparisons"),
    )

    async def asked(event: gr.EventData, request: gr.Request) -> AsyncGenerator[str, None]:
        job = _Job()
        try:
            what = read_comparison(book, getattr(event, "_data", None))
            work = line.run(
                lambda: compared(slot, what, job.is_cancelled), session_of(request), address_of(request), job
            )
            async with aclosing(work) as messages:
                async for message in messages:
                    yield encode(message)
        except CiterError as error:
            yield encode(notice(str(error)))
        except Exception:
            logger.exception("a comparison failed")
            yield encode(notice(UNEXPECTED))
        finally:
            job.cancel()  # does nothing to one that has ended
            forget_value(page, session_of(request), screen)

    how: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    live = screen.asked(asked, None, screen, **how)
    screen.halted(None, None, None, cancels=[live], **how)


def stored_problems(folder: Path) -> list[dict[str, str]]:
    """What the browser offers: each recorded comparison with its address; none where the index is damaged."""
    try:
        entries = read_comparisons(folder)
    except TraceError as error:
        logger.warning("%s", error)
        return []
    return [
        {**entry, "url": file_url(folder / entry["file"])} for entry in entries if (folder / entry["file"]).exists()
    ]
