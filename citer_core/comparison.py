"""Comparisons: one problem answered by the SLM alone, by routers, by the LLM alone and by speculative decoding.

Recorded ones are `NAME.json` files and one `index.json` in a folder, which the Compare tab plays without a model. A way
is a router with settings of its own, those that say which model writes; all others are shared by all ways. Imports no
torch for those who only read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from citer_core.decode_settings import LOOKING_BACK
from citer_core.errors import GateError, TraceError
from citer_core.file_lock import only_writer
from citer_core.files import need_folder, write_whole
from citer_core.gate.fields import ListOf, Maybe, Record, Text
from citer_core.gate.json_file import read_json
from citer_core.recording import INDEX, JSON_FILE, Index, RecordingPlan, is_run_of
from citer_core.speculation import SPECULATIVE, Drafting, SpeculativeTrace
from citer_core.tasks.problems import Problem, problem_from_text
from citer_core.trace import TRACE, RoutingTrace, event_to_dict
from citer_core.trace_schema import COMPARISON_SCHEMA, COMPARISON_VERSION, MAX_TRACE_BYTES, MOST_COMPARED
from citer_core.types import DecodeSettings, TokenEvent, WithResult

if TYPE_CHECKING:
    from citer_core.engine import Engine

Way = tuple[str, Mapping[str, float]]  # a router and the settings that are its own, by name
OF_OUTCOMES = "citer-outcome"
_TITLE = Text(1_000)
COMPARISON = Record(
    {"title": _TITLE, "subtitle": _TITLE, "runs": ListOf(TRACE, MOST_COMPARED, 1), "speculative": Maybe(SPECULATIVE)}
)
_NAME = Text(300)
COMPARISONS = Index(
    Record({"file": JSON_FILE, "title": _NAME, "subtitle": _NAME, "pair": _NAME}),
    "comparisons",
    "them anew with `python -m citer_core compare`",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One problem's answers.

    Attributes:
        title, subtitle: for people.
        runs: at least one, in the order in which they are shown; without candidates, which are not shown here.
        speculative: None where the pair cannot (an LLM on a server).
    """

    title: str
    subtitle: str
    runs: tuple[RoutingTrace, ...]
    speculative: SpeculativeTrace | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": COMPARISON_SCHEMA,
            "schema_version": COMPARISON_VERSION,
            "title": self.title,
            "subtitle": self.subtitle,
            "runs": [_without_candidates(run) for run in self.runs],
            "speculative": self.speculative and self.speculative.to_dict(),
        }

    def to_json(self) -> str:
        """One JSON document on one line."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    @classmethod
    def read(cls, path: Path) -> Self:
        """A file of `to_json`.

        Raises:
            TraceError: it cannot be read, or is something else.
        """
        try:
            document = read_json(path, max_bytes=MAX_TRACE_BYTES)
            body = COMPARISON.read(document, "")
        except GateError as error:
            raise TraceError(f"{path.name}: this comparison cannot be read ({error}). Record it again.") from None
        given = (document.get("schema"), document.get("schema_version"))
        if given != (COMPARISON_SCHEMA, COMPARISON_VERSION):
            raise TraceError(f"{path.name} is no comparison of this version of the project. Record it again.")
        speculative = document.get("speculative")
        return cls(
            title=body["title"],
            subtitle=body["subtitle"],
            runs=tuple(map(RoutingTrace.from_dict, document["runs"])),
            speculative=None if speculative is None else SpeculativeTrace.from_dict(speculative),
        )


def _without_candidates(run: RoutingTrace) -> dict[str, Any]:
    """A trace in its JSON form without what may be missing from it."""
    slim = replace(run, events=()).to_dict()
    slim["events"] = [slim_event(event) for event in run.events]
    return slim


def slim_event(event: TokenEvent) -> dict[str, Any]:
    """An event in its JSON form without what may be missing from it."""
    entry = event_to_dict(event)
    for name in ("slm_top", "llm_top", "forced"):
        del entry[name]
    return entry


def compare(
    engine: Engine,
    problem: Problem,
    routers: Sequence[Way],
    *,
    max_new_tokens: int,
    drafting: Drafting | None = None,
) -> tuple[tuple[RoutingTrace, ...], SpeculativeTrace | None]:
    """One problem answered greedily in every way, one after another.

    Args:
        engine: the pair.
        problem: what is asked.
        routers: names, each with its own settings.
        max_new_tokens: of each answer.
        drafting: of speculative decoding.

    Returns:
        The runs: the SLM alone, each router, the LLM alone; and speculative decoding, None where the LLM is elsewhere.

    Raises:
        CiterError: see `Engine.start`.
    """
    runs = []
    shared = DecodeSettings(max_new_tokens=max_new_tokens)
    for router, settings in ways_of(engine, routers, shared):
        run = engine.start(problem, router=router, settings=settings)
        for _ in run:
            pass
        runs.append(run.trace())
    if not engine.llm_is_here:
        return tuple(runs), None
    for _ in (steps := WithResult(engine.speculate(problem, max_new_tokens=max_new_tokens, drafting=drafting))):
        pass
    return tuple(runs), steps.result


def usual_routers(engine: Engine) -> list[Way]:
    """What is compared where nothing is said: the default router and one of outcomes, which then also looks back; where
    the pair has none, the default one and one that needs no training.
    """
    others = (OF_OUTCOMES,) if OF_OUTCOMES in engine.router_names else ("max-probability",)
    names = dict.fromkeys((engine.default_router, *others))
    ways: list[Way] = [(name, {"threshold": engine.default_threshold(name)}) for name in names]
    return [*ways, (OF_OUTCOMES, LOOKING_BACK)] if OF_OUTCOMES in names else ways


def ways_of(engine: Engine, routers: Sequence[Way], shared: DecodeSettings) -> list[tuple[str, DecodeSettings]]:
    """Router and settings of each run; which router looks on beside a model alone does not matter."""
    first = routers[0][0] if routers else engine.default_router
    ways: list[Way] = [(first, {"threshold": 0.0}), *routers, (first, {"threshold": 1.0})]
    return [(router, replace(shared, **dict[str, Any](own))) for router, own in ways]


def record_comparisons(
    engine: Engine,
    plans: Sequence[RecordingPlan],
    folder: Path,
    *,
    routers: Sequence[Way],
    max_new_tokens: int,
    drafting: Drafting | None = None,
) -> Iterator[tuple[RecordingPlan, Comparison]]:
    """Records each plan's comparison and then the index of all; what is there already, of the same models, routers and
    settings, is left alone. Comparisons of other pairs in the folder stay, those of this pair that are not named go.

    Args:
        engine, routers, max_new_tokens, drafting: see `compare`.
        plans: the problems; a plan's own `max_new_tokens` goes before, its other settings are not looked at.
        folder: of comparisons.

    Yields:
        Each plan with its comparison.

    Raises:
        CiterError: the folder cannot be written, or another process writes it; a problem cannot be answered.
    """
    need_folder(folder)
    drafting = drafting or Drafting()
    with only_writer(folder / INDEX):
        entries = []
        for plan in plans:
            n_new = plan.settings.get("max_new_tokens", max_new_tokens)
            path = folder / plan.file
            comparison = _there_already(path, engine, plan, routers, n_new, drafting)
            if comparison is None:
                problem = problem_from_text(plan.question, plan.data_type, plan.answer or None)
                answers = compare(engine, problem, routers, max_new_tokens=n_new, drafting=drafting)
                comparison = Comparison(plan.title, plan.subtitle, *answers)
                write_whole(path, comparison.to_json() + "\n")
            pair = comparison.runs[0].pair.name
            entries.append({"file": plan.file, "title": plan.title, "subtitle": plan.subtitle, "pair": pair})
            yield plan, comparison
        # The bundled pair first: it is what a page opens with, and its entries are recorded first.
        COMPARISONS.replace(folder, engine.pair_info.name, entries, (folder,))


def _there_already(
    path: Path,
    engine: Engine,
    plan: RecordingPlan,
    routers: Sequence[Way],
    max_new_tokens: int,
    drafting: Drafting,
) -> Comparison | None:
    """The comparison at `path` if it is this very one."""
    try:
        there = Comparison.read(path)
    except TraceError:
        return None
    shared = DecodeSettings(max_new_tokens=max_new_tokens)
    ways = [(engine.router(name), plan, settings) for name, settings in ways_of(engine, routers, shared)]
    same = (
        len(there.runs) == len(ways)
        and all(is_run_of(run, engine, *way) for run, way in zip(there.runs, ways, strict=True))
        and (there.title, there.subtitle) == (plan.title, plan.subtitle)
        and (there.speculative is not None) == engine.llm_is_here
        and (there.speculative is None or there.speculative.drafting == drafting)
    )
    return there if same else None
