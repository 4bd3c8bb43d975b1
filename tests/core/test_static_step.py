"""The step that a GPU replays, on a CPU: its arithmetic, its caches and what happens where it cannot be had.

A graph of CUDA runs the captured operations again on the same memory. `by_hand` does that with the same computation, so
all but `cuda_graph` itself is tested here.
"""

from __future__ import annotations

import dataclasses
import gc
import weakref

import pytest
import torch

from citer_core.errors import PairError
from citer_core.models import language_model
from citer_core.models.language_model import N_BEFORE_CAPTURE, LanguageModel
from citer_core.models.pair import load_pair
from citer_core.routing.decode import decode
from citer_core.routing.routers.max_probability import MaxProbabilityRouter
from citer_core.types import DecodeSettings, PairOptions
from tests.core.conftest import tiny_llama, tiny_qwen2


class ByHand:
    """Computes again into the tensors of the first time, as a replay does; counts."""

    def __init__(self):
        self.n_captured = self.n_replayed = 0

    def __call__(self, compute):
        self.n_captured += 1
        outputs = compute()

        def replay():
            self.n_replayed += 1
            for old, new in zip(outputs, compute(), strict=True):
                old.copy_(new)

        return replay, outputs


def all_logits(lm, ids, chunks):
    cache = lm.new_cache()
    return torch.cat([lm.forward(chunk, cache)[0] for chunk in ids.split(chunks)])


@pytest.mark.parametrize("make", [lambda: tiny_qwen2(1), lambda: tiny_llama(2, num_key_value_heads=1)])
def test_replayed_steps_are_the_computed_ones_also_where_the_cache_grows(make):
    by_hand = ByHand()
    model = make()
    plain, replayed = LanguageModel(model, 1536), LanguageModel(model, 1536, capture=by_hand)
    assert replayed.is_replayed and not plain.is_replayed
    ids = torch.randint(1, 1536, (280,), generator=torch.Generator().manual_seed(0))
    chunks = [240, *[1] * 10, 3, *[1] * 27]  # past position 256, where the cache's first room ends
    before = by_hand.n_captured
    ours, theirs = (all_logits(lm, ids, chunks) for lm in (replayed, plain))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    assert by_hand.n_captured - before == 2
    assert by_hand.n_replayed >= 37 - N_BEFORE_CAPTURE


def test_routed_runs_write_the_same_tokens_side_by_side_and_after_a_rewind(tiny_pair):
    by_hand = ByHand()
    models = {
        which: LanguageModel(getattr(tiny_pair, which).model, tiny_pair.vocab_size, capture=by_hand)
        for which in ("slm", "llm")
    }
    replayed = dataclasses.replace(tiny_pair, **models, eos_ids=frozenset())
    plain = dataclasses.replace(tiny_pair, eos_ids=frozenset())
    settings = DecodeSettings(threshold=0.01, max_new_tokens=40)
    prompts = ([5, 6, 7], [900, 3] * 10)
    expected = [[e.token_id for e in decode(plain, MaxProbabilityRouter(), prompt, settings)] for prompt in prompts]
    runs = [decode(replayed, MaxProbabilityRouter(), prompt, settings) for prompt in prompts]
    both = [tuple(event.token_id for event in events) for events in zip(*runs, strict=True)]  # one step each, in turn
    assert both == list(zip(*expected, strict=True))
    lm = models["slm"]
    cache = lm.new_cache()
    ids = torch.arange(1, 31)
    whole = [lm.forward(chunk, cache)[0] for chunk in ids.split([10, *[1] * 20])]
    cache.rewind(20)
    again = [lm.forward(chunk, cache)[0] for chunk in ids[20:].split(1)]
    assert all(torch.equal(one, other) for one, other in zip(whole[-10:], again, strict=True))
    assert by_hand.n_replayed > 60


def test_a_step_keeps_what_a_graph_reads_and_goes_with_its_cache(tiny_pair):
    captured = []

    def graph_like(compute):
        """Holds no Python object of what it captured, as a graph of CUDA does not; so others may take that memory."""
        captured.append(weakref.ref(compute))
        outputs, weak = compute(), captured[-1]

        def replay():
            for old, new in zip(outputs, weak()(), strict=True):
                old.copy_(new)

        return replay, outputs

    lm = LanguageModel(tiny_pair.slm.model, tiny_pair.vocab_size, capture=graph_like)
    assert lm.is_replayed
    cache = lm.new_cache()
    for chunk in torch.arange(1, 20).split([9, *[1] * 10]):
        lm.forward(chunk, cache)
    gc.collect()
    assert captured[-1]() is not None, "what the graph reads was given back"
    step = weakref.ref(lm._steps[cache])
    gone = weakref.ref(cache)
    del cache
    gc.collect()
    assert gone() is None and step() is None and captured[-1]() is None


def test_what_cannot_be_captured_or_disagrees_is_computed(tiny_pair, monkeypatch, caplog):
    model, n = tiny_pair.slm.model, tiny_pair.vocab_size
    ids = torch.arange(1, 20)

    def fails(_compute):
        raise RuntimeError("operation not permitted when stream is capturing")

    lm = LanguageModel(model, n, capture=fails)
    assert not lm.is_replayed and "not permitted" in caplog.text
    assert torch.equal(all_logits(lm, ids, [9, *[1] * 10]), all_logits(LanguageModel(model, n), ids, [9, *[1] * 10]))

    def forgets(compute):
        return lambda: None, compute()

    lm = LanguageModel(model, n, capture=forgets)
    assert lm.is_fused and not lm.is_replayed and "disagree" in caplog.text
    monkeypatch.setattr(language_model.FusedDecoder, "supports", lambda _model: False)
    assert not LanguageModel(model, n, capture=ByHand()).is_replayed


def test_graphs_need_a_gpu_that_is_there():
    with pytest.raises(PairError, match="--cuda-graphs needs an NVIDIA GPU"):
        load_pair(options=PairOptions(cuda_graphs=True))


@pytest.mark.gpu
def test_graphs_on_a_gpu_write_the_tokens_of_the_plain_pass():
    plain, graphs = (load_pair(device="cuda", options=PairOptions(cuda_graphs=on)) for on in (False, True))
    assert graphs.slm.is_replayed and graphs.llm.is_replayed
    prompt = plain.encode("Question: How much is 3 times 14?\nSolution:")
    for threshold in (0.0, 0.9, 1.0):
        settings = DecodeSettings(threshold=threshold, max_new_tokens=60)
        ours, theirs = (
            [e.token_id for e in decode(pair, MaxProbabilityRouter(), prompt, settings)] for pair in (graphs, plain)
        )
        assert ours == theirs
