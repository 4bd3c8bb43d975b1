"""Runs with a memory of what the models said: the tokens of loops that share nothing with it, no model asked twice."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from citer_core.errors import NotANumberError
from citer_core.labelling import rollouts
from citer_core.labelling.rollouts import Policy, Start, roll_out
from citer_core.labelling.teacher_forcing import example_of
from citer_core.models.reader import Reader
from citer_core.routing.decode import decode_batch
from citer_core.routing.memory import Memory
from citer_core.routing.router import Router
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.types import DecodeSettings
from tests.core.conftest import tiny_qwen2
from tests.core.examples import ROWS, decoded, random_prompts, uncached, verdict
from tests.core.test_batch_decode import RAGGED, PatternRouter, free
from tests.sampling import sampled

N = 24
# Each prompt's own pattern in each of the runs, so that texts part and meet again.
RUNS = (["S"], ["L"], ["SL", "LLS"], ["SSSL", "S", "LS"], ["SL", "LLS"], ["SSSSSSL", "L"], ["S"])


def written(pair, router, prompts, tau, memory, n=N):
    found = decode_batch(pair, router, prompts, DecodeSettings(tau, n), batch_size=4, memory=memory)
    return sorted(found, key=lambda s: s.index)


@pytest.mark.parametrize("which", sampled(["siblings", "tiny_pair"], 2))
def test_every_run_is_the_uncached_loop_and_no_model_is_asked_twice(which, request, monkeypatch):
    pair, memory = request.getfixturevalue(which), Memory()
    for patterns in RUNS:
        for s, prompt in zip(written(pair, PatternRouter(RAGGED, patterns), RAGGED, 0.5, memory), RAGGED, strict=True):
            assert s.token_ids == uncached(pair, prompt, patterns[s.index % len(patterns)], N, s.token_ids)
    n_nodes = memory.n_nodes
    memory.let_go_of_caches()
    monkeypatch.setattr(Reader, "read", lambda *_: pytest.fail("a model was asked"))
    again = [written(pair, PatternRouter(RAGGED, patterns), RAGGED, 0.5, memory) for patterns in RUNS]
    assert all(s.steps[0].slm_s > 0 for s in again[0])  # what it took when it was asked
    assert memory.n_nodes == n_nodes < sum(len(s.token_ids) for run in again for s in run)


def test_what_is_no_number_is_told_and_not_remembered(tiny_pair, tokenizer):
    class Lost(Router):
        name, label = "lost", "Lost"

        def confidence(self, features):
            return torch.full((len(features.hidden),), math.nan)

    with pytest.raises(NotANumberError, match='router "lost"'):
        written(tiny_pair, Lost(), RAGGED, 0.5, Memory())
    broken = tiny_qwen2(3)
    broken.model.norm.weight.data.fill_(math.nan)
    for names, tau, which in (("slm",), 0.0, "SLM"), (("llm",), 1.0, "LLM"):
        models = {"slm": tiny_qwen2(1), "llm": tiny_qwen2(2)} | dict.fromkeys(names, broken)
        pair, memory = type(tiny_pair).assemble("broken", models["slm"], models["llm"], tokenizer), Memory()
        for _ in range(2):
            with pytest.raises(NotANumberError, match=f"The {which}"):
                written(pair, MaxProbabilityRouter(), RAGGED, tau, memory)


def test_in_bfloat16_the_router_sees_what_it_sees_in_the_decode_loop(tokenizer, tiny_pair):
    models = [tiny_qwen2(seed).bfloat16() for seed in (1, 2)]
    pair, prompts = free(type(tiny_pair).assemble("half", *models, tokenizer)), random_prompts(3)
    for s, prompt in zip(written(pair, MaxProbabilityRouter(), prompts, 0.5, Memory(), 8), prompts, strict=True):
        events, _ = decoded(pair, MaxProbabilityRouter(), prompt, DecodeSettings(0.5, 8))
        assert s.token_ids == [event.token_id for event in events]
        confidences = [step.slm_confidence for step in s.steps]
        assert confidences == pytest.approx([event.slm_confidence for event in events], abs=0.05)


def test_rounds_of_rollouts_with_a_memory_are_rounds_without_one(tiny_pair, monkeypatch):
    """And other starts are not taken for known ones."""
    monkeypatch.setattr(rollouts, "check_answer", verdict)
    examples = [example_of(row, kind, tiny_pair) for row, kind in ROWS[:3]]
    starts = [
        Start(number, position, (40 + position,) if position % 2 else ())
        for number, example in enumerate(examples)
        for position in range(0, len(example.truth_ids), 3)
    ]
    memory, honest, n_read, spent = Memory(), Reader.read, [], []

    def counted(self, texts, slots, *more):
        n_read.append(len(texts))
        return honest(self, texts, slots, *more)

    monkeypatch.setattr(Reader, "read", counted)
    for tau, asked in ((0.5, starts), (0.55, starts), (0.5, starts[1:]), (0.5, starts[::-1])):
        policy = Policy(MaxProbabilityRouter(), tau, max_new_tokens=20, batch_size=3)
        expected = dict(roll_out(tiny_pair, examples, asked, policy))
        n_read.clear()
        remembering = dataclasses.replace(policy, memory=memory)
        assert remembering == policy
        assert dict(roll_out(tiny_pair, examples, asked, remembering)) == expected
        spent.append(sum(n_read))
    assert spent[0] > spent[1] > spent[2] == spent[3] == 0
