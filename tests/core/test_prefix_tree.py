"""Runs down a tree of known texts: the tokens of loops that share nothing with it, and no model asked twice."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from citer_core.errors import NotANumberError, PromptError
from citer_core.models.batched_lm import BatchedLM
from citer_core.models.pair import load_pair
from citer_core.routing.decode import sequence_key
from citer_core.routing.prefix_tree import PrefixTree
from citer_core.routing.router import Router
from citer_core.routing.routers import training_free_routers
from citer_core.routing.routers.constant import AlwaysLLMRouter, AlwaysSLMRouter
from citer_core.routing.routers.max_probability import MaxProbabilityRouter
from citer_core.tasks.datasets import bundled_rows
from citer_core.types import DecodeSettings
from citer_core.workload import Workload
from tests.core.conftest import tiny_qwen2
from tests.core.examples import decoded, random_prompts, uncached
from tests.core.test_batch_decode import RAGGED, PatternRouter, free

N = 24
EVERY = range(len(RAGGED))
# Each prompt's own pattern in each of the runs, so that texts part and meet again.
RUNS = (["S"], ["L"], ["SL", "LLS"], ["SSSL", "S", "LS"], ["SL", "LLS"], ["SSSSSSL", "L"], ["S"])


@pytest.mark.parametrize("which", ["tiny_pair", "siblings"])
def test_every_run_is_the_uncached_loop(which, request):
    pair = request.getfixturevalue(which)
    tree = PrefixTree(pair, RAGGED, N)
    for patterns in RUNS:
        for path, prompt, k in zip(tree.walk(PatternRouter(RAGGED, patterns), 0.5, EVERY), RAGGED, EVERY, strict=True):
            pattern = patterns[k % len(patterns)]
            assert path.token_ids == uncached(pair, prompt, pattern, N)
            written = (pattern * N)[: len(path.token_ids)]
            assert path.llm_at == [i for i, writer in enumerate(written) if writer == "L"]
            assert path.is_cut == (len(path.token_ids) == N and path.token_ids[-1] not in pair.eos_ids)


def test_every_router_decides_as_in_the_decode_loop():
    """On the bundled pair, those that read the prompt's state, random numbers and the LLM's entropy among them."""
    pair = load_pair()
    prompts = [pair.encode(row.problem.prompt) for kind in ("math", "mc") for row in bundled_rows(kind)[:2]]
    tree = PrefixTree(pair, prompts, 60)
    routers = [router for router in training_free_routers().values() if not router.reads_llm]
    assert {router.name for router in routers} > {"random", "bidirectional-entropy", "max-probability"}
    for router in routers:
        for tau in (0.4, 0.8):
            for path, prompt in zip(tree.walk(router, tau, range(len(prompts))), prompts, strict=True):
                events, end = decoded(pair, router, prompt, DecodeSettings(tau, 60))
                assert path.token_ids == [event.token_id for event in events]
                assert path.llm_at == [event.index for event in events if event.source == "llm"]
                assert path.confidences == pytest.approx([event.slm_confidence for event in events], abs=1e-4)
                assert Workload.routed(path.n_prompt, len(events), path.llm_at) == Workload.of(events)
                assert path.is_cut == (end == "length")
                assert 0 <= path.llm_seconds < path.seconds and math.isfinite(path.seconds)
                assert (path.llm_seconds > 0) == bool(path.llm_at)


def test_no_model_is_asked_twice(siblings, monkeypatch):
    tree = PrefixTree(siblings, RAGGED, N)
    for patterns in RUNS:
        tree.walk(PatternRouter(RAGGED, patterns), 0.5, EVERY)
    n_nodes = tree.n_nodes

    def ask(*_):
        raise AssertionError("a model was asked")

    monkeypatch.setattr(BatchedLM, "catch_up", ask)
    again = [tree.walk(PatternRouter(RAGGED, patterns), 0.5, EVERY) for patterns in RUNS]
    assert again[0][0].seconds > 0  # what they took when they were made
    assert tree.n_nodes == n_nodes < sum(len(path.token_ids) for paths in again for path in paths)


def test_some_of_the_prompts_in_any_order(tiny_pair):
    tree, router = PrefixTree(tiny_pair, RAGGED, N), MaxProbabilityRouter()
    whole = PrefixTree(tiny_pair, RAGGED, N).walk(router, 0.5, EVERY)
    for which in ([3], [5, 0, 2], list(EVERY)[::-1]):
        assert [path.token_ids for path in tree.walk(router, 0.5, which)] == [whole[k].token_ids for k in which]


def test_the_ends_of_text_and_of_the_context(tiny_pair):
    long_prompt = list(range(1, tiny_pair.max_context - 5))
    (path,) = PrefixTree(free(tiny_pair), [long_prompt], N).walk(AlwaysLLMRouter(), 1.0, [0])
    assert path.is_cut and len(path.token_ids) == 6
    prompts = random_prompts(3)
    texts = [uncached(free(tiny_pair), prompt, "S", N) for prompt in prompts]
    pair = dataclasses.replace(tiny_pair, eos_ids=frozenset({texts[0][0], texts[1][7]}))
    for path, prompt in zip(PrefixTree(pair, prompts, N).walk(AlwaysSLMRouter(), 0.0, range(3)), prompts, strict=True):
        assert path.token_ids == uncached(pair, prompt, "S", N)
    with pytest.raises(PromptError, match="empty"):
        PrefixTree(pair, [[1], []], N)


def test_what_is_no_number_is_told(tiny_pair, tokenizer):
    class Lost(Router):
        name, label = "lost", "Lost"

        def confidence(self, features):
            return torch.full((len(features.hidden),), math.nan)

    with pytest.raises(NotANumberError, match='router "lost"'):
        PrefixTree(tiny_pair, RAGGED, N).walk(Lost(), 0.5, EVERY)
    broken = tiny_qwen2(3)
    broken.model.norm.weight.data.fill_(math.nan)
    for names, tau, which in (("slm",), 0.0, "SLM"), (("llm",), 1.0, "LLM"):
        models = {"slm": tiny_qwen2(1), "llm": tiny_qwen2(2)} | dict.fromkeys(names, broken)
        pair = type(tiny_pair).assemble("broken", models["slm"], models["llm"], tokenizer)
        with pytest.raises(NotANumberError, match=f"The {which}"):
            PrefixTree(pair, RAGGED, N).walk(MaxProbabilityRouter(), tau, EVERY)


def test_in_bfloat16_the_router_sees_what_it_sees_in_the_decode_loop(tokenizer, tiny_pair):
    models = [tiny_qwen2(seed).bfloat16() for seed in (1, 2)]
    pair = free(type(tiny_pair).assemble("half", *models, tokenizer))
    prompts = random_prompts(3)
    assert len({sequence_key(prompt) for prompt in prompts}) == 3
    for path, prompt in zip(
        PrefixTree(pair, prompts, 8).walk(MaxProbabilityRouter(), 0.5, range(3)), prompts, strict=True
    ):
        events, _ = decoded(pair, MaxProbabilityRouter(), prompt, DecodeSettings(0.5, 8))
        assert path.token_ids == [event.token_id for event in events]
        assert path.confidences == pytest.approx([event.slm_confidence for event in events], abs=0.05)
