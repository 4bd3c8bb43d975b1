"""Pairs, the fused pass and weight files."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from transformers import GenerationConfig, PreTrainedTokenizerFast

from citer_core.assets import ASSETS
from citer_core.errors import ModelFileError, PairError
from citer_core.models import fused_decoder
from citer_core.models.batch import batch_completions
from citer_core.models.fused_decoder import FusedDecoder
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair, load_pair
from tests.core.conftest import LLAMA3_ROPE, tiny_llama, tiny_mistral, tiny_qwen2
from tests.sampling import sampled

MAKERS = {
    "qwen2": lambda: tiny_qwen2(1),
    "qwen2-mha-untied": lambda: tiny_qwen2(1, num_key_value_heads=4, tie_word_embeddings=False),
    "llama": lambda: tiny_llama(2),
    "llama3-rope-mqa": lambda: tiny_llama(
        2, num_key_value_heads=1, rope_parameters=LLAMA3_ROPE, max_position_embeddings=1024
    ),
    "mistral": tiny_mistral,
}


@pytest.mark.parametrize(("name", "dtype"), sampled(product(MAKERS, [torch.float32, torch.bfloat16]), 3))
def test_fused_pass_is_transformers_pass(name, dtype):
    """In chunks of any size, past the first growth of the cache, for logits and hidden state alike."""
    make = MAKERS[name]
    model = make().to(dtype)
    ids = torch.randint(1, 1536, (300,), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        theirs = model(input_ids=ids[None], use_cache=False, output_hidden_states=True)
        lm = LanguageModel(model, 1536)
        assert lm.is_fused
        cache, logits, hidden = lm.new_cache(), [], []
        for chunk in ids.split([60, 1, 1, 7, 131, 1, 99]):
            chunk_logits, chunk_hidden = lm.forward([chunk.tolist()], cache, n_last=[len(chunk)])
            logits.append(chunk_logits)
            hidden.append(chunk_hidden)
        exact = make()(input_ids=ids[None], use_cache=False, output_hidden_states=True)
    for ours, reference, truth in (
        (torch.cat(logits), theirs.logits[0], exact.logits[0]),
        (torch.cat(hidden), theirs.hidden_states[-1][0], exact.hidden_states[-1][0]),
    ):
        # In bfloat16 both round, each in its own places: ours may be as far from the float32 truth as theirs is.
        rounding = (reference - truth).abs().max() if dtype == torch.bfloat16 else 1e-4 * truth.abs().max()
        assert float((ours - truth).abs().max()) < 1.5 * float(rounding)


def test_fused_pass_that_disagrees_is_dropped(monkeypatch):
    honest = FusedDecoder.hidden_states
    monkeypatch.setattr(FusedDecoder, "hidden_states", lambda *args, **options: honest(*args, **options) * 1.5)
    assert not LanguageModel(tiny_qwen2(1), 1536).is_fused


def test_fusing_holds_no_weight_twice_and_leaves_the_model_as_it_was():
    model = tiny_qwen2(1)
    ids = torch.randint(1, 1536, (1, 9))
    with torch.inference_mode():
        before = model(input_ids=ids).logits
        fused = FusedDecoder(model, 1536)
        assert torch.equal(before, model(input_ids=ids).logits)
    block = fused._blocks[0]
    attention = model.model.layers[0].self_attn
    assert attention.q_proj.weight.data_ptr() == block.qkv.data_ptr()
    assert attention.k_proj.weight.untyped_storage().data_ptr() == block.qkv.untyped_storage().data_ptr()


def test_only_a_small_head_is_held_twice(monkeypatch):
    """1,536 tokens of 32 numbers; the logits are the same, and nothing is held for a model that does not need it."""
    ids = torch.randint(1, 1536, (9,), generator=torch.Generator().manual_seed(5))
    logits = []
    for most, is_copied in ((1536 * 32 * 4, True), (1536 * 32 * 4 - 1, False)):
        monkeypatch.setattr(fused_decoder, "MOST_COPIED_HEAD", most)
        model = tiny_qwen2(1)
        lm = LanguageModel(model, 1536)
        weight = model.get_output_embeddings().weight
        matrix = lm._fused._head_matrix
        assert (matrix.data_ptr() != weight.data_ptr()) == matrix.is_contiguous() == is_copied
        logits.append(lm.forward([ids.tolist()], lm.new_cache())[0])
    torch.testing.assert_close(*logits)
    assert LanguageModel(tiny_qwen2(1), 1536, fused=False)._fused is None


def test_batched_completions_are_those_of_single_prompts(tiny_pair):
    prompts = [[5, 6, 7], [900, 3], [44] * 12, [8]]
    found = dict(batch_completions(tiny_pair.slm, prompts, eos_ids=frozenset({0, 17}), max_new_tokens=20, batch_size=3))
    assert sorted(found) == [0, 1, 2, 3]
    for i, prompt in enumerate(prompts):
        with torch.inference_mode():
            output = tiny_pair.slm.model.generate(
                torch.tensor([prompt]),
                generation_config=GenerationConfig(
                    max_new_tokens=20, do_sample=False, eos_token_id=[0, 17], pad_token_id=0
                ),
            )
        assert found[i] == output[0, len(prompt) :].tolist()


def test_a_pair_must_share_one_vocabulary(tmp_path, tokenizer):
    small = tmp_path / "small"
    tiny_qwen2(1).save_pretrained(small)
    tokenizer.save_pretrained(small)
    other = tmp_path / "other"
    tiny_qwen2(2).save_pretrained(other)
    changed = PreTrainedTokenizerFast.from_pretrained(ASSETS / "models" / "tokenizer")
    changed.add_tokens(["entirely-new"])
    changed.save_pretrained(other)
    with pytest.raises(PairError, match="1 tokens differ, 'entirely-new'"):
        load_pair(f"{small},{other}")
    assert load_pair(f"{small},{small}").vocab_size == len(tokenizer)


def test_a_head_smaller_than_the_vocabulary_is_refused_and_a_padded_one_is_cut(tokenizer):
    with pytest.raises(PairError, match="embeds 1000 tokens"):
        ModelPair.assemble("bad", tiny_qwen2(1, vocab_size=1000), tiny_qwen2(2), tokenizer)
    pair = ModelPair.assemble("padded", tiny_qwen2(1, vocab_size=1600), tiny_qwen2(2), tokenizer)
    logits, _ = pair.slm.forward([[1, 2]], pair.slm.new_cache())
    assert logits.shape[-1] == len(tokenizer)


def test_a_folder_without_a_tokenizer_says_what_belongs_there(tmp_path, tokenizer):
    whole, bare = tmp_path / "whole", tmp_path / "bare"
    for folder in (whole, bare):
        tiny_qwen2(1).save_pretrained(folder)
    tokenizer.save_pretrained(whole)
    for pair in (f"{bare},{bare}", f"{whole},{bare}"):
        with pytest.raises(ModelFileError, match=r"no tokenizer in bare/: put the model's tokenizer\.json"):
            load_pair(pair)


def test_unknown_pairs_and_dtypes_say_what_is_allowed(tmp_path):
    with pytest.raises(PairError, match="embedded"):
        load_pair("no-such-pair")
    with pytest.raises(PairError, match="float32, bfloat16"):
        load_pair(dtype="int3")
    with pytest.raises(ModelFileError):
        load_pair(f"{tmp_path / 'a'},{tmp_path / 'b'}")


@pytest.mark.parametrize("device", ["cuda:63", "nonsense"])
def test_a_device_that_is_not_there_is_a_clear_error(device):
    with pytest.raises(PairError, match=f'"{device}" cannot be used here'):
        load_pair(device=device)


def test_every_end_token_of_both_models_counts(tokenizer):
    slm, llm = tiny_qwen2(1), tiny_qwen2(2)
    llm.generation_config.eos_token_id = [0, 7]
    assert ModelPair.assemble("ends", slm, llm, tokenizer).eos_ids == {0, 7}


def test_spec_counts_what_is_there(tiny_pair):
    slm, llm = tiny_pair.info.slm, tiny_pair.info.llm
    assert (slm.n_layers, slm.n_heads, slm.n_kv_heads, slm.head_dim, slm.tied_embeddings) == (2, 4, 2, 8, True)
    assert (llm.tied_embeddings, llm.bytes_per_element) == (False, 4)
    assert llm.n_params == sum(p.numel() for p in tiny_pair.llm.model.parameters())
    assert llm.weight_bytes == 4 * (llm.n_params - 1536 * 48)
    assert slm.kv_bytes_per_token == 2 * 2 * 2 * 8 * 4
