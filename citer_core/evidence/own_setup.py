"""What a pair with a data set of its own is set up with: routers trained once more from folders of labels, and timed.

    WORK/routers/NAME.json, NAME.safetensors
    WORK/training.jsonl     the seconds of each training
    WORK/setup.jsonl        what was counted so far

Resumable at every router. Called by the command `setup-cost`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from citer_core.engine import Engine
from citer_core.errors import SettingError
from citer_core.evidence.part_tables import OUTCOME, published
from citer_core.evidence.setup_cost import FREE, SetUp, setup_cost
from citer_core.evidence.stored import StoredPart
from citer_core.labelling.label_files import load_labels
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import LabelSettings
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.teacher_forcing import example_of
from citer_core.models.pair import ModelPair
from citer_core.routing.catalog import load_router
from citer_core.routing.stored import StoredRouter
from citer_core.row_file import NUMBER, RowFile
from citer_core.tasks.problem_set import ProblemSet, problems_digest
from citer_core.tasks.problems import Rows
from citer_core.training.objectives import OBJECTIVES
from citer_core.training.publish_router import train_and_describe
from citer_core.training.router_training import RouterRecipe

RECIPE = RouterRecipe(learning_rates=(3e-4, 1e-3))  # of `train-router`
CARD_SHARE = 0.2  # of LLM tokens, which the card's tau aims at
COMMAND = "python -m citer_core setup-cost"
ALONE = {"always-slm": Policy.slm_alone, "always-llm": Policy.llm_alone}  # policies that need no router


def kind_of(name: str) -> str:
    """The kind of a router by its name, which has the number of its round behind it from the second on.

    Raises:
        SettingError: there is no such kind.
    """
    base, _, number = name.rpartition("-")
    found = base if base in OBJECTIVES and number.isdecimal() else name
    if found not in OBJECTIVES:
        kinds = ", ".join(sorted(OBJECTIVES))
        raise SettingError(f'"{name}" is no kind of router: give one of {kinds}, with -2 behind it for a second round.')
    return found


def headers_of(folders: Mapping[str, Path]) -> dict[str, LabelHeader]:
    """How each folder's labels were made; of those that can be priced together.

    Args:
        folders: of labels, by the name of the router that learns from it; a round's after the one before.

    Raises:
        DatasetError: there are no labels.
        SettingError: no such kind of router, labels that another router rolled out than those before it here, or
            labels of different numbers of rows.
    """
    headers: dict[str, LabelHeader] = {}
    for name, folder in folders.items():
        kind_of(name)
        header = LabelHeader.read(folder)
        if header.router not in (*ALONE, *headers):
            raise SettingError(
                f'The labels of "{name}" were rolled out under "{header.router}": name that router, with its own '
                "labels, before it."
            )
        headers[name] = header
    if len({header.n_rows for header in headers.values()}) > 1:
        raise SettingError("The folders of labels are of different numbers of rows, so they cannot be priced together.")
    return headers


def measured_setup(
    engine: Engine,
    folders: Mapping[str, Path],
    rows: Rows,
    tuning: ProblemSet,
    work: Path,
    *,
    share: float,
    max_new_tokens: int,
    batch_size: int,
    title: str,
    command: str,
    say: Callable[[str], None] = lambda _: None,
) -> StoredPart:
    """Trains every router, counts what its labels take, and looks for its tau.

    Args:
        engine: the pair.
        folders: see `headers_of`.
        rows: of which the labelling is counted.
        tuning: problems that each tau is looked for on.
        work: folder of the work.
        share: of LLM tokens, which each tau aims at.
        max_new_tokens, batch_size: of answers to the tuning problems.
        title: what the problems are called.
        command: that measures it again.
        say: told about progress.

    Raises:
        CiterError: see `headers_of`; or the labels are another pair's.
    """
    start = time.perf_counter()
    limits = {"max_new_tokens": max_new_tokens, "batch_size": batch_size}
    pair, headers = engine.pair, headers_of(folders)
    trained: dict[str, tuple[StoredRouter, float]] = {}
    settings: dict[str, LabelSettings] = {}
    roads: dict[str, list[str]] = {FREE: []}
    for name, header in headers.items():
        folder = OUTCOME if header.labels == "outcome" else published(header.iteration)
        settings[folder] = _settings(header, trained, batch_size)
        roads[name] = [*roads.get(header.router, ()), folder]
        trained[name] = _trained(pair, name, folders[name], header, work, say)
    what = SetUp(
        examples=[example_of(row, data_type, pair) for row, data_type in rows],
        n_labelled=next(iter(headers.values())).n_rows,
        settings=settings,
        trained=trained,
        roads=roads,
        tuning=[tuning],
        **limits,
    )
    identity = {
        "pair_revision": engine.pair_info.revision,
        "routers": {name: router.revision for name, (router, _) in trained.items()},
        "counted": problems_digest([example.problem for example in what.examples]),
        "tuning": problems_digest(tuning.problems),
        "share": share,
        **limits,
    }
    with RowFile(work / "setup.jsonl", identity) as known:
        content = setup_cost(engine, what, share, say, known) | {"kinds": [title]}
    return StoredPart.measured(
        "setup",
        engine.pair_info,
        title=f"{engine.pair_info.name}, {title}",
        command=command,
        plan={name: [n] for name, n in {"n_counted": len(rows), "n_tuning": len(tuning.problems), **limits}.items()},
        seconds=time.perf_counter() - start,
        content=content,
    )


def _settings(header: LabelHeader, trained: Mapping[str, tuple[StoredRouter, float]], batch_size: int) -> LabelSettings:
    limits: dict[str, Any] = {"max_new_tokens": header.max_new_tokens, "batch_size": batch_size}
    if header.router in ALONE:
        policy = ALONE[header.router](**limits)
    else:
        policy = Policy(trained[header.router][0], header.threshold, **limits)
    return LabelSettings(
        policy,
        header.iteration,
        header.n_rollouts,
        seed=header.seed,
        labels=header.labels,
        roll_out_case_2=header.roll_out_case_2,
        truth=header.truth,
    )


def _trained(
    pair: ModelPair, name: str, folder: Path, header: LabelHeader, work: Path, say: Callable[[str], None]
) -> tuple[StoredRouter, float]:
    """A router and the seconds of its training; trained, if it is not there."""
    card = work / "routers" / f"{name}.json"
    identity = {"rows": header.rows, "rolled_by": header.rolled_by}
    with RowFile(work / f"training-{name}.jsonl", identity, {"seconds": NUMBER}) as file:
        if name not in file.rows or not card.exists():
            say(f"training {name}")
            _, labels, rows = load_labels(folder, pair.info)
            start = time.perf_counter()
            router = train_and_describe(
                [header], labels, rows, kind_of(name), RECIPE, CARD_SHARE, command=COMMAND, name=name
            )
            seconds = time.perf_counter() - start
            router.save(card.parent)
            if name not in file.rows:
                file.append({"id": name, "seconds": round(seconds, 3)})
        return load_router(card, pair), float(file.rows[name]["seconds"])
