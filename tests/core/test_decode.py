"""The decode loop against independent references: transformers' own `generate`, and a loop without any cache."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from citer_core.errors import PromptError
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.models.reader import Reader
from citer_core.routing.decode import decode
from citer_core.routing.routers.max_probability import MaxProbabilityRouter
from citer_core.types import DecodeSettings
from tests.core.conftest import tiny_qwen2
from tests.core.examples import generated, random_prompts, uncached
from tests.scripted_router import ScriptedRouter

PROMPT = [11, 402, 77, 8, 960, 33, 5]


def run(pair, threshold, *, router=None, prompt=PROMPT, n=40, **options):
    router = router or MaxProbabilityRouter()
    settings_ = DecodeSettings(threshold=threshold, max_new_tokens=n, **options.pop("sampling", {}))
    steps = decode(pair, router, prompt, settings_, **options)
    events = []
    while True:
        try:
            events.append(next(steps))
        except StopIteration as stop:
            return events, stop.value


def ids_of(events):
    return [event.token_id for event in events]


@pytest.mark.parametrize("prompt", random_prompts(20))
def test_the_two_ends_of_tau_are_generate(tiny_pair, prompt):
    assert ids_of(run(tiny_pair, 0.0, prompt=prompt)[0]) == generated(tiny_pair.slm, prompt, 40)
    assert ids_of(run(tiny_pair, 1.0, prompt=prompt)[0]) == generated(tiny_pair.llm, prompt, 40)


@pytest.mark.parametrize("pattern", ["SL", "SSSSSSSL", "LLS", "SSLLLSSSSSLS", "LSSSSSSSSSSSSSSSSSSSS"])
def test_any_pattern_is_the_uncached_loop(tiny_pair, pattern):
    router = ScriptedRouter([0.1 if c == "L" else 0.9 for c in pattern])
    events, _ = run(tiny_pair, 0.5, router=router)
    assert ids_of(events) == uncached(tiny_pair, PROMPT, pattern, 40)
    assert "".join("L" if e.source == "llm" else "S" for e in events) == (pattern * 40)[: len(events)]


def test_recomputing_the_llm_changes_the_work_and_not_the_text(tiny_pair):
    router = ScriptedRouter([0.9, 0.9, 0.1])
    kept, _ = run(tiny_pair, 0.5, router=router)
    again, _ = run(tiny_pair, 0.5, router=ScriptedRouter([0.9, 0.9, 0.1]), reuse_llm_cache=False)
    assert ids_of(kept) == ids_of(again)
    assert [e.llm_tokens_fed for e in kept[:9]] == [0, 0, len(PROMPT) + 2, 0, 0, 3, 0, 0, 3]
    assert [e.llm_tokens_fed for e in again[:9]] == [
        0,
        0,
        len(PROMPT) + 2,
        0,
        0,
        len(PROMPT) + 5,
        0,
        0,
        len(PROMPT) + 8,
    ]


def test_feeds_and_context_add_up(tiny_pair):
    events, _ = run(tiny_pair, 0.5, router=ScriptedRouter([0.9, 0.1, 0.9, 0.9, 0.9, 0.1]))
    llm_cached = 0
    for event in events:
        assert event.context_len == len(PROMPT) + event.index
        assert event.slm_tokens_fed == (len(PROMPT) if event.index == 0 else 1)
        if event.source == "llm":
            llm_cached += event.llm_tokens_fed
            assert llm_cached == event.context_len  # one pass has caught up with everything written so far
        else:
            assert event.llm_tokens_fed == 0 and event.llm_s == 0.0 and event.llm_top == ()


def test_one_model_twice_gives_one_text_at_any_tau(tokenizer):
    model = tiny_qwen2(3)
    pair = ModelPair.assemble("twin", model, model, tokenizer)
    texts = {tuple(ids_of(run(pair, tau)[0])) for tau in (0.0, 0.2, 0.5, 0.8, 1.0)}
    assert len(texts) == 1


def test_the_first_token_may_end_the_text(tiny_pair):
    first = ids_of(run(tiny_pair, 0.0)[0])[0]
    pair = dataclasses.replace(tiny_pair, eos_ids=frozenset({first}))
    events, reason = run(pair, 0.0)
    assert reason == "eos" and ids_of(events) == [first]


def test_each_of_several_end_tokens_ends_the_text(tiny_pair):
    free = ids_of(run(dataclasses.replace(tiny_pair, eos_ids=frozenset()), 0.0)[0])
    for position in (3, 7):
        pair = dataclasses.replace(tiny_pair, eos_ids=frozenset({free[position], 1535}))
        events, reason = run(pair, 0.0)
        assert reason == "eos"
        assert ids_of(events) == free[: free.index(free[position]) + 1]


def test_length_of_the_request_and_of_the_context(tiny_pair):
    pair = dataclasses.replace(tiny_pair, eos_ids=frozenset())
    events, reason = run(pair, 0.0, n=5)
    assert (len(events), reason) == (5, "length")
    short = dataclasses.replace(pair, max_context=len(PROMPT) + 3)
    events, reason = run(short, 0.5)
    assert (len(events), reason) == (3, "length")
    with pytest.raises(PromptError, match="at most 6"):
        run(dataclasses.replace(pair, max_context=len(PROMPT)), 0.5)
    with pytest.raises(PromptError, match="empty"):
        run(pair, 0.5, prompt=[])


def test_cancel_then_run_again(tiny_pair):
    pair = dataclasses.replace(tiny_pair, eos_ids=frozenset())
    whole, _ = run(pair, 0.5)
    asked = iter([False, False, False, True])
    part, reason = run(pair, 0.5, is_cancelled=lambda: next(asked))
    assert reason == "cancelled" and ids_of(part) == ids_of(whole)[:3]
    assert ids_of(run(pair, 0.5)[0]) == ids_of(whole)


def test_sampling_is_seeded_and_the_same_whoever_was_asked_before(tiny_pair):
    pair = dataclasses.replace(tiny_pair, eos_ids=frozenset())
    sampling = {"temperature": 0.8, "top_p": 0.9, "seed": 3}
    one = ids_of(run(pair, 0.0, sampling=sampling)[0])
    assert one == ids_of(run(pair, 0.0, sampling=sampling)[0])
    assert one != ids_of(run(pair, 0.0, sampling=sampling | {"seed": 4})[0])
    # A prefix decoded by force and then left to the SLM goes on as if the SLM had been alone from there.
    forced, _ = run(pair, 0.5, router=ScriptedRouter([0.9] * 39 + [0.1]), sampling=sampling)
    assert ids_of(forced)[:39] == one[:39]


def test_the_models_own_forward_gives_the_same_run(tiny_pair, tokenizer):
    """Where the fused pass does not fit, the other way through the code must write the same text."""
    plain = dataclasses.replace(
        tiny_pair,
        slm=LanguageModel(tiny_pair.slm.model, len(tokenizer), fused=False),
        llm=LanguageModel(tiny_pair.llm.model, len(tokenizer), fused=False),
    )
    assert tiny_pair.slm.is_fused and tiny_pair.llm.is_fused and not plain.slm.is_fused
    script = [0.9, 0.1, 0.9, 0.9, 0.1]
    ours, _ = run(tiny_pair, 0.5, router=ScriptedRouter(script))
    theirs, _ = run(plain, 0.5, router=ScriptedRouter(script))
    assert ids_of(ours) == ids_of(theirs)


def test_bfloat16_runs_and_its_ends_are_its_own_models(tokenizer):
    pair = ModelPair.assemble("bf16", tiny_qwen2(1).bfloat16(), tiny_qwen2(2, 64).bfloat16(), tokenizer)
    assert pair.info.dtype == "bfloat16" and pair.info.slm.bytes_per_element == 2
    events, _ = run(pair, 0.5, router=ScriptedRouter([0.9, 0.1]), n=12)
    assert {e.source for e in events} == {"slm", "llm"}


def test_events_carry_both_models_candidates(tiny_pair):
    events, _ = run(tiny_pair, 0.5, router=ScriptedRouter([0.9, 0.1]))
    for event in events:
        top = event.llm_top if event.source == "llm" else event.slm_top
        assert top[0].token_id == event.token_id
        assert len(top) == 5 and [c.probability for c in top] == sorted((c.probability for c in top), reverse=True)
        assert event.slm_top[0].token_id == event.slm_token_id


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=12))
def test_any_order_of_feeding_and_rewinding_keeps_the_cache(tiny_pair, steps):
    """Invariant: what the cache holds is `ids[:n_cached]`, so its answer is that of a fresh forward over all ids."""
    for lm in (tiny_pair.slm, tiny_pair.llm):
        cached, ids = Reader(lm), list(PROMPT)
        for rewind, n in steps:
            if rewind:
                cached.truncate(0, min(cached.n_cached[0], n))
            ids = ids + [(31 * len(ids) + n) % 1536 for _ in range(n)]
            if len(ids) == cached.n_cached[0]:
                continue
            logits = cached.read([ids]).logits[0]
            with torch.inference_mode():
                fresh = lm.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1, :1536]
            assert cached.n_cached == [len(ids)]
            torch.testing.assert_close(logits, fresh, rtol=1e-3, atol=1e-3)
