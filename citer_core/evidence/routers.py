"""The routers of the evidence: labels of every round and kind, and what learns from them, into a work folder.

    WORK/labels/published-1/   ... -2, -3, -4: rounds; outcome/: by outcome where the models disagree
    WORK/routers/seed-0/NAME.json, NAME.safetensors
    WORK/seconds/label-published-1.jsonl   what each part took, as it was measured

Resumable at every part of labels and every router. Routed rounds roll out under `citer` of the round before, at a share
of LLM tokens. Weights differ in their last digits from one processor to another, so a router that a page already has
can be taken as it is instead of being trained again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from citer_core.evidence.part_tables import OUTCOME, published, round_of
from citer_core.evidence.plan import FORMATS, EvidencePlan
from citer_core.labelling.label_files import PART_SIZE, label_dataset, load_labels
from citer_core.labelling.label_header import SAID_SINCE, LabelHeader
from citer_core.labelling.labels import LabelMode, Labels, LabelSettings, Ties
from citer_core.labelling.rollouts import Policy
from citer_core.models.pair import ModelPair
from citer_core.routing.catalog import load_router
from citer_core.routing.memory import Memory
from citer_core.routing.stored import StoredRouter
from citer_core.row_file import NUMBER, RowFile
from citer_core.tasks.problems import Rows
from citer_core.training.publish_router import train_and_describe
from citer_core.training.router_training import RouterRecipe


@dataclass(frozen=True, slots=True)
class Learner:
    """A router to be trained.

    Attributes:
        name, label: of the router.
        kind: of `OBJECTIVES`.
        labels: the folder that it learns from.
        ties: how labels by outcome are read.
        trained_on: of these formats only.
        all_seeds: with every seed of the plan; else with the first.
        n_problems: the first so many only; None takes all.
    """

    name: str
    label: str
    kind: str
    labels: str
    ties: Ties = field(default_factory=Ties)
    trained_on: tuple[str, ...] = FORMATS
    all_seeds: bool = True
    n_problems: int | None = None


def learners(plan: EvidencePlan) -> list[Learner]:
    """Every router that is trained, in an order in which each finds its labels."""
    rounds = [
        Learner(round_of("citer", k), f"CITER, round {k}", "citer", published(k), all_seeds=k <= 2)
        for k in range(1, plan.n_rounds + 1)
    ]
    plus = [
        Learner(round_of("citer-plus", k), f"CITER plus, round {k}", "citer-plus", published(k))
        for k in range(1, min(2, plan.n_rounds) + 1)
    ]
    first = published(1)
    return [
        *rounds,
        *plus,
        Learner("citer-outcome", "Outcome labels", "citer-outcome", OUTCOME),
        Learner("citer-outcome-mlp", "Outcome labels, published MLP", "citer-outcome-mlp", OUTCOME),
        Learner("citer-s-a", "CITER-S (a): without case 3", "citer-s-a", first),
        Learner("citer-s-b", "CITER-S (b): token correctness", "citer-s-b", first),
        Learner("co-llm", "Co-LLM", "co-llm", first),
        Learner("query-level", "Query level", "query-level", first),
        *variations(),
        *transferred(),
    ]


def variations() -> list[Learner]:
    """Outcome labels where both branches fail read in other ways than by leaving the token out."""
    return [
        Learner(
            f"outcome-fail-{ties}", f"Outcome labels, both fail: {ties.upper()}", "citer-outcome", OUTCOME, Ties(ties),
            all_seeds=False,
        )
        for ties in ("slm", "llm")
    ]  # fmt: skip


def transferred() -> list[Learner]:
    """Routers that learn from one format only."""
    return [
        Learner(f"{name}-{data_type}", f"{label}, of {data_type}", kind, labels, Ties(), (data_type,), all_seeds=False)
        for name, label, kind, labels in (
            ("citer", "CITER, round 1", "citer", published(1)),
            ("citer-outcome", "Outcome labels", "citer-outcome", OUTCOME),
        )
        for data_type in FORMATS
    ]


class RouterShop:
    """Labels and trains what is missing, and knows what is there.

    Attributes:
        batch_size: of training.
        command: that trains.

    Args:
        pair: the two models.
        folder: of the work.
        plan: sizes and seeds.
        say: told about progress.
    """

    batch_size, command = 4096, "python -m citer_core evidence --parts routers"

    def __init__(
        self, pair: ModelPair, folder: Path, plan: EvidencePlan, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._pair, self._folder, self._plan, self._say = pair, folder, plan, say
        self._memory = Memory()
        self._learners = learners(plan)
        self._labels: dict[str, tuple[LabelHeader, Labels, list[dict[str, Any]]]] = {}

    @cached_property
    def rows(self) -> Rows:
        """What is labelled."""
        return self._plan.labelled()

    def all(self) -> Iterator[tuple[Learner, int]]:
        """Every router and seed."""
        for learner in self._learners:
            for seed in self._plan.seeds if learner.all_seeds else self._plan.seeds[:1]:
                yield learner, seed

    def trained(self) -> dict[str, StoredRouter]:
        """All of them as `name@seed`; what is missing is labelled and trained first."""
        return {f"{learner.name}@{seed}": self.router(learner, seed) for learner, seed in self.all()}

    def router(self, learner: Learner, seed: int) -> StoredRouter:
        """One router; trained, if it is not there."""
        folder = self._folder / "routers" / f"seed-{seed}"
        card = folder / f"{learner.name}.json"
        if not card.exists():
            self._say(f"training {learner.name}, seed {seed}")
            self.labels(learner.labels)
            start = time.perf_counter()
            router = self._train(learner, seed)
            router.save(folder)
            self._note(f"train {learner.name}", str(seed), time.perf_counter() - start)
        return load_router(card, self._pair)

    def _train(self, learner: Learner, seed: int) -> StoredRouter:
        header, labels, rows = self.labels(learner.labels)
        some = rows[: learner.n_problems]
        mine = torch.tensor([i < len(some) and row["data_type"] in learner.trained_on for i, row in enumerate(rows)])
        router = train_and_describe(
            [header],
            labels.take(mine[labels.question.long()]),
            some,
            learner.kind,
            RouterRecipe(learning_rates=(2e-3,), batch_size=self.batch_size, max_epochs=25, patience=4, seed=seed),
            self._plan.rollout_share,
            command=self.command,
            name=learner.name,
            ties=learner.ties,
        )
        router.card["label"] = learner.label
        return router

    def take(self, routers: Iterable[StoredRouter]) -> list[str]:
        """Takes those that were trained on this plan's problems as the first seed's, where none is there yet.

        Returns:
            The names of those that were taken, now or before.
        """
        seed = self._plan.seeds[0]
        folder = self._folder / "routers" / f"seed-{seed}"
        by_name = {learner.name: learner for learner in self._learners}
        taken = []
        for router in routers:
            learner = by_name.get(router.name)
            if learner is None or router.card["training"]["recipe"]["seed"] != seed:
                continue
            if self._is_of_these(router.card["labels"], learner):
                if not (folder / f"{router.name}.json").exists():
                    type(router)(router.network, router.card | {"label": learner.label}).save(folder)
                    self._say(f"{router.name} is taken as it ships")
                taken.append(router.name)
        return taken

    def _is_of_these(self, headers: Sequence[Mapping[str, Any]], learner: Learner) -> bool:
        # Not the policy of rollouts: that of a later round is a router, which may not be there yet.
        policy = Policy.slm_alone(max_new_tokens=self._plan.max_new_tokens)
        mode: LabelMode = "outcome" if learner.labels == OUTCOME else "published"
        ours = asdict(LabelHeader.of(self._pair, self.rows, LabelSettings(policy, labels=mode), PART_SIZE))
        names = ("pair_revision", "prompt_version", "prompt_form", "rows", "n_rows", "max_new_tokens", *SAID_SINCE)
        usual = {"prompt_form": "plain"} | {name: value for name, (_, value) in SAID_SINCE.items()}
        return len(headers) == 1 and all(headers[0].get(name, usual.get(name)) == ours[name] for name in names)

    def train_from(self, labels: str) -> None:
        """All routers and seeds that learn from one folder of labels."""
        for learner, seed in self.all():
            if learner.labels == labels:
                self.router(learner, seed)

    def trained_router(self, name: str, seed: int) -> StoredRouter:
        """A router by its name; trained, if it is not there."""
        return self.router(self._learner(name), seed)

    def _learner(self, name: str) -> Learner:
        return next(one for one in self._learners if one.name == name)

    def seconds_of_training(self, name: str) -> float:
        """Measured, of the first seed that was trained here; one that was taken as it ships is trained for it."""
        with self._seconds_of(f"train {name}") as file:
            rows = [file.rows[key] for key in map(str, self._plan.seeds) if key in file.rows]
        if rows:
            return float(rows[0]["seconds"])
        start = time.perf_counter()
        self._train(self._learner(name), self._plan.seeds[0])
        return time.perf_counter() - start

    def labels(self, name: str) -> tuple[LabelHeader, Labels, list[dict[str, Any]]]:
        """A folder's labels; made, as far as they are not there."""
        if name not in self._labels:
            folder = self._folder / "labels" / name
            rows, settings = self.rows, self.settings(name)
            if settings.iteration > 1:
                settings = replace(settings, policy=replace(settings.policy, memory=self._memory))
            start = time.perf_counter()
            for n_done in label_dataset(self._pair, rows, folder, settings):
                self._note(f"label {name}", str(n_done), time.perf_counter() - start)
                self._say(f"{name}: labelled {n_done} of {len(rows)} rows")
                start = time.perf_counter()
            self._labels[name] = load_labels(folder, self._pair.info)
        return self._labels[name]

    def report(self) -> dict[str, Any]:
        """What the stored part says of labels and training; see `stored`."""
        _, labels, rows = self.labels(published(1))
        of = torch.tensor([FORMATS.index(row["data_type"]) for row in rows])[labels.question.long()]
        cases = {}
        for number, data_type in enumerate(FORMATS):
            case = labels.case[of == number]
            shares = [float((case == k).double().mean()) for k in (1, 2, 3)]
            cases[data_type] = {"n_tokens": len(case), "shares": shares}
        return {
            "cases": cases,
            "rounds": [self._round(k) for k in range(1, self._plan.n_rounds + 1)],
            "routers": [self._trained(learner, seed) for learner, seed in self.all()],
            "outcomes": self.labels(OUTCOME)[1].outcomes(),
            "seconds": self.seconds(),
        }

    def settings(self, name: str) -> LabelSettings:
        """How a folder's labels are made."""
        limits = {"max_new_tokens": self._plan.max_new_tokens, "batch_size": self._plan.batch_size}
        if name == OUTCOME:
            return LabelSettings(Policy.llm_alone(**limits), labels="outcome")
        number = int(name.rpartition("-")[2])
        if number == 1:
            return LabelSettings(Policy.slm_alone(**limits), 1, self._plan.n_rollouts, ask_slm=True)
        router = self.trained_router(round_of("citer", number - 1), self._plan.seeds[0])
        return LabelSettings(Policy.routed(router, self._plan.rollout_share, **limits), number, self._plan.n_rollouts)

    def _round(self, number: int) -> dict[str, Any]:
        header, labels, _ = self.labels(published(number))
        rolled = (labels.case == 3) & (labels.label >= 0)
        n_compared = n_flips = None
        if number > 1:
            n_compared, n_flips = labels.flips(self.labels(published(number - 1))[1], rolled)
        return {
            "labels": published(number),
            "policy": header.router,
            "threshold": header.threshold,
            "n_rolled_out": int(rolled.sum()),
            "n_prefer_slm": int((labels.label[rolled] == 1).sum()),
            "n_compared": n_compared,
            "n_flips": n_flips,
        }

    def _trained(self, learner: Learner, seed: int) -> dict[str, Any]:
        training = self.router(learner, seed).card["training"]
        return {
            "router": learner.name,
            "kind": learner.kind,
            "labels": learner.labels,
            "seed": seed,
            **{key: training[key] for key in ("auc", "auc_max_probability", "ece", "validation_loss")},
            "n_tokens": training["n_tokens"]["train"],
        }

    def _note(self, what: str, part: str, seconds: float) -> None:
        with self._seconds_of(what) as file:
            if part not in file.rows:
                file.append({"id": part, "seconds": round(seconds, 3)})

    def seconds(self) -> dict[str, float]:
        """Measured seconds of every folder of labels and of every training (all seeds), by name."""
        total = {}
        for path in sorted((self._folder / "seconds").glob("*.jsonl")):
            what = path.stem.replace("-", " ", 1)
            with self._seconds_of(what) as file:
                total[what] = sum(row["seconds"] for row in file.rows.values())
        return total

    def _seconds_of(self, what: str) -> RowFile:
        """A file for each, because two processes may label beside each other."""
        path = self._folder / "seconds" / f"{what.replace(' ', '-', 1)}.jsonl"
        return RowFile(path, {"plan": identity_of(self._plan)}, {"seconds": NUMBER})


def identity_of(plan: EvidencePlan) -> dict[str, Any]:
    """What of a plan decides labels and routers, as JSON gives it back."""
    names = ("n_tuning", "n_labelled", "n_rollouts", "n_rounds", "rollout_share", "max_new_tokens")
    return {name: getattr(plan, name) for name in names} | {"seeds": list(plan.seeds)}
