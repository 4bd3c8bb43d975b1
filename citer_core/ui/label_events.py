"""The events of the Labels tab: what a person picks, pastes or opens in, messages for its component out.

Imports torch only where an engine is there already. Every `CiterError` becomes a calm notice. Knows no component.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from citer_core.errors import CiterError, DatasetError, SettingError
from citer_core.gate.fields import Real, Record, Text, Whole
from citer_core.tasks.prompts import DataType
from citer_core.ui.engine_slot import EngineSlot
from citer_core.ui.label_jobs import LabelJob, LabelJobs
from citer_core.ui.label_messages import analysis_message, progress_message, rollout_message
from citer_core.ui.label_rows import LabelInput, bundled_row, bundled_set, pasted_rows, rows_of_file
from citer_core.ui.other_pair import OtherPairError, error_notice
from citer_core.ui.run_registry import session_of
from citer_core.ui.streaming import Message, encode, notice

if TYPE_CHECKING:
    from citer_core.engine import Engine

logger = logging.getLogger(__name__)
WAIT_S = 0.25
PROGRESS_S = 0.2
FIRST_PROBLEM = "math 2"
MAX_TOKENS = 60_000  # of all ground truths: about 4 MB for the browser
UNEXPECTED = "Something went wrong on the server; its log says what. Try it again."
LOADING = "The models are loading: try it again in a moment."
ROLL_OUT = Record({"analysis": Text(100), "index": Whole(), "router": Text(200), "tau": Real(0, 1)})
GONE = "The server no longer keeps this analysis: pick the problem again."


class LabelEvents:
    """The handlers over one engine slot; `labels_tab` wires them.

    Each is itself a generator function: gradio looks at the function, and would show what a plain one returns.
    """

    def __init__(self, slot: EngineSlot, jobs: LabelJobs) -> None:
        self._slot = slot
        self._jobs = jobs

    def picked(self, key: object, request: gr.Request) -> Iterator[str]:
        """A bundled problem."""
        yield from self._analyse(lambda: bundled_row(key), request)

    def whole_set(self, data_type: DataType) -> Callable[..., Iterator[str]]:
        """The handler of a button that takes all bundled problems of a format."""

        def chosen(request: gr.Request) -> Iterator[str]:
            yield from self._analyse(lambda: bundled_set(data_type), request)

        return chosen

    def pasted(self, text: object, request: gr.Request) -> Iterator[str]:
        """A row in JSON."""
        yield from self._analyse(lambda: pasted_rows(text), request)

    def opened(self, event: gr.EventData, request: gr.Request) -> Iterator[str]:
        """A JSON Lines file that the browser has read: its name and its text."""
        given = getattr(event, "_data", None)
        file = given if isinstance(given, dict) else {}
        yield from self._analyse(lambda: rows_of_file(file.get("name"), file.get("text")), request)

    def rolled_out(self, event: gr.EventData, request: gr.Request) -> Iterator[str]:
        """Both branches of one token; the browser says which, so everything it says is checked."""
        yield from map(encode, _guarded(lambda: self._roll_out(getattr(event, "_data", None), session_of(request))))

    def _analyse(self, read: Callable[[], LabelInput], request: gr.Request) -> Iterator[str]:
        job = self._jobs.begin(session_of(request))
        try:
            yield from map(encode, _guarded(lambda: self._messages(job, read)))
        finally:
            job.cancel()  # does nothing to one that has ended

    def _messages(self, job: LabelJob, read: Callable[[], LabelInput]) -> Iterator[Message]:
        source = read()
        with self._slot.lease() as lease:
            while (engine := lease.wait(WAIT_S)) is None:
                if job.is_cancelled():
                    return
                yield notice("The models are loading; your problem is read as soon as they are ready.", "wait")
            yield from self._analysis(job, source, engine)

    def _analysis(self, job: LabelJob, source: LabelInput, engine: Engine) -> Iterator[Message]:
        job.pair, job.pair_revision = engine.pair_info.name, engine.pair_info.revision
        from citer_core.evaluation.label_view import label_texts
        from citer_core.labelling.teacher_forcing import example_of

        routers = [engine.router(name) for name in engine.router_names]
        examples = [example_of(row, data_type, engine.pair) for row, data_type in source.rows]
        n_tokens = sum(len(example.truth_ids) for example in examples)
        if n_tokens > MAX_TOKENS:
            raise DatasetError(
                f"The ground truths have {n_tokens:,} tokens; the page takes up to {MAX_TOKENS:,} at once. Keep fewer "
                "rows."
            )
        n_problems, told_at = len(examples), time.monotonic()
        if n_problems > 1:
            yield progress_message(source.title, 0, n_problems)
        for text in label_texts(engine.pair, routers, examples, is_cancelled=job.is_cancelled):
            job.texts.append(text)
            if n_problems > 1 and time.monotonic() - told_at >= PROGRESS_S:
                told_at = time.monotonic()
                yield progress_message(source.title, len(job.texts), n_problems)
        if not job.is_cancelled():
            yield analysis_message(job.id, source.title, engine.pair, routers, job.texts)

    def _roll_out(self, asked: Any, session: str) -> Iterator[Message]:
        read = ROLL_OUT.read(asked, "the token to roll out")
        job_id, index, tau, name = (read[key] for key in ("analysis", "index", "tau", "router"))
        found = self._jobs.get(job_id)
        place = found.token(index) if found is not None and found.session == session else None
        if found is None or place is None:
            raise SettingError(GONE)
        text, position = place
        tokens = int(text.slm_ids[position]), int(text.llm_ids[position])
        with self._slot.lease() as lease, self._jobs.rolling_out(session) as job:
            engine = lease.wait(0)
            if engine is None:
                raise SettingError(LOADING)
            if found.pair_revision != engine.pair_info.revision:
                raise OtherPairError(
                    f"This text was read by {found.pair}, and {engine.pair_info.name} is loaded: change the pair to "
                    f"{found.pair} to roll out its tokens, or read the text again.",
                    found.pair,
                )
            from citer_core.evaluation.branches import roll_out_branches

            router = engine.router(name)
            branches = roll_out_branches(
                engine.pair, router, text.example, position, tokens, float(tau), is_cancelled=job.is_cancelled
            )
        if job.is_cancelled():
            return
        yield rollout_message(found.id, index, router.name, float(tau), int(text.label[position]), branches)


def _guarded(messages: Callable[[], Iterator[Message]]) -> Iterator[Message]:
    """The messages, with an error as the last one."""
    try:
        yield from messages()
    except CiterError as error:
        yield error_notice(error)
    except Exception:
        logger.exception("an event of the Labels tab failed")
        yield notice(UNEXPECTED)
