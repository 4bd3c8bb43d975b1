"""Labels of what a person picks, pastes or opens, and both branches of a token.

Imports torch only where an engine is there already.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from citer_core.errors import CiterError, DatasetError, GateError, SettingError
from citer_core.gate.fields import Real, Record, Text, Whole
from citer_core.gate.json_text import parse_json
from citer_core.models.same_pair import is_same_run
from citer_core.ui.events.asking import Answers, Visitor
from citer_core.ui.job_line import JobLine
from citer_core.ui.labels.jobs import LabelJob, LabelJobs
from citer_core.ui.labels.kept_texts import KeptText, LabelStore, Reading
from citer_core.ui.labels.messages import addressed, analysis_body, progress_message, rollout_message
from citer_core.ui.labels.rows import LabelInput, bundled_row, bundled_set, pasted_rows, rows_of_file
from citer_core.ui.labels.stored import StoredLabels, rows_called
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.ui.pair.other import OtherPairError
from citer_core.ui.streaming import Message, encode, notice
from citer_core.web.open_routes import RUN_BYTES, SMALL_BYTES

if TYPE_CHECKING:
    from citer_core.engine import Engine

WAIT_S = 0.25
PROGRESS_S = 0.2
TURN_S = 20.0  # after which whoever waits for another visitor's reading reads for himself
MAX_TOKENS = 60_000  # of all ground truths: about 4 MB for the browser
LOADING = "The models are loading: try again in a moment."
ROLL_OUT = Record({"analysis": Text(100), "index": Whole(), "router": Text(200), "tau": Real(0, 1)})
WAYS: Mapping[str, Callable[[Any], LabelInput]] = {
    "problem": bundled_row,
    "set": lambda data_type: bundled_set("mc" if data_type == "mc" else "math"),
    "text": pasted_rows,
    "file": lambda file: rows_of_file(
        *((file.get("name"), file.get("text")) if isinstance(file, dict) else ("", file))
    ),
}
GONE = "The server no longer keeps this analysis: pick the problem again."


class LabelEvents:
    """The answers over one engine slot.

    They wait in line and listen without a thread; `_messages` and `_roll_out` compute, in a thread of the line.

    Args:
        slot: of the engine.
        line: where they take turns with others.
        recorded: analyses that browsers have without asking, whose tokens can be rolled out all the same.
    """

    def __init__(self, slot: EngineSlot, line: JobLine, recorded: Sequence[StoredLabels] = ()) -> None:
        self._slot = slot
        self._line = line
        self._recorded = {entry.id: entry for entry in recorded}
        self._jobs = LabelJobs()
        self._store = LabelStore()

    @property
    def answers(self) -> Mapping[str, Answers]:
        """By name."""
        return {"labels": self.labels, "roll_out": self.rolled_out}

    async def labels(self, body: bytes, visitor: Visitor) -> AsyncIterator[Message | str]:
        """An analysis of what `WAYS` names: a bundled problem, a set of them, rows as text, or a file with its name."""
        way, value = await run_in_threadpool(_way_of, body)
        job = self._jobs.begin(visitor.tab)
        is_quick = way in ("problem", "set")  # so that what others have read needs no place in the line
        if is_quick and (known := self._known(job, lambda: WAYS[way](value))) is not None:
            yield known
            job.cancel()
            return
        async for message in self._in_line(lambda: self._messages(job, lambda: WAYS[way](value)), job, visitor):
            yield message

    async def rolled_out(self, body: bytes, visitor: Visitor) -> AsyncIterator[Message | str]:
        """Both branches of one token; the browser says which, so everything it says is checked."""
        asked = ROLL_OUT.read(parse_json(body, max_chars=SMALL_BYTES), "the token to roll out")
        with self._jobs.rolling_out(visitor.tab) as job:
            async for message in self._in_line(lambda: self._roll_out(asked, job), job, visitor):
                yield message

    async def _in_line(
        self, messages: Callable[[], Iterator[Message | str]], job: LabelJob, visitor: Visitor
    ) -> AsyncIterator[Message | str]:
        try:
            async with aclosing(self._line.run(messages, visitor.tab, visitor.address, job)) as found:
                async for message in found:
                    yield message
        finally:
            job.cancel()  # does nothing to one that has ended

    def _messages(self, job: LabelJob, read: Callable[[], LabelInput]) -> Iterator[Message | str]:
        source = read()
        with self._slot.lease() as lease:
            while (engine := lease.wait(WAIT_S)) is None:
                if job.is_cancelled():
                    return
                yield notice("The models are loading; your problem is read as soon as they are ready.", "wait")
            job.pair, job.pair_revision = engine.pair_info.name, engine.pair_info.revision
            if source.is_bundled:
                yield from self._shared(job, source, engine)
            else:
                reading = yield from _read(job, source, engine)
                if reading is not None:
                    yield addressed(reading.body.decode(), job.id)

    def _known(self, job: LabelJob, read: Callable[[], LabelInput]) -> str | None:
        """The message of what this engine has read already; None where there is something to do or to say."""
        try:
            source = read()
            with self._slot.lease() as lease:
                engine = lease.wait(0)
                reading = None if engine is None or not source.is_bundled else self._store.get(engine, source.title)
                if engine is None or reading is None:
                    return None
                job.pair, job.pair_revision = engine.pair_info.name, engine.pair_info.revision
        except CiterError:
            return None
        job.texts, job.is_shared = reading.texts, True
        return addressed(reading.body.decode(), job.id)

    def _shared(self, job: LabelJob, source: LabelInput, engine: Engine) -> Iterator[Message | str]:
        """A reading that is the same for everybody: the first visitor's is every later one's."""
        reading = self._store.get(engine, source.title)
        if reading is None:
            turn, patient_until = self._store.turn(source.title), time.monotonic() + TURN_S
            while not (is_mine := turn.acquire(timeout=WAIT_S)) and time.monotonic() < patient_until:
                if job.is_cancelled():
                    return
                yield notice("Somebody else has just asked for the same: it is being read.", "wait")
            try:
                reading = self._store.get(engine, source.title)
                if reading is None:
                    reading = yield from _read(job, source, engine)
                if reading is not None:
                    self._store.put(engine, source.title, reading)
            finally:
                if is_mine:
                    turn.release()
        if reading is not None and not job.is_cancelled():
            job.texts, job.is_shared = reading.texts, True
            yield addressed(reading.body.decode(), job.id)

    def _roll_out(self, asked: Mapping[str, Any], job: LabelJob) -> Iterator[Message | str]:
        job_id, index, tau, name = (asked[key] for key in ("analysis", "index", "tau", "router"))
        with self._slot.lease() as lease:
            engine = lease.wait(0)
            if engine is None:
                raise SettingError(LOADING)
            text, position = self._place(job_id, index, job, engine)
            tokens = text.slm_ids[position], text.llm_ids[position]
            from citer_core.evaluation.branches import roll_out_branches

            router = engine.router(name)
            branches = roll_out_branches(
                engine.pair, router, text.example(), position, tokens, float(tau), is_cancelled=job.is_cancelled
            )
        if job.is_cancelled():
            return
        yield rollout_message(job_id, index, router.name, float(tau), text.label[position], branches)

    def _place(self, analysis: str, index: int, job: LabelJob, engine: Engine) -> tuple[KeptText, int]:
        """The text of token `index` of an analysis, and its position there.

        Raises:
            SettingError: nobody keeps that analysis, or it has no such token.
            OtherPairError: another pair read it.
        """
        recorded, found = self._recorded.get(analysis), self._jobs.get(analysis)
        if found is not None and found.session != job.session:
            found = None
        read_by = recorded or found
        if read_by is None:
            raise SettingError(GONE)
        if not is_same_run(read_by.pair_revision, engine.pair_info.revision):
            raise OtherPairError(
                f"This text was read by {read_by.pair}, and {engine.pair_info.name} is loaded: change the pair to "
                f"{read_by.pair} to roll out its tokens, or read a text with {engine.pair_info.name}.",
                read_by.pair,
            )
        place = _recorded_token(recorded, index, engine) if recorded else found.token(index) if found else None
        if place is None:
            raise SettingError(GONE)
        return place


def _recorded_token(recorded: StoredLabels, index: int, engine: Engine) -> tuple[KeptText, int] | None:
    """The text that holds token `index` of a recorded analysis, read again, and the position in it."""
    from citer_core.evaluation.label_view import label_texts
    from citer_core.labelling.teacher_forcing import example_of

    for row, data_type in rows_called(recorded.rows).rows:
        example = example_of(row, data_type, engine.pair)
        if index < len(example.truth_ids):
            (text,) = label_texts(engine.pair, [], [example])
            return KeptText.of(text), index
        index -= len(example.truth_ids)
    return None


def _way_of(body: bytes) -> tuple[str, Any]:
    """Which of `WAYS`, and what it is given.

    Raises:
        SettingError: it is none.
    """
    try:
        asked = parse_json(body, max_chars=RUN_BYTES)
    except GateError as error:
        raise SettingError(f"What is to be read cannot be read: {error}") from None
    if not isinstance(asked, dict) or len(asked) != 1 or not WAYS.keys() >= asked.keys():
        raise SettingError(f"Labels are asked for with an object that holds one of {', '.join(WAYS)}.")
    return next(iter(asked.items()))


def _read(job: LabelJob, source: LabelInput, engine: Engine) -> Generator[Message, None, Reading | None]:
    """Reads with both models, telling how far it is; None where the job was cancelled."""
    from citer_core.evaluation.label_view import label_texts
    from citer_core.labelling.teacher_forcing import example_of

    routers = [engine.router(name) for name in engine.router_names]
    examples = [example_of(row, data_type, engine.pair) for row, data_type in source.rows]
    n_tokens = sum(len(example.truth_ids) for example in examples)
    if n_tokens > MAX_TOKENS:
        raise DatasetError(
            f"The ground truths have {n_tokens:,} tokens; the page takes up to {MAX_TOKENS:,} at once. Keep fewer rows."
        )
    n_problems, told_at = len(examples), time.monotonic()
    if n_problems > 1:
        yield progress_message(source.title, 0, n_problems)
    texts, kept = [], list[KeptText]()
    job.texts = kept
    for text in label_texts(engine.pair, routers, examples, is_cancelled=job.is_cancelled):
        texts.append(text)
        kept.append(KeptText.of(text))
        if n_problems > 1 and time.monotonic() - told_at >= PROGRESS_S:
            told_at = time.monotonic()
            yield progress_message(source.title, len(texts), n_problems)
    if job.is_cancelled():
        return None
    return Reading(tuple(kept), encode(analysis_body(source.title, engine.pair, routers, texts)).encode())
