"""The inside of a decision: against torch's own layers as they were trained, the runs, and the browser's engine."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from citer_core.assets import ASSETS
from citer_core.engine import Engine
from citer_core.errors import SettingError
from citer_core.routing.inside import N_PATHS
from citer_core.tasks.datasets import bundled_rows
from citer_core.types import DecodeSettings

ROOT = Path(__file__).resolve().parents[2]
PROBLEM = bundled_rows("math")[2].problem
AT = (0, 1, 9)
NEAR = {"abs": 1e-3, "rel": 5e-3}  # the log-odds of a float32 near 1 have few digits
STATE_ROUTERS = ("citer", "co-llm", "query-level")


@pytest.fixture(scope="module")
def written(engine: Engine) -> list[int]:
    return [event.token_id for event in engine.start(PROBLEM, settings=DecodeSettings(threshold=0.5))]


def published_logit(tensors: dict[str, torch.Tensor], state: torch.Tensor, prefix: str = "") -> float:
    """The published MLP as it is trained, all seven operations, by hand."""
    t = {key.removeprefix(prefix): value.float() for key, value in tensors.items() if key.startswith(prefix)}
    x = functional.linear(state, t["0.weight"], t["0.bias"])
    x = functional.batch_norm(x, t["1.running_mean"], t["1.running_var"], t["1.weight"], t["1.bias"])
    x = functional.linear(functional.relu(x), t["4.weight"], t["4.bias"])
    return float(functional.linear(x, t["6.weight"], t["6.bias"]))


def states(engine: Engine, ids: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The SLM's states and logits of a text by transformers' own forward."""
    with torch.inference_mode():
        out = engine.pair.slm.model(input_ids=torch.tensor([ids]), output_hidden_states=True, use_cache=False)
    return out.hidden_states[-1][0], out.logits[0]


@pytest.mark.parametrize("name", STATE_ROUTERS)
@pytest.mark.parametrize("at", AT)
def test_a_router_on_the_state_computes_what_its_trained_layers_do(engine, written, name, at):
    prompt = engine.pair.encode(PROBLEM.prompt)
    hidden, logits = states(engine, prompt + written[:at])
    state = hidden[len(prompt) - 1 : len(prompt)] if name == "query-level" else hidden[-1:]
    found = engine.inside(PROBLEM, written[:at], router=name, after_llm=False)
    layers = found.layers
    assert layers is not None and layers.n_state == len(layers.inputs) == 96
    assert layers.inputs == pytest.approx(state[0].tolist(), abs=1e-4)
    expected = published_logit(load_file(ASSETS / "routers" / "embedded" / f"{name}.safetensors"), state)
    assert layers.logit == pytest.approx(expected, abs=1e-3)
    assert found.confidence == pytest.approx(1 / (1 + 2.718281828459045**-expected), abs=1e-4)
    probabilities = logits[-1].softmax(-1).topk(2).values
    assert found.max_probability == pytest.approx(float(probabilities[0]), abs=1e-4)
    assert found.margin == pytest.approx(float(probabilities[0] - probabilities[1]), abs=1e-4)


def test_the_parts_are_derivatives_and_add_up(engine, written):
    """Of a network that is linear around a state: what an input adds is its value times the logit's gradient there."""
    name = "citer-plus"
    tensors = load_file(ASSETS / "routers" / "embedded" / f"{name}.safetensors")
    layers = engine.inside(PROBLEM, written[:9], router=name, after_llm=False).layers
    assert layers is not None and len(layers.inputs) == 99 and layers.n_state == 96
    inputs = torch.tensor([layers.inputs], requires_grad=True)
    t = {key.removeprefix("residual."): v.float() for key, v in tensors.items() if key.startswith("residual.")}
    normed = functional.batch_norm(
        functional.linear(inputs, t["0.weight"], t["0.bias"]),
        t["1.running_mean"], t["1.running_var"], t["1.weight"], t["1.bias"],
    )  # fmt: skip
    units = functional.relu(normed)
    value = functional.linear(functional.linear(units, t["4.weight"], t["4.bias"]), t["6.weight"], t["6.bias"])
    value.sum().backward()
    assert inputs.grad is not None
    assert layers.gains == pytest.approx((inputs.grad * inputs)[0].tolist(), abs=1e-3)
    assert [push != 0 for push in layers.pushes] == (units[0] > 0).tolist()
    bias = float(t["6.weight"] @ t["4.bias"] + t["6.bias"])
    own = torch.tensor(layers.inputs[96:]) @ tensors["linear.weight"][0].float() + tensors["linear.bias"].float()
    assert sum(layers.pushes) + bias + float(own) == pytest.approx(layers.logit, abs=1e-3)
    assert len(layers.paths) == N_PATHS
    sizes = [abs(adds) for _, _, adds in layers.paths]
    assert sizes == sorted(sizes, reverse=True)
    k, j, adds = layers.paths[0]
    outgoing = (t["6.weight"] @ t["4.weight"])[0, j]
    gain = t["1.weight"][j] / (t["1.running_var"][j] + 1e-5).sqrt()
    assert adds == pytest.approx(float(outgoing * gain * t["0.weight"][j, k] * layers.inputs[k]), abs=1e-4)


def test_it_is_the_confidence_that_the_run_had(engine):
    for name in engine.router_names:
        settings = DecodeSettings(threshold=engine.default_threshold(name), max_new_tokens=12)
        events = list(engine.start(PROBLEM, router=name, settings=settings))
        ids = [event.token_id for event in events]
        for at in (0, 5, 11):
            after_llm = at > 0 and events[at - 1].source == "llm"
            found = engine.inside(PROBLEM, ids[:at], router=name, after_llm=after_llm)
            assert found.confidence == pytest.approx(events[at].slm_confidence, abs=1e-5), (name, at)
            trained = name in engine.router_names[: engine.router_names.index("max-probability")]
            assert (found.layers is not None) == trained
            assert (found.llm_entropy is not None) == (name == "bidirectional-entropy" and after_llm)


def test_what_it_cannot_read_is_said(engine):
    with pytest.raises(SettingError, match="does not know"):
        engine.inside(PROBLEM, [10**7], router="citer", after_llm=False)
    with pytest.raises(SettingError, match="this pair reads"):
        engine.inside(PROBLEM, [1] * 5000, router="citer", after_llm=False)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_browser_says_the_same(engine, written):
    orders = [
        {"prompt": PROBLEM.prompt, "ids": written[:at], "router": name, "afterLlm": at == 9}
        for name in engine.router_names
        for at in AT
    ]
    done = subprocess.run(
        ["node", "tests/viewer/engine_runs.mjs"],
        input=json.dumps({"insides": orders}), cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for order, theirs in zip(orders, json.loads(done.stdout)["insides"], strict=True):
        at = len(order["ids"])
        ours = dataclasses.asdict(engine.inside(PROBLEM, order["ids"], router=order["router"], after_llm=at == 9))
        assert theirs.keys() == ours.keys()
        layers, their_layers = ours.pop("layers"), theirs.pop("layers")
        assert theirs == pytest.approx(ours, abs=1e-4), order["router"]
        assert (layers is None) == (their_layers is None)
        if layers is None:
            continue
        for name in ("inputs", "gains", "pushes"):
            assert their_layers[name] == pytest.approx(layers[name], **NEAR), (order["router"], name)
        assert their_layers["logit"] == pytest.approx(layers["logit"], **NEAR)
        assert their_layers["n_state"] == layers["n_state"]
        found = [[adds for _, _, adds in one["paths"]] for one in (their_layers, layers)]
        assert found[0] == pytest.approx(found[1], **NEAR)
        assert their_layers["paths"][0][:2] == list(layers["paths"][0][:2])
