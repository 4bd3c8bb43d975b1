"""Several sequences in one pass against transformers' own forward over each of them alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from citer_core.models import kv_cache
from citer_core.models.kv_cache import BAND, KVCache
from citer_core.models.language_model import LanguageModel
from citer_core.models.reader import Reader
from tests.core.conftest import LLAMA3_ROPE, tiny_llama, tiny_mistral, tiny_qwen2
from tests.core.examples import random_prompts
from tests.sampling import sampled

MODELS = {
    "qwen2": lambda: tiny_qwen2(1),
    "llama3-rope-mqa": lambda: tiny_llama(2, num_key_value_heads=1, rope_parameters=LLAMA3_ROPE),
    "mistral": tiny_mistral,
}


@pytest.fixture(params=["on the host", "as on a device"])
def padding(request, monkeypatch):
    """Whether only single tokens attend together, or short texts too, padded to one width."""
    if request.param == "as on a device":
        monkeypatch.setattr(kv_cache, "is_away", lambda tensor: True)
    return request.param


def alone(lm, text):
    """Logits and hidden states at every position of one text."""
    with torch.inference_mode():
        output = lm.model(input_ids=torch.tensor([text]), use_cache=False, output_hidden_states=True)
    return output.logits[0, :, :1536], output.hidden_states[-1][0]


def close(ours, theirs):
    scale = float(theirs.abs().max())
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("name", sampled(MODELS, 3))
def test_slots_of_any_length_grow_by_any_number_of_tokens(name, fused, padding):
    """Past the first growth of the cache; some slots rest while others go on; one is taken over by a shorter text."""
    lm = LanguageModel(MODELS[name](), 1536, fused=fused)
    assert lm.is_fused == fused
    texts = [[(7 * i + 13 * k) % 1535 + 1 for k in range(320)] for i in range(4)]
    cache, lengths = lm.new_cache(4), [0] * 4
    for grow in (
        {0: 3, 1: 1, 2: 40, 3: 7},
        {2: 1, 0: 1},
        {3: 2, 1: 260},
        {1: 1, 0: 5, 2: 1, 3: 1},
        {0: 1, 1: 1, 2: 1, 3: 1},
    ):
        slots = list(grow)
        new_ids = [texts[slot][lengths[slot] : lengths[slot] + n] for slot, n in grow.items()]
        logits, hidden = lm.forward(new_ids, cache, slots)
        for row, (slot, n) in enumerate(grow.items()):
            lengths[slot] += n
            theirs = alone(lm, texts[slot][: lengths[slot]])
            close(logits[row], theirs[0][-1])
            close(hidden[row], theirs[1][-1])
    cache.truncate(1, 0)
    logits, _ = lm.forward([[9, 8], texts[2][lengths[2] :][:3]], cache, [1, 2])
    close(logits[0], alone(lm, [9, 8])[0][-1])
    close(logits[1], alone(lm, texts[2][: lengths[2] + 3])[0][-1])


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("name", sampled(MODELS, 3))
def test_read_gives_the_last_positions_of_ragged_texts(name, fused):
    lm = LanguageModel(MODELS[name](), 1536, fused=fused)
    texts = [*random_prompts(5, longest=60), [4]]
    n_last = [1 + len(text) // 2 for text in texts]
    for text, n, (logits, hidden) in zip(texts, n_last, lm.read(texts, n_last), strict=True):
        theirs = alone(lm, text)
        assert logits.shape == (n, 1536) and len(hidden) == n
        close(logits, theirs[0][-n:])
        close(hidden, theirs[1][-n:])


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 50)), max_size=3), min_size=1, max_size=6))
def test_any_order_of_catching_up_and_moving_in_keeps_the_slots(tiny_pair, padding, rounds):
    """-1 clears a slot; else it grows by that many tokens and one, in one call with the others of its round."""
    for lm in (tiny_pair.slm, tiny_pair.llm):
        batched, texts = Reader(lm, 3), [[], [], []]
        for round_ in rounds:
            grow = dict(round_)
            for slot, n in grow.items():
                if n == -1:
                    batched.truncate(slot, 0)
                    texts[slot] = []
                texts[slot] = texts[slot] + [
                    (31 * len(texts[slot]) + k + slot) % 1535 + 1 for k in range(max(n, 0) + 1)
                ]
            if not grow:
                continue
            forward = batched.read([texts[slot] for slot in grow], list(grow))
            assert [batched.n_cached[slot] for slot in range(3)] == [len(text) for text in texts]
            for row, slot in enumerate(grow):
                close(forward.logits[row], alone(lm, texts[slot])[0][-1])
                close(forward.hidden[row], alone(lm, texts[slot])[1][-1])


def test_one_long_prompt_does_not_pad_single_tokens(tiny_pair, monkeypatch, padding):
    """Texts of very different length share one pass, in which at most the short ones are padded to one width."""
    passes = []
    together = KVCache._together

    def noted(self, first, slots, ends, n_new, indices):
        passes.append(list(n_new))
        return together(self, first, slots, ends, n_new, indices)

    monkeypatch.setattr(KVCache, "_together", noted)
    texts = [[5], list(range(1, 201)), [6, 7], list(range(11, 161)), [8], [9, 10, 11]]
    found = Reader(tiny_pair.slm, 6).read(texts, [2, 0, 3, 1, 5, 4])
    assert passes == ([[1, 1]] if padding == "on the host" else [[1, 1], [2, 3]])
    assert found.n_fed == [1, 200, 2, 150, 1, 3]
    for row, text in enumerate(texts):
        close(found.logits[row], alone(tiny_pair.slm, text)[0][-1])


@pytest.mark.parametrize("n_new", [BAND, BAND + 1])
def test_masks_of_short_and_of_long_texts_are_the_same(tiny_pair, n_new):
    """After a cached text; the short ones are read from a table, also after the cache has grown."""
    text = [(7 * i) % 1535 + 1 for i in range(400)]
    batched = Reader(tiny_pair.llm, 1)
    for end in (5, 5 + n_new, 300, 300 + n_new):
        close(batched.read([text[:end]], [0]).logits[0], alone(tiny_pair.llm, text[:end])[0][-1])


@pytest.mark.parametrize("alone_too", [False, True], ids=["together", "some alone"])
def test_a_gpu_can_read_every_mask(tiny_pair, monkeypatch, alone_too):
    """Its attention reads rows of a mask 16 bytes at a time: from another address the device stops for good."""
    monkeypatch.setattr(kv_cache, "is_away", lambda tensor: True)
    attention, masks = F.scaled_dot_product_attention, []

    def noted(*tensors, attn_mask=None, **options):
        masks.append(attn_mask)
        return attention(*tensors, attn_mask=attn_mask, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", noted)
    batched, texts = Reader(tiny_pair.llm, 3), [[(7 * i + k) % 1535 + 1 for i in range(99)] for k in range(3)]
    for grown in (9, 12, 13, 31, 95):
        for slots in ([0], [1, 2]) if alone_too else ([0, 1, 2],):
            batched.read([texts[slot][: grown + slot] for slot in slots], slots)
    read = [mask for mask in masks if mask is not None]
    assert len(read) > 10
    for mask in read:
        *rows, step = mask.stride()
        starts = [mask.storage_offset(), *(row for size, row in zip(mask.shape[:-1], rows, strict=True) if size > 1)]
        assert step == 1 and all(start * mask.element_size() % 16 == 0 for start in starts)


def fed_tokens(lm, monkeypatch):
    """Notes how many tokens each pass of a model really reads of each sequence."""
    fed = []
    forward = lm.forward

    def noted(new_ids, cache, slots, n_last):
        fed.append([len(ids) for ids in new_ids])
        return forward(new_ids, cache, slots, n_last)

    monkeypatch.setattr(lm, "forward", noted)
    return fed


def test_a_beginning_that_a_slot_holds_is_not_read_again(tiny_pair, monkeypatch):
    fed = fed_tokens(tiny_pair.slm, monkeypatch)
    batched, start = Reader(tiny_pair.slm, 3), list(range(100, 130))
    texts = [[*start, 7, 8], [*start, 7, 9, 10], start, [1, 2, 3], [*start[:9], 5]]
    for text, slots, n_read in (
        (texts[0], [0], 32),
        (texts[1], [1], 2),  # all but the last two of the text in slot 0
        (texts[2], [2], 1),  # the last token is always read: what comes after it is asked for
    ):
        found = batched.read([text], slots)
        assert fed.pop() == [n_read] and found.n_fed == [len(text)]
        close(found.logits[0], alone(tiny_pair.slm, text)[0][-1])
    for slot in range(3):
        batched.truncate(slot, 0)
    found = batched.read([texts[3], texts[4], texts[1]], [1, 2, 0])
    # Three tokens are not worth a copy; and what slot 1 held is there until the pass writes over it.
    assert fed.pop() == [3, 1, 1] and found.n_fed == [3, 10, 33]
    for row, text in enumerate((texts[3], texts[4], texts[1])):
        close(found.logits[row], alone(tiny_pair.slm, text)[0][-1])


def test_texts_that_come_in_the_same_pass_do_not_take_from_each_other(tiny_pair, monkeypatch):
    """The keys of the first are not there yet when the second one looks."""
    fed = fed_tokens(tiny_pair.slm, monkeypatch)
    batched, text = Reader(tiny_pair.slm, 2), list(range(50, 70))
    found = batched.read([text, [*text, 3]], [0, 1])
    assert fed == [[20, 21]]
    close(found.logits[1], alone(tiny_pair.slm, [*text, 3])[0][-1])


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.lists(st.integers(1, 2), min_size=1)), max_size=12))
def test_shared_beginnings_change_no_number(tiny_pair, turns):
    """Texts of two tokens begin alike more often than not."""
    batched, texts = Reader(tiny_pair.llm, 3), [[], [], []]
    for slot, begins_anew, more in turns:
        if begins_anew:
            batched.truncate(slot, 0)
            texts[slot] = []
        texts[slot] = texts[slot] + more
        found = batched.read([texts[slot]], [slot])
        close(found.logits[0], alone(tiny_pair.llm, texts[slot])[0][-1])


def test_without_a_fused_pass_every_text_is_read(monkeypatch):
    lm = LanguageModel(tiny_qwen2(1), 1536, fused=False)
    fed = fed_tokens(lm, monkeypatch)
    batched = Reader(lm, 2)
    for slot in range(2):
        batched.read([[5, 6, 7, 8, 9, 10]], [slot])
    assert fed == [[6], [6]]
