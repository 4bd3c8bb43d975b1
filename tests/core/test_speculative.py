"""Speculative decoding against transformers' own assisted generation, and against the LLM's greedy text."""

from __future__ import annotations

import json
from itertools import pairwise, product

import pytest
import torch
from transformers.generation import candidate_generator

from citer_core.cost import H100_SXM, ModelSpec
from citer_core.errors import NotANumberError, SettingError, TraceError
from citer_core.models.pair import ModelPair
from citer_core.routing.speculative import speculate
from citer_core.speculation import Drafting, SpeculativeTrace
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from tests.core.conftest import tiny_llama, tiny_qwen2
from tests.core.examples import exhausted, generated, random_prompts, remote
from tests.sampling import few_or_all, sampled

PROMPTS = random_prompts(8, seed=11)


def drafted(pair, prompt, n=40, drafting=None, **options):
    """All passes, and why it ended."""
    return exhausted(speculate(pair, prompt, n, drafting or Drafting(), **options))


def ids_of(passes):
    return [token_id for one in passes for token_id in one.token_ids]


@pytest.fixture(scope="module")
def near_pair(tokenizer) -> ModelPair:
    """Two models that often agree: the LLM is the SLM with a little noise on its weights."""
    slm, llm = tiny_qwen2(1), tiny_qwen2(1)
    torch.manual_seed(3)
    with torch.no_grad():
        for weights in llm.parameters():
            weights.add_(torch.randn_like(weights) * 0.04)
    return ModelPair.assemble("near", slm, llm, tokenizer)


@pytest.fixture
def assisted(monkeypatch):
    """transformers' own: the tokens and the number of the LLM's passes. Where scikit-learn is installed it moves the
    confidence at which a draft stops, which depends on what happens to be installed; we keep it, so it is kept here."""
    monkeypatch.setattr(candidate_generator, "is_sklearn_available", lambda: False)

    def generate(pair, prompt, n, drafting):
        slm, llm = pair.slm.model, pair.llm.model
        before = slm.generation_config.to_dict()
        slm.generation_config.update(
            num_assistant_tokens=drafting.n_tokens,
            num_assistant_tokens_schedule="constant",
            assistant_confidence_threshold=drafting.confidence,
        )
        widths = []
        hook = llm.register_forward_pre_hook(
            lambda _module, _args, given: widths.append(given["input_ids"].shape[1]), with_kwargs=True
        )
        ids = torch.tensor([prompt])
        try:
            output = llm.generate(
                ids, attention_mask=torch.ones_like(ids), assistant_model=slm, do_sample=False, max_new_tokens=n,
                eos_token_id=0, pad_token_id=0,
            )  # fmt: skip
        finally:
            hook.remove()
            slm.generation_config.update(**before)
        return output[0, len(prompt) :].tolist(), widths

    return generate


@pytest.mark.parametrize(
    ("drafting", "every"),
    sampled(product([Drafting(), Drafting(5, 0.0), Drafting(1, 0.0), Drafting(8, 0.9)], [8, 1]), 6),
)
def test_text_passes_and_what_the_llm_reads_are_those_of_transformers(near_pair, tiny_pair, assisted, drafting, every):
    """Both by its assisted generation and, at any length, by the LLM alone."""
    n_kept = 0
    for pair in (near_pair, tiny_pair):
        for prompt in PROMPTS[::every]:
            passes, _ = drafted(pair, prompt, drafting=drafting)
            tokens, widths = assisted(pair, prompt, 40, drafting)
            assert ids_of(passes) == tokens
            assert [one.llm_tokens_fed for one in passes] == widths
            n_kept += sum(one.n_accepted for one in passes)
    assert n_kept > 20 // every  # a draft that is never kept would test little
    for n in (1, 2, 3, 39):
        passes, reason = drafted(near_pair, PROMPTS[2], n, drafting)
        expected = generated(near_pair.llm, PROMPTS[2], n)
        assert (ids_of(passes), reason) == (expected, "eos" if expected[-1] == 0 else "length")


@pytest.mark.parametrize("n_prompts", few_or_all(3, 8))
def test_what_each_model_reads_adds_up(near_pair, n_prompts):
    for prompt in PROMPTS[:n_prompts]:
        passes, _ = drafted(near_pair, prompt, drafting=Drafting(6, 0.0))
        context = len(prompt)
        assert passes[0].llm_tokens_fed == len(prompt) + len(passes[0].drafted)
        assert passes[0].slm_tokens_fed[0] == len(prompt)
        for before, one in pairwise(passes):
            context += len(before.token_ids)
            assert one.context_len == context
            assert one.llm_tokens_fed == 1 + len(one.drafted)
            if one.drafted:  # the SLM has never read the last token of a draft that was kept whole
                whole = before.n_accepted == len(before.drafted)
                assert one.slm_tokens_fed == (2 if whole else 1, *[1] * (len(one.drafted) - 1))


@pytest.mark.parametrize("n_each", few_or_all(1, 25))
def test_problems_of_the_bundled_pair_read_as_the_llm_alone(engine, n_each):
    problems = [bundled_rows(kind)[n].problem for kind in ("math", "mc") for n in range(n_each)]
    alone = dict(engine.run_batch(problems, settings=DecodeSettings(threshold=1.0, max_new_tokens=160)))
    n_passes = n_tokens = 0
    for number, problem in enumerate(problems):
        trace = whole(engine, problem, 160)
        assert list(trace.token_ids) == [event.token_id for event in alone[number].events]
        assert (trace.completion, trace.answer) == (alone[number].completion, alone[number].answer)
        n_passes, n_tokens = n_passes + len(trace.passes), n_tokens + len(trace.token_ids)
    assert n_passes < n_tokens / 3  # else it would not be worth it


def whole(engine, problem, n=40, **options) -> SpeculativeTrace:
    return exhausted(engine.speculate(problem, max_new_tokens=n, **options))[1]


def test_the_cost_is_that_of_every_pass(engine):
    problem = problem_from_text("1 + 1?", "math", "2")
    trace = whole(engine, problem)
    models = {"slm": engine.pair_info.slm, "llm": engine.pair_info.llm}

    def forward(model: ModelSpec, n_new: int, n_cached: int) -> float:
        return model.weight_bytes + model.kv_bytes_per_token * (n_new + n_cached)

    n_bytes, slm_read, llm_read = 0.0, 0, 0
    for one in trace.passes:
        for n_fed in one.slm_tokens_fed:
            n_bytes += forward(models["slm"], n_fed, slm_read)
            slm_read += n_fed
        n_bytes += forward(models["llm"], one.llm_tokens_fed, llm_read)
        llm_read += one.llm_tokens_fed
        # What was rejected is forgotten; the token written last is in neither cache.
        slm_read, llm_read = (min(read, one.context_len + len(one.token_ids) - 1) for read in (slm_read, llm_read))
    assert trace.cost(H100_SXM).n_bytes == n_bytes
    assert trace.cost(H100_SXM).flops > 0


def test_the_text_is_whole_and_comes_back_from_json(engine):
    problem = bundled_rows("mc")[38].problem
    trace = whole(engine, problem, drafting=Drafting(5, 0.0))
    assert trace.completion == engine.pair.tokenizer.decode(trace.token_ids, skip_special_tokens=True)
    assert SpeculativeTrace.from_dict(json.loads(json.dumps(trace.to_dict()))) == trace


@pytest.mark.parametrize(
    "damage",
    [
        lambda one: {**one, "n_accepted": len(one["drafted"]) + 1},
        lambda one: {**one, "slm_tokens_fed": [1, *one["slm_tokens_fed"]]},
        lambda one: {key: value for key, value in one.items() if key != "drafted"},
    ],
)
def test_passes_that_cannot_have_been_are_refused(engine, damage):
    document = whole(engine, problem_from_text("1 + 1?", "math", "2")).to_dict()
    document["passes"] = [damage(document["passes"][0]), *document["passes"][1:]]
    with pytest.raises(TraceError, match="damaged"):
        SpeculativeTrace.from_dict(json.loads(json.dumps(document)))


def test_it_stops_between_passes(near_pair):
    flags = iter([False, False, True])
    passes, reason = drafted(near_pair, PROMPTS[0], drafting=Drafting(2, 0.0), is_cancelled=lambda: next(flags))
    assert (len(passes), reason) == (2, "cancelled")


def test_an_llm_on_a_server_reads_no_drafts(tiny_pair, server):
    with pytest.raises(SettingError, match="on a server"):
        drafted(remote(tiny_pair, server), PROMPTS[0])


@pytest.mark.parametrize("which", ["slm", "llm"])
def test_logits_that_are_no_numbers_end_it(tokenizer, which):
    models = {"slm": tiny_qwen2(1), "llm": tiny_llama(2)}
    with torch.no_grad():
        models[which].model.norm.weight.fill_(float("nan"))
    pair = ModelPair.assemble("damaged", models["slm"], models["llm"], tokenizer)
    with pytest.raises(NotANumberError, match=which.upper()):
        drafted(pair, PROMPTS[0])


@pytest.mark.parametrize("numbers", [(0, 0.4), (65, 0.4), (5, -0.1), (5, 1.1)])
def test_drafting_has_its_ranges(numbers):
    with pytest.raises(SettingError, match="give a number from"):
        Drafting(*numbers)
