"""Recorded runs: what the page plays before any model is loaded, `NAME.json` traces and one `index.json` for all.

Beside each trace, `probes/NAME.json` holds what both models would have said at each of its tokens. A list of problems
says what is asked; a run that is on disk already, of the same pair, router and question, is left alone, so a long
recording goes on where it was. Runs of other pairs in the same folder stay. Imports no torch for those who only read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from citer_core.decode_settings import MAX_NEW_TOKENS, SETTINGS, DecodeSettings
from citer_core.errors import DatasetError, GateError, InputError, TraceError
from citer_core.file_lock import only_writer
from citer_core.files import need_folder, write_whole
from citer_core.gate.dataclass_kind import MAY_MISS, record_of
from citer_core.gate.excerpt import clean, excerpt
from citer_core.gate.fields import Choice, FileName, Flag, Kind, ListOf, Maybe, Real, Record, Row, Text, Whole
from citer_core.gate.json_file import read_json, read_json_lines
from citer_core.models.same_pair import is_same_run
from citer_core.tasks.problems import MAX_PROMPT_CHARS, problem_from_text
from citer_core.tasks.prompts import DATA_TYPES, DataType
from citer_core.trace import RoutingTrace
from citer_core.trace_schema import Unit

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.routing.router import Router

logger = logging.getLogger(__name__)
INDEX = "index.json"
UNSAID = (("kind", ""), ("n_taken_back", 0))  # of an entry
PROBES = "probes"

_TITLE, _QUESTION, _ANSWER = Text(300), Text(MAX_PROMPT_CHARS), Text(MAX_PROMPT_CHARS)
JSON_FILE = FileName(".json")
_PLAN = Record(
    {"file": JSON_FILE, "title": _TITLE, "subtitle": _TITLE, "data_type": Choice(*DATA_TYPES), "question": _QUESTION},
    {"answer": _ANSWER, "kind": _TITLE, **{name: Maybe(setting.kind) for name, setting in SETTINGS.items()}},
)
_NATS = Real(0.0, 1e6)
_TOP = ListOf(Row(Whole(0, 10**7), Text(10_000), Real(0.0, 1.0)), most=20)
_PROBE = ListOf(
    Record(
        {"slm_top": _TOP, "llm_top": _TOP, "slm_entropy": _NATS, "llm_entropy": _NATS, "kl": _NATS, "agree": Flag()}
    ),
    most=MAX_NEW_TOKENS,
)


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """One run to be recorded.

    Attributes:
        file: name of the trace.
        title, subtitle: what its card says.
        data_type: how the prompt is made.
        question: for `mc` with its options, one "A. text" a line.
        answer: the true one, "" where there is none.
        settings: of decoding, by name; without a threshold, the router's recommended one is taken.
        kind: of problem, as the bundled pair's card names it; "" where it has none.
    """

    file: str
    title: str
    subtitle: str
    data_type: DataType
    question: str
    answer: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    kind: str = ""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One entry of the index: what a card says.

    Attributes:
        file: name of the trace, and of the probe beside it where `is_probed`.
        kind: of problem; "" where it has none.
        n_taken_back: tokens that the LLM took back.
    """

    file: Annotated[str, JSON_FILE]
    title: Annotated[str, _TITLE]
    subtitle: Annotated[str, _TITLE]
    data_type: DataType
    question: Annotated[str, _QUESTION]
    true_answer: Annotated[str | None, Maybe(_ANSWER)]
    tau: Unit
    n_tokens: Annotated[int, Whole(0, MAX_NEW_TOKENS)]
    llm_token_share: Unit
    is_correct: bool | None
    is_probed: Annotated[bool, MAY_MISS] = False
    kind: Annotated[str, _TITLE, MAY_MISS] = ""
    pair: Annotated[str, _TITLE, MAY_MISS] = ""
    date: Annotated[str, _TITLE, MAY_MISS] = ""
    hardware: Annotated[str, MAY_MISS] = ""
    n_taken_back: Annotated[int, Whole(0), MAY_MISS] = 0

    @property
    def files(self) -> list[str]:
        """What is read when it is opened, below the folder of recorded runs."""
        return [self.file, *([f"{PROBES}/{self.file}"] if self.is_probed else [])]


def read_plans(path: Path) -> list[RecordingPlan]:
    """Plans from a JSON Lines file, one object per run with the fields of `RecordingPlan`, each setting by its name.

    Raises:
        DatasetError: the file cannot be read, or a line is no plan; it is named by its number.
    """
    try:
        lines = list(read_json_lines(path, max_bytes=20_000_000))
    except GateError as error:
        raise DatasetError(f"{path}: {error} Give a JSON Lines file of problems.") from error
    plans: list[RecordingPlan] = []
    for number, line in lines:
        where = f"{path}, line {number}"
        try:
            plan = _plan_of(_PLAN.read(line, ""))
        except GateError as error:
            raise DatasetError(f"{where}: this run cannot be recorded ({error}).") from error
        unknown = line.keys() - _PLAN.required.keys() - _PLAN.optional.keys()
        if unknown:
            raise DatasetError(f"{where}: a run to record cannot have the field {excerpt(min(unknown))}.")
        if any(plan.file == other.file for other in plans) or plan.file == INDEX:
            raise DatasetError(f"{where}: the file name {excerpt(plan.file)} is taken. Choose another.")
        plans.append(plan)
    return plans


def record(
    engine: Engine,
    plans: Sequence[RecordingPlan],
    folder: Path,
    *,
    router: str | None = None,
    settings: Mapping[str, Any] | None = None,
    first: bool = False,
) -> Iterator[tuple[RecordingPlan, RoutingTrace]]:
    """Runs every plan, asks both models about every token of it, writes both, and then the index of all.

    Args:
        engine: the pair and its routers.
        plans: what to run; other runs of the same pair in the folder are removed at the end.
        folder: of traces and index.
        router: by name; None takes the default.
        settings: of decoding, by name, for plans that do not name them.
        first: put these runs before those of other pairs in the index, else behind them.

    Yields:
        Each plan with its trace as it is there.

    Raises:
        CiterError: the folder cannot be written, or another run writes it.
    """
    need_folder(folder)
    need_folder(folder / PROBES)
    with only_writer(folder / INDEX):
        yield from _record(engine, plans, folder, router, settings or {}, first=first)


def _record(
    engine: Engine,
    plans: Sequence[RecordingPlan],
    folder: Path,
    router: str | None,
    usual: Mapping[str, Any],
    *,
    first: bool,
) -> Iterator[tuple[RecordingPlan, RoutingTrace]]:
    chosen = engine.router(router)
    entries = []
    for plan in plans:
        settings = DecodeSettings(**{"threshold": chosen.default_threshold, **usual, **plan.settings})
        path = folder / plan.file
        trace = _recorded(path, engine, chosen, plan, settings)
        if trace is None:
            problem = problem_from_text(plan.question, plan.data_type, plan.answer or None)
            run = engine.start(problem, router=router, settings=settings)
            for _ in run:
                pass
            trace = run.trace().with_title(plan.title)
            # The old probe goes first: a stop between the two writes must not leave it beside another text.
            (folder / PROBES / plan.file).unlink(missing_ok=True)
            write_whole(path, trace.to_json() + "\n")
        if not (folder / PROBES / plan.file).exists():
            write_whole(folder / PROBES / plan.file, _probe_document(engine, trace) + "\n")
        entries.append(_entry(plan, trace))
        yield plan, trace
    RUNS.replace(folder, engine.pair_info.name, entries, (folder, folder / PROBES), first=first)


class Index:
    """The `index.json` of a folder of recorded files: an object for each, with its `file` and its `pair`.

    Args:
        entry: what each of them holds.
        of: what they are, for people.
        again: what to do about a damaged one.
        check: raises `InputError` for an entry that could not be shown.
    """

    def __init__(
        self, entry: Kind[dict[str, Any]], of: str, again: str, check: Callable[[dict[str, Any]], object] = bool
    ) -> None:
        self._entries, self._of, self._again, self._check = ListOf(entry, 1000), of, again, check

    def read(self, folder: Path) -> list[dict[str, Any]]:
        """The entries in their order; none where there is no index.

        Raises:
            TraceError: it is damaged.
        """
        path = folder / INDEX
        if not path.exists():
            return []
        try:
            entries = self._entries.read(read_json(path, max_bytes=20_000_000), "index")
            for entry in entries:
                self._check(entry)
        except InputError as error:
            raise TraceError(
                f"The index of the {self._of} in {folder.name}/ cannot be read ({error}). Get it again, or record "
                f"{self._again}."
            ) from error
        return entries

    def to_show(self, folder: Path) -> list[dict[str, Any]]:
        """As `read`; none, with a line in the log, where it is damaged: the page goes without them."""
        try:
            return self.read(folder)
        except TraceError as error:
            logger.warning("%s", error)
            return []

    def replace(
        self,
        folder: Path,
        pair: str,
        entries: Sequence[Mapping[str, Any]],
        folders: Sequence[Path],
        *,
        first: bool | None = None,
    ) -> None:
        """Writes the entries of a pair anew, and removes from `folders` what no entry names any more.

        Args:
            folder: of the index.
            pair: whose other entries go; those of other pairs stay.
            entries: in their order.
            folders: of what is named.
            first: puts them before those of other pairs, else behind; None goes by the pairs' names.
        """
        ours = {entry["file"] for entry in entries}
        others = [one for one in self.read(folder) if one.get("pair") != pair and one["file"] not in ours]
        is_first = not others or pair < others[0]["pair"] if first is None else first
        index = [*entries, *others] if is_first else [*others, *entries]
        # The index first: it must not name what a stop after it has removed.
        write_whole(folder / INDEX, json.dumps(index, indent=2, ensure_ascii=False) + "\n")
        named = {INDEX, *(entry["file"] for entry in index)}
        for path in (path for some in folders for path in some.glob("*.json")):
            if path.name not in named:
                path.unlink()


def _check_question(entry: dict[str, Any]) -> None:
    """Also what its card opens: an impossible question would fail when it is shown."""
    problem_from_text(entry["question"], entry["data_type"], entry["true_answer"])


RUNS = Index(record_of(RecordedRun), "recorded runs", "the runs anew", _check_question)


def read_probe(folder: Path, file: str) -> list[dict[str, Any]]:
    """The probe beside the run `file`: one `ProbedToken.to_dict` per token.

    Raises:
        TraceError: it cannot be read.
    """
    try:
        tokens: list[dict[str, Any]] = read_json(folder / PROBES / file)
        _PROBE.read(tokens, "probe")
    except GateError as error:
        raise TraceError(
            f"The probe of the recorded run {clean(file)[:200]} cannot be read ({error}). Record it again."
        ) from error
    return tokens


def _probe_document(engine: Engine, trace: RoutingTrace) -> str:
    from citer_core.routing.probe import probe_trace

    tokens = [token.to_dict() for token in probe_trace(engine.pair, trace)]
    return "[" + ",\n".join(json.dumps(token, ensure_ascii=False, separators=(",", ":")) for token in tokens) + "]"


def _plan_of(fields: dict[str, Any]) -> RecordingPlan:
    """Of a checked line; null says nothing about a setting."""
    given = {name: fields.pop(name, None) for name in SETTINGS}
    return RecordingPlan(**fields, settings={name: value for name, value in given.items() if value is not None})


def _recorded(
    path: Path, engine: Engine, router: Router, plan: RecordingPlan, settings: DecodeSettings
) -> RoutingTrace | None:
    """The trace at `path` if it is this very run."""
    try:
        trace = RoutingTrace.from_json(path.read_bytes())
    except (OSError, TraceError):
        return None
    return trace if is_run_of(trace, engine, router, plan, settings) else None


def is_run_of(
    trace: RoutingTrace, engine: Engine, router: Router, plan: RecordingPlan, settings: DecodeSettings
) -> bool:
    """Whether a trace is what this plan would give now."""
    return (
        is_same_run(trace.pair.revision, engine.pair_info.revision)
        and trace.pair.dtype == engine.pair_info.dtype
        # Those without training have no revision.
        and (trace.router.name, trace.router.revision) == (router.name, router.revision)
        and trace.settings == settings
        and trace.prompt.question == plan.question
        and trace.prompt.data_type == plan.data_type
    )


def _entry(plan: RecordingPlan, trace: RoutingTrace) -> dict[str, Any]:
    assert trace.record is not None
    entry = RecordedRun(
        file=plan.file,
        title=plan.title,
        subtitle=plan.subtitle,
        data_type=plan.data_type,
        question=plan.question,
        true_answer=trace.answer.true_answer if trace.answer else None,
        tau=trace.settings.threshold,
        n_tokens=trace.n_tokens,
        llm_token_share=round(trace.llm_token_share, 4),
        is_correct=trace.answer.is_correct if trace.answer else None,
        is_probed=True,
        kind=plan.kind,
        pair=trace.pair.name,
        date=trace.record.date,
        hardware=trace.record.hardware,
        n_taken_back=sum(len(event.discarded) for event in trace.events),
    )
    return {name: value for name, value in asdict(entry).items() if (name, value) not in UNSAID}
