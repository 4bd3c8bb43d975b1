"""The queued events about a finished run: a branch of it, streamed like any run, and a probe of all its tokens.

Both go through the queue with the page's other decoding, because they use the device. Knows no components; the request
is a JSON text that `assets/viewer/page_branches.js` makes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import gradio as gr

from citer_core.errors import CiterError, SettingError, TraceError
from citer_core.ui.engine_slot import EngineSlot, Lease
from citer_core.ui.other_pair import check_pair, error_notice
from citer_core.ui.problem_book import ProblemBook
from citer_core.ui.run_log import logged_run
from citer_core.ui.run_registry import RunRegistry, session_of
from citer_core.ui.run_request import BranchRequest, ProbeRequest, branch_request, probe_request
from citer_core.ui.run_truth import truth_message
from citer_core.ui.streaming import UNEXPECTED, encode, notice, stream_run

if TYPE_CHECKING:
    from citer_core.engine import Engine

logger = logging.getLogger(__name__)
LOADING = "The models are still loading: try it again in a moment."
WAIT_S = 0.25


def branch_event(slot: EngineSlot, registry: RunRegistry, book: ProblemBook) -> Callable[..., Iterator[str]]:
    """Makes the generator behind "Continue from here" and "Flip"."""

    def branch(text: str | None, request: gr.Request) -> Iterator[str]:
        with slot.lease() as lease:
            try:
                asked = branch_request(text, book)
                engine = _engine_of(lease, asked.pair_name, asked.pair_revision)
                _check_prompt(engine, asked)
                run = engine.start(
                    asked.problem, router=asked.router, settings=asked.settings, fork=asked.fork, parent=asked.parent
                )
            except CiterError as error:
                yield encode(error_notice(error))
                return
            registry.add(run, session_of(request))
            with logged_run(run, request):
                yield from map(encode, stream_run(run))

    return branch


def probe_event(slot: EngineSlot, book: ProblemBook) -> Callable[..., Iterator[str]]:
    """Makes the generator behind "Ask the LLM everywhere": one message with an entry per token, and labels if known."""

    def probe_run(text: str | None) -> Iterator[str]:
        try:
            asked = probe_request(text, book)
            with slot.lease() as lease:
                engine = _engine_of(lease, asked.pair_name, asked.pair_revision)
                _check_prompt(engine, asked)
                start = time.perf_counter()
                tokens = [token.to_dict() for token in engine.probe(asked.problem, asked.token_ids)]
                problem = asked.problem
                truth = truth_message(engine, book.row(problem), problem.data_type, asked.token_ids)
        except CiterError as error:
            yield encode({"probe": None, **error_notice(error)})
            return
        except Exception:
            logger.exception("a probe failed")
            yield encode({"probe": None, **notice(UNEXPECTED)})
            return
        seconds = time.perf_counter() - start
        yield encode({"probe": asked.key, "tokens": tokens, "truth": truth, "seconds": seconds})

    return probe_run


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
        raise TraceError("This run was asked with another prompt template, so it cannot go on here: generate it again.")
