"""A router of one's own among those whose evidence is stored: measured on the same problems, at a few shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from citer_core.engine import Engine
from citer_core.errors import SettingError
from citer_core.evidence.accuracy import ALONE, Named, run_book, stored_point, tried
from citer_core.evidence.plan import FORMATS, EvidencePlan
from citer_core.evidence.regime import Regime
from citer_core.evidence.regimes import of_parts

SHARES = (0.05, 0.10, 0.20)  # of LLM tokens


def measured_among(
    known: Sequence[Regime], engine: Engine, names: Sequence[str], work: Path, say: Callable[[str], None]
) -> Regime:
    """What is stored of the engine's pair, with more routers in it.

    Args:
        known: all that is stored.
        engine: pair and routers.
        names: of the routers that are measured.
        work: folder where their answers are kept as they come.
        say: told about progress.

    Raises:
        SettingError: nothing is stored of this pair; or a router is an end of the gap, or asks the LLM at every token.
        DatasetError: the folder is another pair's or cannot be written.
    """
    for name in names:
        if name in ALONE or engine.router(name).reads_llm:
            raise SettingError(
                f'The router "{name}" is no contender: it is a model alone, or asks the LLM at every token.'
            )
    regime = of_pair(known, engine.pair_info.revision)
    accuracy = regime.parts["accuracy"]
    content = dict(accuracy.content)
    for kind in FORMATS:
        entry = content[kind]
        plan = EvidencePlan(n_test=entry["n"], n_tuning=entry["n_tuning"])
        # What is stored by this name is the router as it was then.
        asked = [(Named(name, name, f"{engine.router(name).label}, here"), s) for name in names for s in SHARES]
        with run_book(engine, work, kind, plan) as book:
            found = tried(book, plan.test(kind), plan.tuning(kind), asked, say)
        of = [int(digit) for digit in entry["length_of"]]
        content[kind] = {**entry, "points": [*entry["points"], *(stored_point(engine, one, of) for one in found)]}
    return of_parts(regime.name, {**regime.parts, "accuracy": replace(accuracy, content=content)})


def of_pair(known: Sequence[Regime], pair_revision: str) -> Regime:
    """What is stored of a pair, problem by problem.

    Raises:
        SettingError: nothing is.
    """
    for regime in known:
        if regime.pair_revision == pair_revision and "accuracy" in regime.parts:
            return regime
    raise SettingError(
        "No evidence is stored of this pair, so there is nothing to be held against: take the bundled one, or measure "
        "yours with `evaluate`."
    )
