"""Labels of what a person picks, pastes or opens, and both branches of a token; `LabelStore`: the analyses of bundled
problems, which are the same for everybody.

Nothing else is kept for a page: a request to roll out a token names its text, which is read again. Imports
torch only where an engine is there already.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from citer_core.errors import CiterError, DatasetError, GateError, SettingError
from citer_core.gate.fields import Real, Record, Text, Whole
from citer_core.gate.json_text import parse_json
from citer_core.models.same_pair import is_same_run
from citer_core.ui.asking import Answers, Visitor
from citer_core.ui.jobs import WAIT_S, IsEnded, JobLine, Steps
from citer_core.ui.labels.messages import analysis_body, progress_message, rollout_message
from citer_core.ui.labels.recorded_labels import StoredLabels, rows_called
from citer_core.ui.labels.rows import LabelInput, bundled_row, bundled_set, pasted_rows, rows_of_file
from citer_core.ui.messages import Message, OtherPairError, encode, notice
from citer_core.ui.pair.engine_slot import EngineSlot
from citer_core.web.open_routes import RUN_BYTES

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.evaluation.label_view import LabelledText


MOST_BYTES = 16_000_000  # both bundled sets are 4 MB, and all 400 problems one by one 8


class LabelStore:
    """Analyses by the name of what was read, of the engine that was there last; the oldest make room.

    Args:
        most_bytes: of all together.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._engine: weakref.ref[Engine] | None = None
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._turns: dict[str, threading.Lock] = {}

    def get(self, engine: Engine, name: str) -> bytes | None:
        """What this engine has read under that name; what another one has read is dropped."""
        with self._lock:
            self._own(engine)
            if name in self._kept:
                self._kept.move_to_end(name)
            return self._kept.get(name)

    def put(self, engine: Engine, name: str, body: bytes) -> None:
        """Keeps an analysis, unless it takes more than all may."""
        with self._lock:
            self._own(engine)
            self._kept[name] = body
            while sum(map(len, self._kept.values())) > self._most_bytes:
                self._kept.popitem(last=False)

    def turn(self, name: str) -> threading.Lock:
        """Held while a thread reads this, so that others wait for the result; one per name of a bundled set."""
        with self._lock:
            return self._turns.setdefault(name, threading.Lock())

    def _own(self, engine: Engine) -> None:
        if self._engine is None or self._engine() is not engine:
            self._engine = weakref.ref(engine)
            self._kept.clear()


PROGRESS_S = 0.2

TURN_S = 20.0  # after which a visitor who waits for another's reading gets an own one

MAX_TOKENS = 60_000  # of all ground truths: about 4 MB for the browser

LOADING = "The models are loading; your problem is read as soon as they are ready."

ROLL_OUT = Record(
    {"index": Whole(), "router": Text(200), "tau": Real(0, 1)}, {"pair": Text(200), "pair_revision": Text(200)}
)

WAYS: Mapping[str, Callable[[Any], LabelInput]] = {
    "problem": bundled_row,
    "set": lambda data_type: bundled_set("mc" if data_type == "mc" else "math"),
    "text": pasted_rows,
    "file": lambda file: rows_of_file(
        *((file.get("name"), file.get("text")) if isinstance(file, dict) else ("", file))
    ),
}

GONE = "There is no such token here: pick the problem again."


def about_labels(line: JobLine, slot: EngineSlot, recorded: Sequence[StoredLabels] = ()) -> Mapping[str, Answers]:
    """What may be asked about labels, by name.

    Args:
        line: where analyses and roll-outs take turns with others.
        slot: of the engine.
        recorded: analyses that browsers have without asking, whose tokens can be rolled out all the same.
    """
    store, by_id = LabelStore(), {entry.id: entry for entry in recorded}

    async def labels(body: bytes, visitor: Visitor) -> AsyncIterator[Message | str]:
        source = await run_in_threadpool(lambda: source_of(_object_of(body)))
        if source.is_bundled and (known := _known(store, slot, source)) is not None:
            yield known  # what others have read needs no place in the line
            return
        work = partial(_shared if source.is_bundled else _read, store, source)
        async with aclosing(line.run(work, visitor.tab, visitor.address, loading=LOADING)) as messages:
            async for message in messages:
                yield message

    return {"labels": labels, "roll_out": line.answers(lambda body: _token_of(body, by_id), _rolled_out)}


def source_of(asked: Mapping[str, Any]) -> LabelInput:
    """The rows that one of `WAYS` names: a bundled problem, a set of them, rows as text, or a file with its name.

    Raises:
        SettingError: it names none of them.
        DatasetError: there are no such rows, or one is bad.
    """
    if len(asked) != 1 or not WAYS.keys() >= asked.keys():
        raise SettingError(f"Labels are asked for with an object that holds one of {', '.join(WAYS)}.")
    ((way, value),) = asked.items()
    return WAYS[way](value)


def _object_of(body: bytes) -> dict[str, Any]:
    try:
        asked = parse_json(body, max_chars=RUN_BYTES)
    except GateError as error:
        raise SettingError(f"What is to be read cannot be read: {error}") from None
    return asked if isinstance(asked, dict) else {}


def _token_of(body: bytes, recorded: Mapping[str, StoredLabels]) -> tuple[LabelInput, dict[str, Any]]:
    """What a token to roll out is of, and the rest of what is said about it, all of which the browser may make up.

    Raises:
        CiterError: a field is wrong, or there are no such rows.
    """
    given = _object_of(body)
    asked, of = ROLL_OUT.read(given, "the token to roll out"), given.get("of")
    if isinstance(of, dict) and of.keys() == {"stored"}:
        entry = recorded.get(of["stored"]) if isinstance(of["stored"], str) else None
        if entry is None:
            raise SettingError(GONE)
        return rows_called(entry.rows), {**asked, "pair": entry.pair, "pair_revision": entry.pair_revision}
    return source_of(of if isinstance(of, dict) else {}), {"pair": "", "pair_revision": "", **asked}


def _known(store: LabelStore, slot: EngineSlot, source: LabelInput) -> str | None:
    """The message of what the loaded pair has read already; None where there is something to do or to say."""
    try:
        engine = slot.wait(0)
    except CiterError:
        return None
    found = None if engine is None else store.get(engine, source.title)
    return None if found is None else found.decode()


def _shared(store: LabelStore, source: LabelInput, engine: Engine, is_ended: IsEnded) -> Steps:
    """A reading that is the same for everybody: the first visitor's is every later one's."""
    turn, patient_until = store.turn(source.title), time.monotonic() + TURN_S
    while not (is_mine := turn.acquire(timeout=WAIT_S)) and time.monotonic() < patient_until:
        if is_ended():
            return
        yield notice("Another visitor has just asked for the same: it is being read.", "wait")
    try:
        if (found := store.get(engine, source.title)) is not None:
            yield found.decode()
        else:
            yield from _read(store, source, engine, is_ended)
    finally:
        if is_mine:
            turn.release()


def _read(store: LabelStore, source: LabelInput, engine: Engine, is_ended: IsEnded) -> Steps:
    """Reads with both models, telling how far it is; what is bundled is kept for others."""
    from citer_core.evaluation.label_view import LabelledText, label_texts
    from citer_core.labelling.teacher_forcing import example_of

    routers = [engine.router(name) for name in engine.router_names]
    examples = [example_of(row, data_type, engine.pair) for row, data_type in source.rows]
    n_tokens = sum(len(example.truth_ids) for example in examples)
    if n_tokens > MAX_TOKENS:
        raise DatasetError(
            f"The ground truths have {n_tokens:,} tokens; the page takes up to {MAX_TOKENS:,} at once. Keep fewer rows."
        )
    n_problems, told_at, texts = len(examples), time.monotonic(), list[LabelledText]()
    if n_problems > 1:
        yield progress_message(source.title, 0, n_problems)
    for text in label_texts(engine.pair, routers, examples, is_cancelled=is_ended):
        texts.append(text)
        if n_problems > 1 and time.monotonic() - told_at >= PROGRESS_S:
            told_at = time.monotonic()
            yield progress_message(source.title, len(texts), n_problems)
    if is_ended():
        return
    info = engine.pair_info
    of = {"analysis": "live", "pair": info.name, "pair_revision": info.revision}
    body = encode({**of, **analysis_body(source.title, engine.pair, routers, texts)})
    if source.is_bundled:
        store.put(engine, source.title, body.encode())
    yield body


def _rolled_out(of: tuple[LabelInput, dict[str, Any]], engine: Engine, is_ended: IsEnded) -> Steps:
    """Both branches of a token of some rows.

    Raises:
        OtherPairError: another pair read them.
        SettingError: there is no such token.
        RouterError: there is no such router.
    """
    from citer_core.evaluation.branches import roll_out_branches

    source, asked = of
    loaded, pair = engine.pair_info, asked["pair"]
    if not is_same_run(asked["pair_revision"], loaded.revision):
        raise OtherPairError(
            f"This text was read by {pair}, and {loaded.name} is loaded: change the pair to {pair} to roll out its "
            f"tokens, or read a text with {loaded.name}.",
            pair,
        )
    text, position = _place(source, asked["index"], engine)
    tokens = int(text.slm_ids[position]), int(text.llm_ids[position])
    router, tau = engine.router(asked["router"]), float(asked["tau"])
    branches = roll_out_branches(engine.pair, router, text.example, position, tokens, tau, is_cancelled=is_ended)
    if not is_ended():
        yield rollout_message(asked["index"], router.name, tau, branches)


def _place(source: LabelInput, index: int, engine: Engine) -> tuple[LabelledText, int]:
    """The text that holds token `index` of all rows in order, and the position in it."""
    from citer_core.evaluation.label_view import label_texts
    from citer_core.labelling.teacher_forcing import example_of

    for row, data_type in source.rows:
        example = example_of(row, data_type, engine.pair)
        if index < len(example.truth_ids):
            (text,) = label_texts(engine.pair, [], [example])
            return text, index
        index -= len(example.truth_ids)
    raise SettingError(GONE)
