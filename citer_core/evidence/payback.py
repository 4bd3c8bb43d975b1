"""After how many answers routing has paid for what it took to set it up: of the parts `setup`, `accuracy` and
`speculative`. Arithmetic on stored numbers; imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from citer_core.cost import ModelSpec
from citer_core.evidence.part_tables import on_the_way
from citer_core.evidence.regime import Regime
from citer_core.workload import Passes

MEASURES = ("seconds", "gb", "tflop")
SAVED = {"seconds": "seconds_alone", "gb": "gb", "tflop": "tflop"}  # columns of a regime's table


@dataclass(frozen=True, slots=True)
class Payback:
    """Of one router.

    Attributes:
        router: its name.
        labels, training, tuning: what each took, by `MEASURES`: seconds, GB, TFLOP.
        saved: what an answer saves against the LLM alone, averaged over the kinds of problems; NaN is not measured.
        accuracy, llm_accuracy: right answers, of the router at its share and of the LLM, averaged likewise.
    """

    router: str
    labels: Mapping[str, float]
    training: Mapping[str, float]
    tuning: Mapping[str, float]
    saved: Mapping[str, float]
    accuracy: float
    llm_accuracy: float

    def total(self, measure: str) -> float:
        """Labels, training and tuning together."""
        return self.labels[measure] + self.training[measure] + self.tuning[measure]

    def answers(self, measure: str) -> float:
        """How many answers it takes; infinite where an answer saves nothing, NaN where that was not measured."""
        saved = self.saved[measure]
        if math.isnan(saved):
            return math.nan
        return math.ceil(self.total(measure) / saved) if saved > 0 else math.inf


def paybacks(regime: Regime) -> list[Payback]:
    """Of every router whose set-up was priced and whose accuracy is stored; none without the part `setup`."""
    part = regime.parts.get("setup")
    if part is None:
        return []
    slm, llm = ModelSpec(**part.slm), ModelSpec(**part.llm)
    content, found = part.content, []
    labels = {
        row["labels"]: {
            measure: cost * content["n_labelled"] / row["n_problems"] for measure, cost in _spent(row, slm, llm).items()
        }
        for row in content["labels"]
    }
    kinds = content.get("kinds", list(regime.tables))
    for name, folders in content["roads"].items():
        lines = [
            (regime.at(kind, name, content["share_wanted"]), regime.at(kind, "always-llm", None)) for kind in kinds
        ]
        known = [(ours, alone) for ours, alone in lines if ours is not None and alone is not None]
        if len(known) < len(lines):
            continue
        trained = on_the_way(name, folders)
        tuned = next(row for row in content["tuning"] if row["router"] == name)
        found.append(
            Payback(
                router=name,
                labels=_sum([labels[folder] for folder in folders]),
                training=_sum([_trained(row) for row in content["training"] if row["router"] in trained]),
                tuning=_spent(tuned, slm, llm),
                saved={
                    measure: sum(float(alone[column] - ours[column]) for ours, alone in known) / len(known)
                    for measure, column in SAVED.items()
                },
                accuracy=sum(float(ours.accuracy) for ours, _ in known) / len(known),
                llm_accuracy=sum(float(alone.accuracy) for _, alone in known) / len(known),
            )
        )
    return found


def _spent(row: Mapping[str, Any], slm: ModelSpec, llm: ModelSpec) -> dict[str, float]:
    """Seconds, GB and TFLOP of the models' passes; the router's are a thousandth of them."""
    passes = [(Passes(**row["slm"]), slm), (Passes(**row["llm"]), llm)]
    n_bytes = sum(made.n_bytes(model) for made, model in passes)
    flops = sum(made.flops(model) for made, model in passes)
    return {"seconds": row["seconds"], "gb": n_bytes / 1e9, "tflop": flops / 1e12}


def _trained(row: Mapping[str, Any]) -> dict[str, float]:
    return {"seconds": row["seconds"], "gb": row["n_bytes"] / 1e9, "tflop": row["flops"] / 1e12}


def _sum(costs: list[dict[str, float]]) -> dict[str, float]:
    return {measure: sum(cost[measure] for cost in costs) for measure in MEASURES}
