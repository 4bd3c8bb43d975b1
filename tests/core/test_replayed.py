"""Runs whose passes are replayed write what the computed ones write: tokens, scores, candidates and work.

Every router, sampling and fork against the rule itself is in `test_decoder.py`.

On a CPU a pass is called again where a GPU replays a graph; what is particular to a GPU is in `test_cuda_graphs.py`.
"""

from __future__ import annotations

import dataclasses
import gc

import pytest
import torch

from citer_core.fork import Fork
from citer_core.models import seat as seats_module
from citer_core.models.captured import call_again
from citer_core.models.fused_decoder import FusedDecoder
from citer_core.models.pair import ModelPair
from citer_core.models.seat import MOST_IDLE, Seat
from citer_core.models.transfer import as_bits
from citer_core.routing import replayed as module
from citer_core.routing.decode import decode
from citer_core.routing.replayed import TokenReadout
from citer_core.routing.routers import stored_kinds, training_free_routers
from citer_core.routing.routers.training_free import (
    BidirectionalEntropyRouter,
    EntropyRouter,
    MaxProbabilityRouter,
)
from citer_core.types import DecodeSettings
from tests.core.conftest import tiny_llama, tiny_qwen2
from tests.core.examples import decoded, random_prompts, uncached
from tests.sampling import few_or_all
from tests.scripted_router import ScriptedRouter

SAMPLED = {"temperature": 0.9, "top_p": 0.8, "seed": 4}
NO_SECONDS = dict.fromkeys(("slm_s", "router_s", "llm_s"), 0.0)


@pytest.fixture(scope="module")
def endless(tiny_pair):
    return dataclasses.replace(tiny_pair, eos_ids=frozenset())


@pytest.fixture(scope="module")
def replayed(endless):
    return endless.with_graphs()


def exact(event):
    """What must be the same; what is rounded differently by another order of the same sums is left out."""
    tops = [tuple(c.token_id for c in top) for top in (event.slm_top, event.llm_top)]
    return dataclasses.replace(event, **NO_SECONDS, slm_confidence=0.0, slm_top=(), llm_top=()), tops


def assert_same(ours, theirs):
    (events, reason), (expected, expected_reason) = ours, theirs
    assert list(map(exact, events)) == list(map(exact, expected))
    assert reason == expected_reason
    for one, other in zip(events, expected, strict=True):
        assert one.slm_confidence == pytest.approx(other.slm_confidence, abs=2e-5)
        for ours_top, theirs_top in ((one.slm_top, other.slm_top), (one.llm_top, other.llm_top)):
            assert [c.text for c in ours_top] == [c.text for c in theirs_top]
            found, wanted = ([c.probability for c in top] for top in (ours_top, theirs_top))
            assert found == pytest.approx(wanted, abs=2e-5)


def new_routers(pair):
    """One of each kind: those without training, and the stored architectures with any weights."""
    torch.manual_seed(0)
    routers = dict(training_free_routers())
    for kind, architecture in stored_kinds().items():
        card = {"name": kind, "label": kind, "hidden_size": pair.hidden_size}
        routers[kind] = architecture(architecture.build(pair.hidden_size), card)
    return routers


def test_all_routers_of_the_project_become_part_of_the_pass(endless):
    assert all(router.is_static for router in new_routers(endless).values())


@pytest.fixture(scope="module")
def roomy(tokenizer):
    """A pair that reads long texts, whose widest passes are of 40 tokens.

    In double precision: after 800 tokens what float32 rounds differently here and there depends on the processor.
    """
    room = {"max_position_embeddings": 2048}
    pair = ModelPair.assemble("roomy", tiny_qwen2(1, **room).double(), tiny_llama(2, **room).double(), tokenizer)
    return dataclasses.replace(pair, eos_ids=frozenset())


@pytest.mark.parametrize("widths", few_or_all((1, 2, 3, 7, 16, 17, 40, 200), range(1, 41)), ids=len)
def test_hand_offs_of_every_width(roomy, widths):
    """The LLM catches up with so many tokens, of which it wrote one: all widths, past a room and another."""
    prompt, pattern = random_prompts(1)[0], "".join("S" * (n - 1) + "L" for n in widths)
    router = ScriptedRouter([0.1 if c == "L" else 0.9 for c in pattern])
    found = decoded(roomy.with_graphs(), router, prompt, DecodeSettings(0.5, max_new_tokens=len(pattern)))
    assert [e.llm_tokens_fed for e in found[0] if e.source == "llm"] == [len(prompt), *widths[1:]]
    ids = [e.token_id for e in found[0]]
    assert ids == uncached(roomy, prompt, pattern, len(ids), ids)


def test_ends_of_text_the_end_of_the_context_and_a_stop(tiny_pair):
    pair = tiny_pair.with_graphs()
    router, settings = EntropyRouter(), DecodeSettings(threshold=0.3, max_new_tokens=60, temperature=1.5, seed=2)
    n_ended = 0
    for number, prompt in enumerate(random_prompts(4)):
        seeded = dataclasses.replace(settings, seed=number)
        some = dataclasses.replace(tiny_pair, eos_ids=frozenset(range(0, 1536, 40)))
        expected = decoded(some, router, prompt, seeded)
        n_ended += expected[1] == "eos"
        assert_same(decoded(dataclasses.replace(pair, eos_ids=some.eos_ids), router, prompt, seeded), expected)
    assert n_ended > 0
    long = (random_prompts(20, longest=60, seed=9)[3] * 60)[:495]
    for n_prompt in (495, 511):
        expected = decoded(tiny_pair, router, long[:n_prompt], settings)
        found = decoded(pair, router, long[:n_prompt], settings)
        assert_same(found, expected)
    for n_steps in (0, 1, 5):
        asked = iter([False] * n_steps + [True] * 2)
        events, reason = decoded(pair, router, [5, 6], settings, is_cancelled=lambda asked=asked: next(asked))
        assert (len(events), reason) == (n_steps, "cancelled")


def test_runs_side_by_side_and_runs_that_are_left(endless):
    pair, settings = endless.with_graphs(), DecodeSettings(threshold=0.3, max_new_tokens=30)
    router, prompts = EntropyRouter(), random_prompts(4)
    expected = [decoded(endless, router, prompt, settings)[0] for prompt in prompts]
    for _ in range(2):
        left = decode(pair, router, prompts[0], settings)
        for _ in range(3):
            next(left)
        del left  # as a visitor who closes the page leaves it
        gc.collect()
        runs = [decode(pair, router, prompt, settings) for prompt in prompts]
        in_turn = list(zip(*runs, strict=True))  # one token of each, in turn
        for number, events in enumerate(expected):
            assert_same(([step[number] for step in in_turn], None), (events, None))
    assert len(pair.slm._seats._idle) == len(pair.llm._seats._idle) == MOST_IDLE


def test_one_seat_serves_many_routers_and_samplings(endless):
    pair = endless.with_graphs()
    routers = [EntropyRouter(), MaxProbabilityRouter(), *(EntropyRouter() for _ in range(12))]
    prompt = random_prompts(1)[0]
    for router in [*routers, *routers[:2]]:
        for sampling in ({}, SAMPLED):
            settings = DecodeSettings(threshold=0.4, max_new_tokens=2, **sampling)
            assert_same(decoded(pair, router, prompt, settings), decoded(endless, router, prompt, settings))
    assert len(pair.slm._seats._idle) == 1


def test_only_one_of_the_models_is_replayed(endless):
    router = BidirectionalEntropyRouter()
    both, prompt = endless.with_graphs(), random_prompts(1)[0]
    settings = DecodeSettings(0.05, max_new_tokens=30)
    expected = decoded(endless, router, prompt, settings)
    assert {event.source for event in expected[0]} == {"slm", "llm"}
    for which in ("slm", "llm"):
        half = dataclasses.replace(endless, **{which: getattr(both, which)})
        assert_same(decoded(half, router, prompt, settings), expected)


def test_in_bfloat16_the_same_text_gets_the_same_scores(tokenizer):
    """Followed token by token along the computed run: near a tie rounding may choose another token."""
    models = (tiny_qwen2(1).bfloat16(), tiny_llama(2).bfloat16())
    plain = ModelPair.assemble("half", *models, tokenizer)
    plain = dataclasses.replace(plain, eos_ids=frozenset())
    pair, router, prompt = plain.with_graphs(), MaxProbabilityRouter(), random_prompts(1)[0]
    settings = DecodeSettings(threshold=0.5, max_new_tokens=24)
    parent, _ = decoded(plain, router, prompt, settings)
    for n_shared, event in enumerate(parent):
        one = dataclasses.replace(settings, max_new_tokens=n_shared + 1)
        (found,), _ = decoded(pair, router, prompt, one, fork=Fork(tuple(parent[:n_shared]), source=event.source))
        assert found.slm_confidence == pytest.approx(event.slm_confidence, abs=0.03)
        ours = {c.token_id: c.probability for c in found.slm_top}
        for c in event.slm_top[:2]:
            assert ours.get(c.token_id, 0.0) == pytest.approx(c.probability, abs=0.03)


@pytest.mark.parametrize("dtype", few_or_all(torch.float32, torch.bfloat16))
def test_a_pass_asks_the_host_nothing_and_sends_it_nothing(monkeypatch, dtype):
    """On the meta device, where no number can be read, and no tensor of a CPU can be mixed in."""

    class Box:
        def __init__(self, device, n_floats, n_ints):
            self.bits = torch.zeros(n_floats + n_ints, dtype=torch.int32, device=device)

        def put(self, floats, ints):
            torch.cat([as_bits(tensor) for tensor in (*floats, *ints)], out=self.bits)

    monkeypatch.setattr(seats_module, "capture_for", lambda device: call_again)
    monkeypatch.setattr(module, "Mailbox", Box)
    with torch.device("meta"):
        model = tiny_qwen2(1).to(dtype)
    seat = Seat(FusedDecoder(model, 1536), 600)
    with torch.inference_mode():
        for router in training_free_routers().values():
            for is_sampled in (False, True):
                asked = TokenReadout(
                    seat,
                    is_sampled=is_sampled,
                    router=router,
                    with_entropy=True,
                    llm_dtype=dtype if router.reads_llm else None,
                )
                for width in (1, 16):
                    seat._pass(width, 512, asked)()
        asks = TokenReadout(seat, is_sampled=False, router=AsksTheHost())
        with pytest.raises(RuntimeError, match="meta"):
            seat._pass(1, 512, asks)()


class AsksTheHost(MaxProbabilityRouter):
    def confidence(self, features):
        return super().confidence(features) * (2.0 if float(features.entropy[0]) > 1 else 1.0)
