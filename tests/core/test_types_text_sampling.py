"""Settings and the decision at their edges, text deltas, and sampling against the distribution itself."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from citer_core.routing.sampling import choose_token, uniform_at
from citer_core.text import TextStream
from citer_core.types import DecodeSettings, prefers_llm
from tests.sampling import sampled


@pytest.mark.parametrize(
    ("confidence", "threshold", "llm"),
    [
        (0.0, 0.0, False),
        (1.0, 1.0, True),
        (0.5, 0.5, False),
        (0.4999, 0.5, True),
        (0.99999, 1.0, True),
        (1.0, 0.999, False),
    ],
)
def test_the_decision(confidence, threshold, llm):
    assert prefers_llm(confidence, threshold) is llm


def deltas(tokenizer, ids):
    stream = TextStream(tokenizer)
    return [stream.push(i) for i in ids] + [stream.flush()]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 1535), max_size=40))
def test_deltas_of_any_ids_join_to_the_full_decode(tokenizer, ids):
    whole = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert "".join(deltas(tokenizer, ids)) == whole


WORDS = ["\u2581", "\u2581\u2581", "\u2581the", "\u2581cat", "s", ",", "'t", "\n", "\u3042", "<think>"]


def pieces_tokenizer(decoder):
    """As Llama 2 and Gemma have: pieces with their space in front, and single bytes for what no piece covers."""
    vocab = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *WORDS]
    model = models.BPE(
        vocab={token: i for i, token in enumerate(vocab)}, merges=[], unk_token="<unk>", byte_fallback=True
    )
    backend = Tokenizer(model)
    backend.decoder = decoder
    backend.add_special_tokens(["<s>", "</s>", "<|end|>"])
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


FALLBACK = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
PIECES = {
    "llama": pieces_tokenizer(decoders.Sequence([*FALLBACK, decoders.Strip(" ", 1, 0)])),
    "gemma": pieces_tokenizer(decoders.Sequence(FALLBACK)),
    "metaspace": pieces_tokenizer(decoders.Metaspace()),
    "wordpiece": pieces_tokenizer(decoders.WordPiece()),
}


@pytest.mark.parametrize("name", PIECES)
@given(ids=st.lists(st.sampled_from([0, 1, 2, *range(60, 280, 3), *range(259, 270)]), max_size=8))
@settings(max_examples=25, deadline=None)
def test_deltas_of_pieces_and_single_bytes_join_to_the_full_decode(name, ids):
    """A space was lost behind a special token, and a byte that a later one spoils was written as if it were whole."""
    tokenizer = PIECES[name]
    stream = TextStream(tokenizer)
    parts = [stream.push(token_id) for token_id in ids if token_id < len(tokenizer)]
    whole = [token_id for token_id in ids if token_id < len(tokenizer)]
    assert "".join(parts) + stream.flush() == tokenizer.backend_tokenizer.decode(whole, skip_special_tokens=True)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=30))
def test_any_text_comes_back_and_no_delta_holds_a_broken_character(tokenizer, text):
    ids = tokenizer.encode(text)
    pieces = deltas(tokenizer, ids)
    assert "".join(pieces) == text
    if "\N{REPLACEMENT CHARACTER}" not in text:
        assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)


def test_a_character_arrives_whole(tokenizer):
    ids = tokenizer.encode("\N{SMILING FACE WITH OPEN MOUTH}")
    assert len(ids) > 1
    assert deltas(tokenizer, ids) == [""] * (len(ids) - 1) + ["\N{SMILING FACE WITH OPEN MOUTH}", ""]


LOGITS = torch.tensor([2.0, 0.0, 1.0, -1.0, 1.5])


def frequencies(n=4000, **sampling):
    counts = Counter(choose_token(LOGITS, DecodeSettings(seed=s, **sampling), 0) for s in range(n))
    return torch.tensor([counts[i] / n for i in range(len(LOGITS))])


@pytest.mark.parametrize("temperature", sampled([0.5, 1.0, 2.0], 3))
def test_sampling_follows_the_tempered_distribution(temperature):
    expected = torch.softmax(LOGITS / temperature, -1)
    assert float((frequencies(temperature=temperature) - expected).abs().max()) < 4 * math.sqrt(0.25 / 4000)


def test_the_nucleus_is_the_shortest_prefix_that_holds_top_p():
    probabilities = torch.softmax(LOGITS, -1)  # best first: 0, 4, 2, 1, 3
    just_two = float(probabilities[0] + probabilities[4])
    found = frequencies(temperature=1.0, top_p=just_two - 1e-6)
    assert set(found.nonzero().flatten().tolist()) == {0, 4}
    assert float(found[0]) == pytest.approx(float(probabilities[0]) / just_two, abs=0.03)
    assert set(frequencies(400, temperature=1.0, top_p=just_two + 1e-6).nonzero().flatten().tolist()) == {0, 4, 2}
    assert set(frequencies(400, temperature=1.0, top_p=1e-9).nonzero().flatten().tolist()) == {0}


def test_greedy_takes_the_first_of_equals_and_ignores_the_seed():
    tied = torch.tensor([1.0, 3.0, 3.0])
    assert {choose_token(tied, DecodeSettings(seed=s), 0) for s in range(5)} == {1}


def test_the_number_of_a_position_is_fixed_forever():
    """Recorded sampled runs are replayed with it, so it may not change between versions or platforms."""
    assert [round(uniform_at(0, i), 6) for i in range(3)] == [0.652605, 0.64738, 0.413221]
    assert uniform_at(1, 0) != uniform_at(0, 0)
