"""What the page asks about runs: a new one, a branch of one that has ended, what was missed of one, its end; and what
the models say of one, its labels included where its problem has a known solution.

Runs and branches wait in line with all others, and go on for a while without a reader: a page may come back.
Imports torch only when it is asked, with an engine there.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from citer_core.errors import CiterError, RouterError, SettingError, TraceError
from citer_core.gate.excerpt import excerpt
from citer_core.gate.fields import Record
from citer_core.tasks.prompts import DataType
from citer_core.ui.asking import Answers, Visitor, at_once
from citer_core.ui.jobs import LOADING, IsEnded, JobLine, Steps
from citer_core.ui.messages import Message, check_pair
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.asked import (
    INSIDE,
    NEXT,
    PROBE,
    BranchRequest,
    ProbeRequest,
    branch_request,
    probe_request,
    read_asked,
)
from citer_core.ui.run.desk import RunDesk
from citer_core.ui.run.order import Start
from citer_core.ui.run.stream import follow, missing_part

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.run import Run


NO_SOLUTION = "No worked solution of this problem is known here, and a label compares tokens with one."


def truth_message(
    engine: Engine, row: Mapping[str, Any] | None, data_type: DataType, token_ids: Sequence[int]
) -> Message:
    """Case, label and true token of the run's first tokens, as far as they are defined.

    Args:
        engine: has the models.
        row: the problem with its solution; None where none is known.
        data_type: of the row.
        token_ids: what the run wrote.

    Returns:
        `case` and `label`, a digit per token, `true`, its text, null for the end of the text, and `shared`, how many of
        them the run has too; or `why` there are none.
    """
    if row is None:
        return {"why": NO_SOLUTION}
    from citer_core.evaluation.label_view import label_run
    from citer_core.labelling.teacher_forcing import example_of

    try:
        found = label_run(engine.pair, example_of(row, data_type, engine.pair), token_ids)
    except CiterError as error:
        return {"why": str(error)}
    eos_ids = engine.pair.eos_ids
    return {
        "shared": found.n_shared,
        "case": "".join(map(str, found.case)),
        "label": "".join(map(str, found.label)),
        "true": [None if i in eos_ids else engine.pair.token_text(i) for i in found.truth_ids],
    }


def about_runs(desk: RunDesk, line: JobLine, slot: EngineSlot, book: ProblemBook) -> Mapping[str, Answers]:
    """What may be asked about runs, by name.

    Args:
        desk: of runs and branches.
        line: of probes.
        slot: of the engine.
        book: the bundled problems, whose answers are known.
    """

    async def followed(start: Start, visitor: Visitor) -> AsyncIterator[Message]:
        order = desk.ask(start, visitor.tab, visitor.address, visitor.request_id)
        async with aclosing(follow(desk, order)) as messages:
            async for message in messages:
                yield message

    async def run(body: bytes, visitor: Visitor) -> AsyncIterator[Message]:
        asked = await run_in_threadpool(read_asked, book, body)

        def start(engine: Engine) -> Run:
            if asked.router and asked.router not in engine.router_names:
                raise RouterError(
                    f"{engine.pair_info.name} is loaded and has no router {excerpt(asked.router)}: perhaps the "
                    "pair was changed meanwhile. Choose one of its routers, which this page lists in a moment, "
                    "and generate again."
                )
            return engine.start(asked.problem, router=asked.router, settings=asked.settings)

        async for message in followed(start, visitor):
            yield message

    async def branch(body: bytes, visitor: Visitor) -> AsyncIterator[Message]:
        asked = await run_in_threadpool(branch_request, body, book)
        if slot.wait(0) is None:
            raise SettingError(LOADING)

        def start(engine: Engine) -> Run:
            _check_same(engine, asked)
            return engine.start(
                asked.problem, router=asked.router, settings=asked.settings, fork=asked.fork, parent=asked.parent
            )

        async for message in followed(start, visitor):
            yield message

    def after_a_run(form: Record, answer: Callable[[Engine, ProblemBook, ProbeRequest], Message]) -> Answers:
        def work(asked: ProbeRequest, engine: Engine, _: IsEnded) -> Steps:
            _check_same(engine, asked)
            yield answer(engine, book, asked)

        return line.answers(lambda body: probe_request(body, book, form), work)

    def stop_run(asked: dict[str, Any]) -> Message:
        order = desk.registry.get(asked.get("run"))
        if order is not None:
            desk.cancel(order)
        return {"stopped": order is not None}

    return {
        "run": run,
        "branch": branch,
        "probe": after_a_run(PROBE, _probed),
        "inside": after_a_run(INSIDE, _inside),
        "next_tokens": after_a_run(NEXT, _next_tokens),
        "fetch_run": at_once(lambda asked: missing_part(desk, asked)),
        "stop_run": at_once(stop_run),
    }


def _probed(engine: Engine, book: ProblemBook, asked: ProbeRequest) -> Message:
    start = time.perf_counter()
    tokens = [token.to_dict() for token in engine.probe(asked.problem, asked.token_ids)]
    problem = asked.problem
    truth = truth_message(engine, book.row(problem), problem.data_type, asked.token_ids)
    return {"probe": asked.key, "tokens": tokens, "truth": truth, "seconds": time.perf_counter() - start}


def _inside(engine: Engine, _: ProblemBook, asked: ProbeRequest) -> Message:
    found = engine.inside(asked.problem, asked.token_ids, router=asked.router, after_llm=asked.after_llm)
    return {"inside": asdict(found)}


def _next_tokens(engine: Engine, _: ProblemBook, asked: ProbeRequest) -> Message:
    return {"next_tokens": asdict(engine.next_tokens(asked.problem, asked.token_ids, asked.settings, asked.text))}


def _check_same(engine: Engine, asked: BranchRequest | ProbeRequest) -> None:
    """Whether a finished run can go on with the loaded pair, which alone knows how its prompt reads.

    Raises:
        OtherPairError: another pair made it.
        TraceError: the prompt reads otherwise now.
    """
    check_pair(engine, asked.pair_name, asked.pair_revision)
    if engine.prompt_text(asked.problem) != asked.prompt_text:
        raise TraceError(
            "This run was generated with another prompt template, so it cannot go on here: generate it again."
        )
