"""Replayed passes on a CPU: their arithmetic, their padding, their caches, and what happens where they cannot be had.

A graph of CUDA runs captured operations again on the same memory; here the computation is called again on the same
memory, so all but the capture itself is tested. Runs through them: `test_replayed.py`.
"""

from __future__ import annotations

import gc
import threading
import weakref
from contextlib import ExitStack

import pytest
import torch

from citer_core.errors import PairError
from citer_core.models import captured, language_model, seat
from citer_core.models.captured import OwnStream, call_again
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import load_pair
from citer_core.models.seat import MOST_IDLE, MOST_READOUTS, N_NUMBERS
from citer_core.types import PairOptions
from tests.core.conftest import tiny_llama, tiny_mistral, tiny_qwen2
from tests.sampling import sampled

ZEROS = [0] * N_NUMBERS
MODELS = {
    "qwen2": lambda: tiny_qwen2(1),
    "one key head": lambda: tiny_llama(2, num_key_value_heads=1),
    "mistral": tiny_mistral,
}
# Every width from 1 to 40, in an order in which narrow passes follow wide ones, and past the first room of 256.
WIDTHS = [n for pair in zip(range(1, 21), range(40, 20, -1), strict=True) for n in pair]


def nothing():
    pass


def random_ids(n, seed=0):
    return torch.randint(1, 1536, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def cached(cache, n):
    """[layers, n, 2 * H_kv, D]."""
    return torch.stack([layer.rows[:n] for layer in cache.layers()])


@pytest.mark.parametrize("name", sampled(MODELS, 2))
def test_passes_of_any_width_are_the_computed_ones(name):
    """Logits and states after each, and at the end the cache: nothing else is in it, the padding neither."""
    lm = LanguageModel(MODELS[name](), 1536, graphs=True)
    assert lm.is_replayed
    ids = random_ids(5 + sum(WIDTHS))
    cache = lm.new_cache()
    with lm.seat(len(ids) + 9) as seat:
        seat.read(ids[:5])
        lm.forward([ids[:5]], cache)
        for n in WIDTHS:
            new = ids[seat.n_read : seat.n_read + n]
            seat.step(new, nothing, ZEROS)
            logits, hidden = lm.forward([new], cache)
            torch.testing.assert_close(seat.logits, logits, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(seat.hidden, hidden, rtol=1e-4, atol=1e-4)
        assert seat.n_read == len(ids)
        torch.testing.assert_close(cached(seat._cache, len(ids)), cached(cache, len(ids)), rtol=1e-4, atol=1e-4)
        behind = cached(seat._cache, seat.capacity)[:, len(ids) :]
        assert behind.numel() and not behind.any()


def test_in_bfloat16_they_differ_by_its_rounding():
    """A wrong pass is off by the spread of the logits; the rounding of two orders of the same sums is far from that."""
    model = tiny_qwen2(1).bfloat16()
    lm = LanguageModel(model, 1536, graphs=True)
    assert lm.is_replayed
    ids, cache = random_ids(300), lm.new_cache()
    with lm.seat(300) as seat:
        for n in [20, 1, 1, 3, 16, 11, 1, 30, 5, 1]:
            new = ids[seat.n_read : seat.n_read + n]
            seat.step(new, nothing, ZEROS)
            logits, _ = lm.forward([new], cache)
            assert (seat.logits - logits).float().square().mean().sqrt() < 0.05 * logits.float().std()


def test_the_last_position_of_the_room_is_read_also_by_a_padded_pass():
    lm = LanguageModel(tiny_qwen2(1), 1536, graphs=True)
    ids = random_ids(256)
    for last in (1, 3, 9):  # a padded pass has positions behind the end of the memory
        cache = lm.new_cache()
        with lm.seat(256) as seat:
            assert seat.capacity == 256
            seat.read(ids[:-last])
            seat.step(ids[-last:], nothing, ZEROS)
            theirs = lm.forward([ids], cache)[0]
            torch.testing.assert_close(seat.logits, theirs, rtol=1e-4, atol=1e-4)
            with pytest.raises(AssertionError, match="no room for 1 more"):
                seat.step([1], nothing, ZEROS)


@torch.inference_mode()
def test_padding_that_is_no_number_does_no_harm():
    """Its keys and values lie where no attention looks, or a NaN times a weight of zero would spoil the others."""
    lm = LanguageModel(tiny_qwen2(1), 1536, graphs=True)
    ids, expected = random_ids(40), []
    for spoilt in (False, True):
        with lm.seat(40) as seat:
            seat.read(ids[:10])
            if spoilt:
                for layer in seat._cache.layers():
                    layer.rows[seat.capacity :].fill_(torch.nan)
            for first, last in ((10, 13), (13, 14), (14, 23)):
                seat.step(ids[first:last], nothing, ZEROS)
                expected.append(seat.logits.clone())
    assert torch.equal(torch.cat(expected[:3]), torch.cat(expected[3:]))


def test_a_seat_is_empty_again_whatever_was_in_it():
    lm = LanguageModel(tiny_qwen2(1), 1536, graphs=True)
    ids = random_ids(30)

    def answers():
        with lm.seat(200) as seat:
            seat.read(ids[:20])
            seat.step(ids[20:27], nothing, ZEROS)
            return seat, seat.logits.clone()

    first, expected = answers()
    assert first.capacity == 256
    with torch.inference_mode():
        for layer in first._cache.layers():
            layer.rows.fill_(torch.nan)  # as a run whose weights are damaged leaves it
    second, found = answers()
    assert second is first and torch.equal(found, expected)


def test_a_graph_is_captured_once_for_each_width_and_room(monkeypatch):
    n_captured = []

    def counting(compute):
        n_captured.append(compute)
        return call_again(compute)

    monkeypatch.setattr(seat, "capture_for", lambda device: counting)
    lm = LanguageModel(tiny_qwen2(1), 1536, graphs=True)
    del n_captured[:]
    ids = random_ids(600)
    for _ in range(3):
        with lm.seat(600) as place:
            readout = place.readout("a", lambda: lambda: None)
            place.read(ids[:5])
            for n in [1, 2, 3, 4, 7, 1, 16, 10] * 13:
                place.step(ids[place.n_read : place.n_read + n], readout, ZEROS)
    assert place.n_read == 577
    assert len(n_captured) == 5 * 3  # widths 1 to 16 at 256, 512 and 1,024


def test_seats_are_lent_to_one_run_each_and_few_are_kept():
    lm = LanguageModel(tiny_qwen2(1), 1536, graphs=True)
    with lm.seat(300) as three, lm.seat(100) as one, lm.seat(100) as two:
        assert one is not two and three.capacity == 512
    with lm.seat(300) as again:
        assert again is three
        with lm.seat(10) as other:
            assert other in (one, two)
    with pytest.raises(ValueError, match="broken"), lm.seat(300) as broken:
        raise ValueError("broken")
    with lm.seat(300) as fresh:
        assert fresh is not broken
    with ExitStack() as held:
        for _ in range(MOST_IDLE + 1):
            held.enter_context(lm.seat(100))
    assert len(lm._seats._idle) == MOST_IDLE


def test_threads_are_lent_different_seats_and_read_their_own_text():
    lm = LanguageModel(tiny_qwen2(1), 1536, graphs=True)
    texts = [random_ids(40, seed) for seed in range(4)]
    together = threading.Barrier(4)
    found = {}

    @torch.inference_mode()
    def work(number):
        with lm.seat(40) as seat:
            together.wait(timeout=30)
            for n in [10, *[1] * 20, 7, 3]:
                seat.step(texts[number][seat.n_read : seat.n_read + n], nothing, ZEROS)
            found[number] = seat.logits.clone()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    for number, text in enumerate(texts):
        theirs = lm.forward([text], lm.new_cache())[0]
        torch.testing.assert_close(found[number], theirs, rtol=1e-4, atol=1e-4)


def test_the_readouts_that_are_not_used_go_and_all_graphs_with_the_first_of_them():
    """No graph outlives another that was captured on its stream: their products share a workspace."""
    lm = LanguageModel(tiny_qwen2(1), 1536, graphs=True)
    with lm.seat(100) as seat:
        for key in range(MOST_READOUTS + 1):
            readout = seat.readout(key, lambda: lambda: None)
            seat.step([5], readout, ZEROS)
            seat.step([5], seat.readout(0, lambda: pytest.fail("the one in use was dropped")), ZEROS)
        assert len(seat._graphs) == 2, "those of the last readout and of the one in use, captured again"
        gone = []
        seat.readout(1, lambda: gone.append(1) or (lambda: None))
        assert gone


def test_streams_are_lent_again_and_never_to_two_at_once(monkeypatch):
    """A stream is used while a graph on it is there; what a library keeps for each stream it keeps for good."""
    made = []
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: made.append(device) or object())
    device = torch.device("cuda", 7)
    own = [OwnStream(device) for _ in range(3)]
    assert len({id(one.stream) for one in own}) == len(made) == 3
    graph = captured._Graph(None, device, nothing, own.pop())
    del own[:]
    again = [OwnStream(device) for _ in range(3)]
    assert len(made) == 4 and graph.own.stream not in [one.stream for one in again]


def test_everything_goes_with_the_model_without_a_collection():
    """So that a pair's memory is free when the next one is loaded."""
    gc.collect()
    gc.disable()
    try:
        lm = LanguageModel(tiny_qwen2(1), 1536, graphs=True)
        with lm.seat(100) as place:
            place.step([5, 6, 7], place.readout("a", lambda: lambda: None), ZEROS)
        seat_gone, rows_gone = weakref.ref(place), weakref.ref(place._cache.layers()[0].rows)
        del place, lm
        assert seat_gone() is None and rows_gone() is None
    finally:
        gc.enable()


def test_what_cannot_be_captured_is_computed_and_what_disagrees_is_not_replayed(monkeypatch, caplog):
    model, ids = tiny_qwen2(1), random_ids(30)

    def fails(_compute):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(seat, "capture_for", lambda device: fails)
    lm = LanguageModel(model, 1536, graphs=True)
    assert lm.is_replayed and "not permitted" in caplog.text
    with lm.seat(30) as place:
        place.read(ids[:20])
        place.step(ids[20:], nothing, ZEROS)
        theirs = lm.forward([ids], lm.new_cache())[0]
        torch.testing.assert_close(place.logits, theirs, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(seat, "capture_for", lambda device: lambda compute: nothing)
    lm = LanguageModel(model, 1536, graphs=True)
    assert lm.is_fused and not lm.is_replayed and "disagree" in caplog.text
    monkeypatch.undo()
    monkeypatch.setattr(language_model.FusedDecoder, "supports", lambda _model: False)
    lm = LanguageModel(model, 1536, graphs=True)
    with lm.seat(30) as place:
        assert place is None and not lm.is_replayed


def test_graphs_need_a_gpu_that_is_there():
    with pytest.raises(PairError, match="--cuda-graphs needs an NVIDIA GPU"):
        load_pair(options=PairOptions(cuda_graphs=True))
