"""Several sequences in one pass against transformers' own forward over each of them alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from citer_core.models.batched_lm import BatchedLM
from citer_core.models.kv_cache import SlotCache
from citer_core.models.language_model import LanguageModel
from tests.core.conftest import LLAMA3_ROPE, tiny_llama, tiny_mistral, tiny_qwen2
from tests.core.examples import random_prompts

MODELS = {
    "qwen2": lambda: tiny_qwen2(1),
    "llama3-rope-mqa": lambda: tiny_llama(2, num_key_value_heads=1, rope_parameters=LLAMA3_ROPE),
    "mistral": tiny_mistral,
}


def alone(lm, text):
    """Logits and hidden states at every position of one text."""
    with torch.inference_mode():
        output = lm.model(input_ids=torch.tensor([text]), use_cache=False, output_hidden_states=True)
    return output.logits[0, :, :1536], output.hidden_states[-1][0]


def close(ours, theirs):
    scale = float(theirs.abs().max())
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_slots_of_any_length_grow_by_any_number_of_tokens(make, fused):
    """Past the first growth of the cache; some slots rest while others go on; one is taken over by a shorter text."""
    lm = LanguageModel(make(), 1536, fused=fused)
    assert lm.is_fused == fused
    texts = [[(7 * i + 13 * k) % 1535 + 1 for k in range(320)] for i in range(4)]
    cache, lengths = lm.new_slot_cache(4), [0] * 4
    for grow in (
        {0: 3, 1: 1, 2: 40, 3: 7},
        {2: 1, 0: 1},
        {3: 2, 1: 260},
        {1: 1, 0: 5, 2: 1, 3: 1},
        {0: 1, 1: 1, 2: 1, 3: 1},
    ):
        slots = list(grow)
        new_ids = [texts[slot][lengths[slot] : lengths[slot] + n] for slot, n in grow.items()]
        logits, hidden = lm.forward_slots(new_ids, slots, cache)
        for row, (slot, n) in enumerate(grow.items()):
            lengths[slot] += n
            theirs = alone(lm, texts[slot][: lengths[slot]])
            close(logits[row], theirs[0][-1])
            close(hidden[row], theirs[1][-1])
    cache.clear(1)
    logits, _ = lm.forward_slots([[9, 8], texts[2][lengths[2] :][:3]], [1, 2], cache)
    close(logits[0], alone(lm, [9, 8])[0][-1])
    close(logits[1], alone(lm, texts[2][: lengths[2] + 3])[0][-1])


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_read_gives_the_last_positions_of_ragged_texts(make, fused):
    lm = LanguageModel(make(), 1536, fused=fused)
    texts = [*random_prompts(5, longest=60), [4]]
    n_last = [1 + len(text) // 2 for text in texts]
    for text, n, (logits, hidden) in zip(texts, n_last, lm.read(texts, n_last), strict=True):
        theirs = alone(lm, text)
        assert logits.shape == (n, 1536) and len(hidden) == n
        close(logits, theirs[0][-n:])
        close(hidden, theirs[1][-n:])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 50)), max_size=3), min_size=1, max_size=6))
def test_any_order_of_catching_up_and_moving_in_keeps_the_slots(tiny_pair, rounds):
    """-1 clears a slot; else it grows by that many tokens and one, in one call with the others of its round."""
    for lm in (tiny_pair.slm, tiny_pair.llm):
        batched, texts = BatchedLM(lm, 3), [[], [], []]
        for round_ in rounds:
            grow = dict(round_)
            for slot, n in grow.items():
                if n == -1:
                    batched.clear(slot)
                    texts[slot] = []
                texts[slot] = texts[slot] + [
                    (31 * len(texts[slot]) + k + slot) % 1535 + 1 for k in range(max(n, 0) + 1)
                ]
            if not grow:
                continue
            forward = batched.catch_up([texts[slot] for slot in grow], list(grow))
            assert [batched.n_cached[slot] for slot in range(3)] == [len(text) for text in texts]
            for row, slot in enumerate(grow):
                close(forward.logits[row], alone(lm, texts[slot])[0][-1])
                close(forward.hidden[row], alone(lm, texts[slot])[1][-1])


def test_one_long_prompt_does_not_pad_single_tokens(tiny_pair, monkeypatch):
    """Texts of very different length share one pass, in which only the short ones are padded to one width."""
    together = []
    padded = SlotCache._padded

    def noted(self, store, slots, starts, n_new, indices):
        together.append(list(n_new))
        return padded(self, store, slots, starts, n_new, indices)

    monkeypatch.setattr(SlotCache, "_padded", noted)
    texts = [[5], list(range(1, 201)), [6, 7], list(range(1, 151)), [8], [9, 10, 11]]
    found = BatchedLM(tiny_pair.slm, 6).catch_up(texts, [2, 0, 3, 1, 5, 4])
    assert together == [[1, 1], [2, 3]] and found.n_fed == [1, 200, 2, 150, 1, 3]
    for row, text in enumerate(texts):
        close(found.logits[row], alone(tiny_pair.slm, text)[0][-1])


def test_nothing_to_feed_is_our_own_mistake(tiny_pair):
    batched = BatchedLM(tiny_pair.slm, 1)
    batched.catch_up([[1, 2]], [0])
    with pytest.raises(AssertionError, match="nothing to feed"):
        batched.catch_up([[1, 2]], [0])
