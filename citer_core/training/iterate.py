"""Rounds of CITER: label, train, relabel under the new router, train again. Resumable at every part and round.

    OUT/round-1/labels/      see `label_files`
    OUT/round-1/router/      the router's two files
    OUT/round-1/report.json  the row of the table; written last

Everything is a function of its arguments, so a run that was killed ends with the same files as one that was not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from citer_core.engine import Engine
from citer_core.errors import DatasetError, GateError
from citer_core.evaluation.run_book import operating_points
from citer_core.file_lock import only_writer
from citer_core.files import need_folder, write_whole
from citer_core.gate.dataclass_kind import filled
from citer_core.gate.excerpt import clean
from citer_core.gate.fields import Maybe, Real, Record, Text, Whole
from citer_core.gate.json_file import read_json
from citer_core.labelling.label_files import label_dataset, load_labels
from citer_core.labelling.label_header import LabelHeader
from citer_core.labelling.labels import LabelMode, Labels, LabelSettings, Ties, policy_for
from citer_core.labelling.truth import Truth
from citer_core.models.pair import ModelPair
from citer_core.routing.catalog import load_router
from citer_core.routing.stored import StoredRouter
from citer_core.tasks.problems import Problem, Rows
from citer_core.training.publish_router import train_and_describe
from citer_core.training.router_training import RouterRecipe

FROM_TRAINING = ("validation_loss", "auc", "auc_max_probability", "ece")
_SHARE = Real(0.0, 1.0)
_POINT = Record({"accuracy": Record({"share": _SHARE}), "llm_token_share": _SHARE, "bytes_share": Real(0.0, 1e6)})
_REPORT = Record(
    {
        "round": Whole(1, 1000),
        "router_revision": Text(64),
        "measured_on": Text(64),
        "threshold": _SHARE,
        "validation_loss": Real(-1e9, 1e9),
        "auc": Maybe(_SHARE),
        "auc_max_probability": Maybe(_SHARE),
        "ece": _SHARE,
        **dict.fromkeys(("n_case_3", "n_rolled_out", "n_case_3_prefer_slm"), Whole()),
        "n_label_flips": Maybe(Whole()),
        "points": Record({}),
    },
    {"n_prefer_slm": Whole()},
)


@dataclass(frozen=True)
class IterateSettings:
    """How all rounds are run.

    Attributes:
        n_rounds: 1 and more; the paper finds two enough.
        kind: of the router; see `OBJECTIVES`.
        recipe: of its training.
        share: LLM tokens that each round's tau aims at, so that rounds are compared at one cost.
        n_rollouts, max_new_tokens, batch_size, seed: see `LabelSettings` and `Policy`; the limit is also that of the
            answers that each round is measured by.
        labels, roll_out_case_2, truth: see `LabelSettings`.
        rollout_share: of LLM tokens in routed rollouts; see `policy_for`.
        ties: of labels by outcome, how they are read.
        part_size: rows per part of labels; None takes that of `label_dataset`.
    """

    n_rounds: int
    kind: str = "citer"
    recipe: RouterRecipe = field(default_factory=RouterRecipe)
    share: float = 0.2
    n_rollouts: int | None = None
    max_new_tokens: int = 256
    batch_size: int = 32
    seed: int = 0
    labels: LabelMode = "published"
    roll_out_case_2: bool = False
    truth: Truth = "gold"
    rollout_share: float | None = None
    ties: Ties = field(default_factory=Ties)
    part_size: int | None = None


def iterate(
    pair: ModelPair,
    rows: Rows,
    folder: Path,
    settings: IterateSettings,
    problems: Mapping[str, Sequence[Problem]],
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[dict[str, Any]]:
    """Runs every round that is not done yet.

    Args:
        pair: the two models.
        rows: with ground truth.
        folder: for all rounds.
        settings: the same for all rounds.
        problems: for the table's accuracy and cost, by name; none of them may be in `rows`.
        say: told about progress.

    Yields:
        Each round's report: label flips against the round before, loss, AUC, ECE, tau, and per problem set accuracy,
        LLM share and bytes.

    Raises:
        DatasetError: the folder holds rounds of other labels, or there is nothing to learn.
        SettingError: the folder cannot be written, or another run writes it.
    """
    need_folder(folder)
    with only_writer(folder / "rounds"):
        before: Labels | None = None
        limits: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "batch_size": settings.batch_size}
        policy = policy_for(settings.labels, **limits)
        measured_on = _digest(problems, settings)
        for number in range(1, settings.n_rounds + 1):
            place = folder / f"round-{number}"
            ask_slm = settings.kind == "query-level"
            label_settings = filled(LabelSettings, settings, policy=policy, iteration=number, ask_slm=ask_slm)
            size: dict[str, Any] = {} if settings.part_size is None else {"part_size": settings.part_size}
            for n_done in label_dataset(pair, rows, place / "labels", label_settings, **size):
                say(f"round {number}: labelled {n_done} of {len(rows)} rows")
            header, labels, label_rows = load_labels(place / "labels", pair.info)
            card = place / "router" / f"{settings.kind}.json"
            if not card.exists():
                say(f"round {number}: training on {len(labels)} tokens")
                trained = train_and_describe(
                    [header],
                    labels,
                    label_rows,
                    settings.kind,
                    settings.recipe,
                    settings.share,
                    command=f"python -m citer_core iterate --kind {settings.kind}",
                    ties=settings.ties,
                )
                trained.save(place / "router")
            router = load_router(card, pair)
            _check_same_training(router, settings, card)
            report_path = place / "report.json"
            report = _read(report_path)
            made_for = report and (report.get("router_revision"), report.get("measured_on"))
            if report is None or made_for != (router.revision, measured_on):
                say(f"round {number}: measuring on {sum(map(len, problems.values()))} problems")
                report = {
                    "round": number,
                    "router_revision": router.revision,
                    "measured_on": measured_on,
                    **_label_changes(before, labels, header),
                    **{key: router.card["training"][key] for key in FROM_TRAINING},
                    "threshold": router.default_threshold,
                    "points": _measure(pair, router, problems, limits),
                }
                write_whole(report_path, json.dumps(report, indent=2) + "\n")
            yield report
            before = labels
            policy = policy_for(settings.labels, router, settings.rollout_share, **limits)


def _check_same_training(router: StoredRouter, settings: IterateSettings, card: Path) -> None:
    """A router that an earlier run left is only this run's if it was trained in the same way."""
    ours = {"recipe": json.loads(json.dumps(asdict(settings.recipe))), "share": settings.share}
    theirs = {
        "recipe": router.card.get("training", {}).get("recipe"),
        "share": router.card.get("recommended_for_share"),
    }
    if settings.labels == "outcome":
        ours["ties"], theirs["ties"] = asdict(settings.ties), router.card.get("ties")
    if ours != theirs or not router.card["training"].keys() >= set(FROM_TRAINING):
        raise DatasetError(
            f"The router {card} was trained with other settings than {ours}. Use another folder, or the same settings "
            "to resume."
        )


def _digest(problems: Mapping[str, Sequence[Problem]], settings: IterateSettings) -> str:
    asked = {name: [(p.prompt, p.true_answer) for p in some] for name, some in problems.items()}
    return hashlib.sha256(json.dumps([asked, settings.max_new_tokens]).encode()).hexdigest()[:16]


def _measure(
    pair: ModelPair, router: StoredRouter, problems: Mapping[str, Sequence[Problem]], limits: Mapping[str, int]
) -> dict[str, Any]:
    engine = Engine(pair, {router.name: router})
    points = {}
    for name, some in problems.items():
        (point,) = operating_points(engine, some, router.name, [router.default_threshold], **limits)
        points[name] = point.to_dict()
    return points


def _label_changes(before: Labels | None, now: Labels, header: LabelHeader) -> dict[str, Any]:
    open_ = now.is_tried if header.labels == "outcome" else now.case >= (2 if header.roll_out_case_2 else 3)
    rolled = open_ & (now.label >= 0)
    changes = {
        "n_tokens": len(now),
        "n_case_3": int((now.case == 3).sum()),
        "n_rolled_out": int((now.is_tried if header.labels == "outcome" else rolled).sum()),
        "n_case_3_prefer_slm": int((now.label[rolled & (now.case == 3)] == 1).sum()),
        "n_prefer_slm": int((now.label[rolled] == 1).sum()),
        "n_label_flips": None,
    }
    if before is None:
        return changes
    if len(before) != len(now):
        raise DatasetError("Two rounds label different tokens: use one folder for one set of rows.")
    return changes | {"n_label_flips": now.flips(before, rolled)[1]}


def _read(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        document = read_json(path)
        report = _REPORT.read(document, "")
        for name, point in document["points"].items():
            _POINT.read(point, f"points.{clean(name[:40])}")
        return {**document, **report, "points": document["points"]}
    except GateError as error:
        raise DatasetError(f"{path} is damaged ({error}): delete it, and it is made again.") from error
