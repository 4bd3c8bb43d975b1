"""The events about a finished run: a branch of it, streamed like any run, and a probe of all its tokens.

A branch waits in line with all runs, a probe with the other jobs. Knows no components; the request is a JSON text that
`assets/page/page_branches.js` makes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

import gradio as gr

from citer_core.errors import CiterError, SettingError, TraceError
from citer_core.ui.job_line import JobLine
from citer_core.ui.pair.engine_slot import EngineSlot, Lease
from citer_core.ui.pair.other import check_pair, error_notice
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.log import request_id_of
from citer_core.ui.run.registry import address_of, session_of
from citer_core.ui.run.request import BranchRequest, ProbeRequest, branch_request, probe_request
from citer_core.ui.run.stream import follow
from citer_core.ui.run.truth import truth_message
from citer_core.ui.streaming import UNEXPECTED, Message, encode, notice

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.run import Run

logger = logging.getLogger(__name__)
LOADING = "The models are still loading: try again in a moment."
WAIT_S = 0.25


def branch_event(desk: RunDesk, slot: EngineSlot, book: ProblemBook) -> Callable[..., AsyncGenerator[str, None]]:
    """Makes the generator behind "Continue from here" and "Flip"."""

    async def branch(text: str | None, request: gr.Request) -> AsyncGenerator[str, None]:
        try:
            asked = branch_request(text, book)
            if slot.wait(0) is None:
                raise SettingError(LOADING)

            def start(engine: Engine) -> Run:
                check_pair(engine, asked.pair_name, asked.pair_revision)
                _check_prompt(engine, asked)
                return engine.start(
                    asked.problem, router=asked.router, settings=asked.settings, fork=asked.fork, parent=asked.parent
                )

            order = desk.ask(start, session_of(request), address_of(request), request_id_of(request))
        except CiterError as error:
            yield encode(error_notice(error))
            return
        async with aclosing(follow(desk, order)) as messages:
            async for message in messages:
                yield encode(message)

    return branch


def probe_event(line: JobLine, slot: EngineSlot, book: ProblemBook) -> Callable[..., AsyncGenerator[str, None]]:
    """Makes the generator behind "Ask the LLM everywhere": one message with an entry per token, and labels if known."""

    async def probe_run(text: str | None, request: gr.Request) -> AsyncGenerator[str, None]:
        try:
            asked = probe_request(text, book)
            work = line.run(lambda: _probed(slot, book, asked), session_of(request), address_of(request))
            async with aclosing(work) as messages:
                async for message in messages:
                    yield encode(message)
        except CiterError as error:
            yield encode({"probe": None, **error_notice(error)})
        except Exception:
            logger.exception("a probe failed")
            yield encode({"probe": None, **notice(UNEXPECTED)})

    return probe_run


def _probed(slot: EngineSlot, book: ProblemBook, asked: ProbeRequest) -> Iterator[Message]:
    with slot.lease() as lease:
        engine = _engine_of(lease, asked.pair_name, asked.pair_revision)
        _check_prompt(engine, asked)
        start = time.perf_counter()
        tokens = [token.to_dict() for token in engine.probe(asked.problem, asked.token_ids)]
        problem = asked.problem
        truth = truth_message(engine, book.row(problem), problem.data_type, asked.token_ids)
        yield {"probe": asked.key, "tokens": tokens, "truth": truth, "seconds": time.perf_counter() - start}


def _engine_of(lease: Lease, pair_name: str, pair_revision: str) -> Engine:
    """The loaded engine; raises `SettingError` while it is loading, or if the run is another pair's."""
    engine = lease.wait(WAIT_S)
    if engine is None:
        raise SettingError(LOADING)
    check_pair(engine, pair_name, pair_revision)
    return engine


def _check_prompt(engine: Engine, asked: BranchRequest | ProbeRequest) -> None:
    """Only the pair knows how a prompt reads, so this comes after it is the right one; raises `TraceError`."""
    if engine.prompt_text(asked.problem) != asked.prompt_text:
        raise TraceError(
            "This run was generated with another prompt template, so it cannot go on here: generate it again."
        )
