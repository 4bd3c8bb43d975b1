"""What the page's Lab computes is what Python computes: labels by every rule, gradients, and the router's file."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch.nn import functional as F

from citer_core.assets import ASSETS
from citer_core.embedded.publish import FORMATS, held_out, problems_of
from citer_core.engine import Engine
from citer_core.evaluation.metrics import paired_difference
from citer_core.evidence.plan import TRAINING
from citer_core.evidence.shipped_routers import N_TRAINING, unseen_rows
from citer_core.labelling.labels import Labels, LabelSettings, label_examples
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.truth import examples_of
from citer_core.routing.router import RouterFeatures
from citer_core.routing.router_card import CARD_SCHEMA_VERSION
from citer_core.routing.routers.citer_plus import CiterPlusRouter
from citer_core.tasks.prompts import DataType
from citer_core.training.objectives import OBJECTIVES
from citer_core.training.router_training import RouterRecipe, train_router
from tests.sampling import few_or_all

ROOT = Path(__file__).resolve().parents[2]
MOST_TRIED = 192  # as in assets/engine/labelling.js
RULES = ("shortcut", "rollouts", "outcome", "outcome-llm", "agreement")
WAYS = [*({"truth": "gold", "rule": rule} for rule in RULES), {"truth": "llm", "rule": "outcome"}]
WIDTHS = {"linear": 0, "mlp-32": 32, "mlp-128": 128}

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def ask_node(**asked: Any) -> dict[str, Any]:
    done = subprocess.run(
        ["node", "tests/viewer/lab_runs.mjs"],
        input=json.dumps(asked), cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def lab_rows(use: str, data_type: str, n: int | None = None) -> list[dict[str, Any]]:
    path = ASSETS / "datasets" / f"lab-{use}-{data_type}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][:n]


@pytest.fixture(scope="module", params=few_or_all(slice(1, 2), slice(5)))
def rows(request: pytest.FixtureRequest) -> list[tuple[dict[str, Any], DataType]]:
    return [(row, data_type) for data_type in FORMATS for row in lab_rows("train", data_type)[request.param]]


@pytest.fixture(scope="module")
def answer(rows: list[Any]) -> dict[str, Any]:
    orders = [{"network": name, "seed": 7} for name in WIDTHS]
    return ask_node(rows=[row for row, _ in rows], ways=WAYS, train=orders)


def python_labels(engine: Engine, rows: list[Any], truth: str, labels: Any) -> tuple[Labels, list[Any]]:
    policy = (Policy.slm_alone if labels == "published" else Policy.llm_alone)(max_new_tokens=MOST_TRIED)
    examples = examples_of(engine.pair, rows, truth, policy)  # type: ignore[arg-type]
    return label_examples(engine.pair, examples, LabelSettings(policy, labels=labels))


@pytest.fixture(scope="module")
def known(engine: Engine, rows: list[Any]) -> Callable[[str, str], tuple[Labels, list[Any]]]:
    return cache(partial(python_labels, engine, rows))


def by_the_rule(labels: Labels, forced: list[Any], rule: str) -> Labels:
    """What Python says; the rules that it does not have follow from what it stores."""
    found = replace(labels, label=labels.label.clone())
    if rule == "shortcut":
        found.label[found.case == 3] = -1
    elif rule == "outcome-llm":
        tried = found.is_tried
        found.label[tried & (found.llm_branch == 1)] = 0
    elif rule == "agreement":
        differ = torch.cat([one.slm_ids != one.llm_ids for one in forced])
        found.label[:] = (~differ).to(torch.int8)
    return found


@pytest.mark.parametrize("number", range(len(WAYS)), ids=lambda number: "-".join(WAYS[number].values()))
def test_labels_are_pythons(engine: Engine, rows: list[Any], answer: dict[str, Any], known: Any, number: int) -> None:
    way, ours = WAYS[number], answer["labelled"][number]
    labels, forced = known(way["truth"], "published" if way["rule"] in ("shortcut", "rollouts") else "outcome")
    theirs = by_the_rule(labels, forced, way["rule"])
    assert len(ours) == len(rows)
    assert [-1 if label is None else label for one in ours for label in one["labels"]] == theirs.label.tolist()
    assert len(set(theirs.label.tolist())) > 1
    for question, one in enumerate(ours):
        mine = theirs.take(theirs.question == question)
        text = engine.pair.tokenizer.decode(forced[question].truth_ids, skip_special_tokens=True)
        assert "".join(one["tokens"]) == text and one["tokens"][-1] == ""
        for fork in one["forks"]:
            bits = [{None: -1}.get(fork[model]["isRight"], fork[model]["isRight"]) for model in ("slm", "llm")]
            if way["rule"].startswith("outcome"):
                assert bits == [mine.slm_branch[fork["at"]], mine.llm_branch[fork["at"]]]
                texts = [fork[model]["text"] + fork[model]["ending"] for model in ("slm", "llm")]
                assert texts[0] != texts[1], "the two ways begin with different tokens"
        differ = (forced[question].slm_ids != forced[question].llm_ids).nonzero().flatten().tolist()
        tried = ((mine.case == 3).nonzero().flatten().tolist()) if way["rule"] == "rollouts" else []
        assert [fork["at"] for fork in one["forks"]] == sorted({*differ, *tried})
    for name, values in (("hidden", theirs.hidden.flatten()), ("maxProbability", theirs.max_probability),
                         ("margin", theirs.margin), ("entropy", theirs.entropy)):  # fmt: skip
        assert np.allclose(list(chain.from_iterable(one["features"][name] for one in ours)), values, atol=2e-4)


def test_gradients_are_torchs() -> None:
    n, n_in = 37, 99
    offsets = torch.full((n,), 1.3, dtype=torch.float64)
    given, asked = [], []
    for width in WIDTHS.values():
        chance = torch.Generator().manual_seed(width)
        inputs, targets = torch.randn(n, n_in, generator=chance), torch.rand(n, generator=chance) < 0.7
        given.append((width, inputs.double(), targets.double()))
        numbers = {"inputs": inputs.flatten().tolist(), "targets": targets.int().tolist()}
        asked.append({"width": width, "offsets": offsets.tolist(), **numbers})
    for (width, x, targets), found in zip(given, ask_node(gradient=asked)["gradient"], strict=True):
        parameters = torch.tensor(found["parameters"], dtype=torch.float64, requires_grad=True)
        direct, bias, first, shift, last = parameters.split([3, 1, n_in * width, width, width or n_in])
        hidden = (x @ first.view(n_in, width) + shift).relu() if width else x
        logits = x[:, -3:] @ direct + bias + hidden @ last
        loss = F.binary_cross_entropy_with_logits(logits + offsets, targets)
        loss.backward()
        assert found["loss"] == pytest.approx(loss.item(), abs=1e-6)
        assert torch.allclose(torch.tensor(found["slopes"], dtype=torch.float64), parameters.grad, atol=1e-5)
        assert parameters.grad.abs().max() > 0.01


def card_in(content: bytes, folder: Path) -> dict[str, Any]:
    path = folder / "lab.safetensors"
    path.write_bytes(content)
    with safe_open(path, "pt") as file:
        return json.loads(file.metadata()["card"])


@pytest.mark.parametrize("number", range(len(WIDTHS)), ids=lambda number: list(WIDTHS)[number])
def test_the_file_is_a_router_of_python(
    engine: Engine, rows: list[Any], answer: dict[str, Any], tmp_path: Path, number: int
) -> None:
    found = answer["train"][number]
    card = card_in(base64.b64decode(found["file"]), tmp_path)
    path = tmp_path / "lab.safetensors"
    assert card["schema_version"] == CARD_SCHEMA_VERSION and card["kind"] == CiterPlusRouter.kind
    pair = engine.pair
    router = CiterPlusRouter.read(card, path, hidden_size=pair.info.slm.hidden_size, pair_revision=pair.info.revision)
    assert router.n_params == card["n_params"] == found["nParams"]
    assert router.threshold_at(0.05) == pytest.approx(card["recommended_threshold"])
    assert card["training"]["prefer_slm_share"] == router.slm_prior
    assert found["nPreferLlm"] > 0 and found["seconds"] > 0
    labels = [one["features"] for one in answer["labelled"][2]]
    confidences = [
        router.confidence(
            RouterFeatures.from_statistics(
                torch.tensor(one["hidden"]).view(-1, 96),
                [torch.tensor(one[name]) for name in ("maxProbability", "margin", "entropy")],
            )
        )
        for one in labels
    ]
    theirs = torch.cat(confidences)
    assert torch.allclose(torch.tensor(found["confidences"]), theirs, atol=1e-5)
    assert theirs.max() - theirs.min() > 0.5


@pytest.mark.parametrize("data_type", FORMATS)
def test_the_problems_of_the_lab_are_those_of_the_evidence(data_type: DataType) -> None:
    """`python -m citer_core embedded lab` writes them; the first of them are made again."""
    n = 8
    assert lab_rows("test", data_type, n) == list(unseen_rows(data_type, n))
    assert [len(lab_rows(use, data_type)) for use in ("train", "test")] == [N_TRAINING, 1000]
    labelled = lab_rows("train", data_type)
    unseen = {problem.prompt for problem in problems_of(lab_rows("test", data_type), data_type)}
    assert len(unseen) == 1000 and not unseen & {problem.prompt for problem in problems_of(labelled, data_type)}
    ours = [row["id"] for row in labelled[:n]]
    stream = [row["id"] for row in held_out(data_type, TRAINING, 2 * n)]
    assert [name for name in stream if name in ours] == ours


@pytest.mark.slow
@pytest.mark.parametrize("data_type", FORMATS)
def test_a_router_of_the_page_is_as_good_as_one_that_python_trains(
    engine: Engine, data_type: DataType, tmp_path: Path
) -> None:
    """On the same labels; at equal shares of LLM tokens neither is better beyond chance and three points."""
    rows = [(row, data_type) for row in lab_rows("train", data_type, 100)]
    labels, _ = python_labels(engine, rows, "gold", "outcome")
    (ours,) = ask_node(rows=[row for row, _ in rows], train=[{"network": "mlp-128", "seed": 0}])["train"]
    card = card_in(base64.b64decode(ours["file"]), tmp_path)
    trained = train_router(labels, RouterRecipe(learning_rates=(1e-3,), batch_size=256), OBJECTIVES["citer-outcome"])
    router = CiterPlusRouter(trained.network, {**card, "label": "by Python"})
    tensors = {
        name: tensor.contiguous()
        for name, tensor in trained.network.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    training = {name: value for name, value in card["training"].items() if name == "prefer_slm_share"}
    document = {**card, "label": "by Python", "revision": router.revision, "training": training}
    theirs = base64.b64encode(save(tensors, {"card": json.dumps(document)})).decode()
    asked = {"kind": data_type, "n": 1000, "shares": [0.05, 0.1], "files": [ours["file"], theirs]}
    found = ask_node(measure=asked)["measure"]
    for k in range(2):
        right = [np.array([one[k]["right"] for one in results]) for results in found]
        shares = [sum(one[k]["nLlm"] for one in many) / sum(one[k]["nTokens"] for one in many) for many in found]
        difference, (low, high) = paired_difference(right[:1], right[1:])
        print(data_type, [round(share, 4) for share in shares], [one.mean() for one in right], (low, high))
        assert abs(shares[0] - shares[1]) < 0.015
        assert low <= 0.03 and high >= -0.03, (difference, low, high)
