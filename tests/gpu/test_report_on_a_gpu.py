"""What the device report measures, as tests: right tokens in every way of decoding, few waits, memory given back."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from citer_core.measuring.report import correctness, device, shapes, speed
from citer_core.measuring.report.bench import EAGER, Bench, Case, Turn, paths_for

pytestmark = pytest.mark.gpu
SMALL = dataclasses.replace(shapes.tiny_plan(), dtype="bfloat16", n_prompts=20, n_checked=48, n_written=48)
ENDLESS = Turn(float("inf"))
SLACK = 4 << 20  # bytes


@pytest.fixture(scope="module")
def bench():
    return Bench("cuda", SMALL)


@pytest.mark.parametrize("path", paths_for("cuda"), ids=lambda path: path.name)
def test_tokens_are_those_of_transformers(bench, path):
    found = correctness.check_tokens(Case(bench, path=path), ENDLESS)
    assert found["is_right"], found["compared"]
    assert found["is_replayed"] == [path.name != EAGER] * 2 and found["is_fused"] == [True, True]


def test_batches_and_readings_agree(bench):
    assert correctness.check_batches(Case(bench), ENDLESS)["is_right"]
    found = correctness.check_readings(Case(bench), ENDLESS)
    assert found["is_right"], found


def test_weights_are_made_on_the_device_in_bfloat16():
    model = shapes.random_model(shapes.TINY_SHAPES[0].slm, "cuda", "bfloat16")
    kinds = {(parameter.device.type, parameter.dtype) for parameter in model.parameters()}
    assert kinds == {("cuda", torch.bfloat16)}


def test_a_token_of_the_slm_is_waited_for_once(bench):
    rows = device.count_waits(Case(bench, SMALL.shapes[0]), ENDLESS)["rows"]
    assert all(row["waits_per_token"] <= 1 for row in rows if row["asked_share"] == 0), rows


@pytest.mark.parametrize("number", range(len(paths_for("cuda"))), ids=[path.name for path in paths_for("cuda")])
def test_memory_is_given_back(bench, number):
    case = Case(bench, SMALL.shapes[0], paths_for("cuda")[number])
    first, rows = (device.watch_memory(case, ENDLESS)["rows"] for _ in range(2))
    assert first[-1]["in_tensors"] <= rows[0]["in_tensors"] + SLACK, "the first brings what libraries keep"
    assert rows[-1]["in_tensors"] <= rows[0]["in_tensors"] + SLACK, rows


def test_runs_at_once_write_what_a_batch_writes(bench):
    rows = speed.measure_runs(Case(bench, SMALL.shapes[0], paths_for("cuda")[0]), ENDLESS)["rows"]
    assert all(row["n_failed"] == 0 for row in rows), rows
