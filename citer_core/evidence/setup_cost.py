"""What routing costs before the first answer: the part `setup`. Labelling, training and tuning, in seconds and passes.

Labels of some problems and the search for each tau are done once more, with models that count their passes; training is
timed. A pair of the bundled kind is set up by the part `routers`, any other from folders of labels (`own_setup`). Knows
nothing about what an answer then saves: see `payback`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch import Tensor

from citer_core.engine import Engine
from citer_core.evaluation.run_book import RunBook, threshold_for
from citer_core.evidence.part_tables import OUTCOME, published, round_of
from citer_core.evidence.plan import FORMATS, EvidencePlan
from citer_core.evidence.routers import RouterShop
from citer_core.labelling.label_files import PART_SIZE
from citer_core.labelling.labels import LabelSettings, label_examples
from citer_core.labelling.teacher_forcing import Example, example_of
from citer_core.models.language_model import Cache, LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.routing.stored import StoredRouter
from citer_core.row_file import RowFile
from citer_core.tasks.problem_set import ProblemSet
from citer_core.workload import Passes

FREE = "max-probability"
BYTES_A_NUMBER = 4  # training is in float32
ARRAYS = 4  # weights, gradients, Adam's two moments: each step reads and writes all


class MeteredLM(LanguageModel):
    """The same model, its weights shared, that counts: what a pass shares between several texts once, as it is moved.

    Attributes:
        counted: all passes so far; of several texts in one pass, their tokens added up.
    """

    def __init__(self, lm: LanguageModel) -> None:
        self.__dict__.update(lm.__dict__)  # nothing is loaded or compared again
        self.counted = Passes()

    def forward(
        self,
        new_ids: Sequence[Sequence[int]],
        cache: Cache,
        slots: Sequence[int] = (0,),
        n_last: Sequence[int] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """See `LanguageModel`."""
        found = super().forward(new_ids, cache, slots, n_last)
        texts = [(len(ids), cache.lengths[slot]) for ids, slot in zip(new_ids, slots, strict=True)]
        for shared in [texts] if self.is_fused else [[text] for text in texts]:
            self._count(shared)
        return found

    def read(self, texts: Sequence[Sequence[int]], n_last: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
        """See `LanguageModel`."""
        if self.is_fused:
            self._count([(len(ids), len(ids)) for ids in texts])
        yield from super().read(texts, n_last)

    def _count(self, texts: Sequence[tuple[int, int]]) -> None:
        """One pass over (new tokens, tokens in the cache afterwards) of each text."""
        self.counted += replace(Passes.of(texts), n_passes=1)


class Meter:
    """A pair whose models count the passes that they make, so that any work can be priced in bytes and FLOPs.

    Attributes:
        pair: to work with.

    Args:
        pair: both models loaded here.
    """

    def __init__(self, pair: ModelPair) -> None:
        self._slm, self._llm = MeteredLM(pair.slm), MeteredLM(pair.local_llm)
        self.pair = replace(pair, slm=self._slm, llm=self._llm)

    @contextmanager
    def reading(self) -> Iterator[dict[str, Any]]:
        """What is spent inside, known when it ends, as stored rows have it: seconds, and passes of either model."""
        spent: dict[str, Any] = {}
        self._slm.counted = self._llm.counted = Passes()
        start = time.perf_counter()
        yield spent
        spent["seconds"] = round(time.perf_counter() - start, 3)
        spent |= {"slm": asdict(self._slm.counted), "llm": asdict(self._llm.counted)}


@dataclass(frozen=True, slots=True)
class SetUp:
    """What a pair is set up with, and on what it is counted.

    Attributes:
        examples: whose labelling is done once more.
        n_labelled: problems that the routers have learned from.
        settings: how each folder of labels was made.
        trained: each router, and the seconds that its training took.
        roads: what is priced: each router with the folders of labels that it needs; rounds before it are trained on
            the way.
        tuning: problems that each tau is looked for on.
        max_new_tokens, batch_size: of answers to them.
    """

    examples: Sequence[Example]
    n_labelled: int
    settings: Mapping[str, LabelSettings]
    trained: Mapping[str, tuple[StoredRouter, float]]
    roads: Mapping[str, Sequence[str]]
    tuning: Sequence[ProblemSet]
    max_new_tokens: int
    batch_size: int


def of_plan(pair: ModelPair, shop: RouterShop, plan: EvidencePlan) -> SetUp:
    """What the part `routers` makes, without what only query-level routing asks for."""
    roads = _roads(plan)
    seed = plan.seeds[0]
    rows = [row for kind in FORMATS for row in plan.labelled((kind,))[: plan.n_setup]]
    folders = sorted({folder for needed in roads.values() for folder in needed})
    return SetUp(
        examples=[example_of(row, data_type, pair) for row, data_type in rows],
        n_labelled=len(plan.labelled()),
        settings={folder: replace(shop.settings(folder), ask_slm=False) for folder in folders},
        trained={
            name: (shop.trained_router(name, seed), shop.seconds_of_training(name)) for name in roads if name != FREE
        },
        roads=roads,
        tuning=[plan.tuning(kind) for kind in FORMATS],
        max_new_tokens=plan.max_new_tokens,
        batch_size=plan.batch_size,
    )


def _roads(plan: EvidencePlan) -> dict[str, tuple[str, ...]]:
    rounds = {
        round_of("citer", k): tuple(published(j) for j in range(1, k + 1)) for k in range(1, min(2, plan.n_rounds) + 1)
    }
    return {FREE: (), **rounds, "citer-outcome": (OUTCOME,)}


def setup_cost(
    engine: Engine,
    what: SetUp,
    share: float,
    say: Callable[[str], None] = lambda _: None,
    known: RowFile | None = None,
) -> dict[str, Any]:
    """The content of the part.

    Args:
        engine: with the pair's own routers.
        what: is counted.
        share: of LLM tokens, for which each tau is looked for.
        say: told about progress.
        known: keeps what is counted, and what is there is not counted again.
    """
    meter = Meter(engine.pair)

    def kept(name: str, count: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if known is None:
            return count()
        if name not in known.rows:
            known.append({"id": name, "counted": count()})
        return dict(known.rows[name]["counted"])

    metered = Engine(meter.pair, {FREE: engine.router(FREE)} | {name: one for name, (one, _) in what.trained.items()})
    return {
        "n_labelled": what.n_labelled,
        "labels": [kept(f"labels {folder}", partial(_labelled, meter, what, folder, say)) for folder in what.settings],
        "training": [_trained(name, router, seconds) for name, (router, seconds) in what.trained.items()],
        "tuning": [
            kept(f"tuning {name}", partial(_tuned, meter, metered, what, name, share, say)) for name in what.roads
        ],
        "roads": {name: list(folders) for name, folders in what.roads.items()},
        "share_wanted": share,
    }


def _labelled(meter: Meter, what: SetUp, folder: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Labels the examples as the folder's were."""
    n = len(what.examples)
    say(f"{folder}: {n} problems labelled once more, to count what that takes")
    with meter.reading() as spent:
        for start in range(0, n, PART_SIZE):
            some = what.examples[start : start + PART_SIZE]
            label_examples(meter.pair, some, what.settings[folder], first_question=start)
    return {"labels": folder, "n_problems": n, **spent}


def _trained(name: str, router: StoredRouter, seconds: float) -> dict[str, Any]:
    """Of several learning rates each is taken to need as many epochs as the one that was kept."""
    training = router.card["training"]
    recipe, n_tokens = training["recipe"], training["n_tokens"]
    n_epochs = min(recipe["max_epochs"], training["best_epoch"] + 1 + recipe["patience"])
    n_epochs *= len(recipe["learning_rates"])
    n_steps = n_epochs * -(-n_tokens["train"] // recipe["batch_size"])
    n_read = n_epochs * (n_tokens["train"] + n_tokens["validation"])
    n_params = sum(parameter.numel() for parameter in router.network.parameters())  # more than a step reads afterwards
    return {
        "router": name,
        "seconds": seconds,
        "n_params": n_params,
        "n_epochs": n_epochs,
        # Two operations per parameter forward, four backward; validation goes forward only.
        "flops": n_epochs * n_params * (6 * n_tokens["train"] + 2 * n_tokens["validation"]),
        "n_bytes": BYTES_A_NUMBER * (n_read * router.card["hidden_size"] + n_steps * 2 * ARRAYS * n_params),
    }


def _tuned(
    meter: Meter, engine: Engine, what: SetUp, name: str, share: float, say: Callable[[str], None]
) -> dict[str, Any]:
    """Looks for a router's tau on all tuning problems, from nothing."""
    n_decoded = 0
    limits: dict[str, Any] = {"max_new_tokens": what.max_new_tokens, "batch_size": what.batch_size}
    with TemporaryDirectory() as folder, meter.reading() as spent:
        for number, problems in enumerate(what.tuning):
            with RunBook(engine, Path(folder) / f"runs-{number}.jsonl", **limits) as book:
                threshold_for(book, name, problems, share)
                n_decoded += book.n_decoded
    say(f"{name}: {n_decoded} answers to find tau")
    return {"router": name, "n_answers": n_decoded, **spent}
