"""Runs whose passes are replayed write what the computed ones write: tokens, scores, candidates and work.

Every router, sampling and fork against the rule itself is in `test_decoder.py`.

On a CPU a pass is called again where a GPU replays a graph; what is particular to a GPU is in `test_cuda_graphs.py`.
"""

from __future__ import annotations

import dataclasses
import gc

import pytest
import torch

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
from tests.core.test_batch_decode import assert_same
from tests.sampling import few_or_all
from tests.scripted_router import ScriptedRouter

SAMPLED = {"temperature": 0.9, "top_p": 0.8, "seed": 4}


@pytest.fixture(scope="module")
def endless(tiny_pair):
    return dataclasses.replace(tiny_pair, eos_ids=frozenset())


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
            assert_same([([step[number] for step in in_turn], None)], [(events, None)])
    assert len(pair.slm._seats._idle) == len(pair.llm._seats._idle) == MOST_IDLE


def test_one_seat_serves_many_routers_and_samplings(endless):
    pair = endless.with_graphs()
    routers = [EntropyRouter(), MaxProbabilityRouter(), *(EntropyRouter() for _ in range(12))]
    prompt = random_prompts(1)[0]
    for router in [*routers, *routers[:2]]:
        for sampling in ({}, SAMPLED):
            settings = DecodeSettings(threshold=0.4, max_new_tokens=2, **sampling)
            assert_same(*([decoded(some, router, prompt, settings)] for some in (pair, endless)))
    assert len(pair.slm._seats._idle) == 1


def test_only_one_of_the_models_is_replayed(endless):
    router = BidirectionalEntropyRouter()
    both, prompt = endless.with_graphs(), random_prompts(1)[0]
    settings = DecodeSettings(0.05, max_new_tokens=30)
    expected = decoded(endless, router, prompt, settings)
    assert {event.source for event in expected[0]} == {"slm", "llm"}
    for which in ("slm", "llm"):
        half = dataclasses.replace(endless, **{which: getattr(both, which)})
        assert_same([decoded(half, router, prompt, settings)], [expected])


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


def test_the_room_is_as_long_as_the_context(tiny_pair):
    prompt = [7 + i % 90 for i in range(511)]
    settings = DecodeSettings(threshold=0.3, max_new_tokens=60)
    expected = decoded(tiny_pair, EntropyRouter(), prompt, settings)
    assert len(expected[0]) == 1
    assert_same([decoded(tiny_pair.with_graphs(), EntropyRouter(), prompt, settings)], [expected])
