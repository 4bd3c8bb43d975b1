"""How often decoding waits for a device and sends to it, counted on a CPU that plays one."""

from __future__ import annotations

import dataclasses
import math
from itertools import product

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from citer_core.models import greedy, kv_cache, transfer
from citer_core.models.reader import Reader
from citer_core.routing import computed, replayed
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.router import Router
from citer_core.routing.routers import stored_kinds
from citer_core.types import DecodeSettings
from tests.core.examples import random_prompts
from tests.sampling import sampled

NO_SECONDS = dict.fromkeys(("slm_s", "router_s", "llm_s"), 0.0)
WAITS = {
    torch.ops.aten._local_scalar_dense.default,
    torch.ops.aten.nonzero.default,
    torch.ops.aten.masked_select.default,
}
SAMPLINGS = [{}, {"temperature": 0.9, "top_p": 0.8, "seed": 4}]


class OnHost(torch.Tensor):
    """A tensor that has crossed, and what is made of it: reading it takes no wait."""


class Crossings(TorchDispatchMode):
    """Counts the reads for which a real device would make the host wait, and the lists that are sent to it."""

    def __init__(self):
        super().__init__()
        self.n_waits = self.n_uploads = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        by_mask = func is torch.ops.aten.index.Tensor and any(i is not None and i.dtype == torch.bool for i in args[1])
        self.n_waits += func in WAITS or by_mask
        return func(*args, **(kwargs or {}))


@pytest.fixture
def crossings(monkeypatch):
    counter = Crossings()

    def waiting(read):
        def counted(tensor, *args, **kwargs):
            counter.n_waits += not isinstance(tensor, OnHost)
            return read(tensor, *args, **kwargs)

        return counted

    def arrive(tensor):
        counter.n_waits += 1
        return tensor.as_subclass(OnHost)

    def sent(*args, **kwargs):
        counter.n_uploads += 1
        return tensor_of(*args, **kwargs)

    tensor_of = torch.tensor
    monkeypatch.setattr(torch, "tensor", sent)
    monkeypatch.setattr(torch.Tensor, "cpu", arrive)
    for name in ("tolist", "numpy"):
        monkeypatch.setattr(torch.Tensor, name, waiting(getattr(torch.Tensor, name)))
    monkeypatch.setattr(transfer, "is_host", lambda device: False)
    for module in (transfer, greedy, replayed, computed):
        monkeypatch.setattr(module, "is_away", lambda tensor: not isinstance(tensor, OnHost))
    return counter


class EveryThird(Router):
    """The LLM at every third token, decided on the device."""

    name, label = "every-third", "Every third"
    is_static = True

    def confidence(self, features):
        return torch.where(features.position % 3 == 2, 0.1, 0.9)


class Unsure(EveryThird):
    """The same, and once more after a token of the LLM about which it was less than sure."""

    name, label, uses_llm_entropy = "unsure", "Unsure", True

    def confidence(self, features):
        scores = super().confidence(features)
        if features.llm_entropy is None:
            return scores
        return torch.where((features.llm_entropy > 0.0) & (features.position % 3 == 0), 0.2, scores)


def citer(pair):
    """A stored router with weights, its median score near 0.5."""
    torch.manual_seed(0)
    architecture = stored_kinds()["citer"]
    return architecture(
        architecture.build(pair.hidden_size), {"name": "citer", "label": "citer", "hidden_size": pair.hidden_size}
    )


ROUTERS = {"every-third": lambda _: EveryThird(), "unsure": lambda _: Unsure(), "citer": citer}


def blank(events):
    return [dataclasses.replace(event, **NO_SECONDS) for event in events]


@pytest.mark.parametrize(
    "read", [lambda t: t.tolist(), lambda t: float(t[0]), lambda t: t.cpu(), lambda t: t[t > 0], lambda t: t.numpy()]
)
def test_the_count_sees_every_way_to_wait(crossings, read):
    numbers = torch.ones(3)
    with crossings:
        read(numbers)
    assert crossings.n_waits >= 1


def test_several_tensors_cross_together_and_exactly(crossings):
    scores = torch.Tensor([[0.1, -math.inf, 1e-45], [math.pi, -0.0, 3.4e38]])
    ids = torch.arange(151_930, 151_936).view(3, 2)
    expected = [
        [[0.10000000149011612, -math.inf, 1.401298464324817e-45], [3.1415927410125732, -0.0, scores[1, 2].item()]]
    ]
    found = transfer.to_host(scores, ids, scores[0, :1].bfloat16())
    assert crossings.n_waits == 1
    assert found[:1] == expected and math.copysign(1, found[0][1][1]) == -1
    assert found[1] == [[151_930, 151_931], [151_932, 151_933], [151_934, 151_935]]
    assert found[2] == [0.10009765625]


@pytest.mark.parametrize(("name", "sampling", "graphs"), sampled(product(ROUTERS, SAMPLINGS, [False, True]), 5))
def test_a_run_waits_once_per_decision(tiny_pair, request, name, sampling, graphs):
    """A model's token, candidates and the score cross together.

    What is fed is sent once per pass, and what the router knows of the run; or, where passes are replayed, the prompt
    apart from the rest.
    """
    router, pair = ROUTERS[name], dataclasses.replace(tiny_pair, eos_ids=frozenset()).with_graphs(graphs=graphs)
    assert pair.slm.is_replayed == graphs
    settings, prompt = DecodeSettings(threshold=0.5, max_new_tokens=12, **sampling), [11, 402, 77]
    expected = list(decode(pair, router(pair), prompt, settings))
    asked, crossings = router(pair), request.getfixturevalue("crossings")
    with crossings:
        events = list(decode(pair, asked, prompt, settings))
    assert blank(events) == blank(expected)
    n_passes = len(events) + sum(event.source == "llm" for event in events)
    assert {event.source for event in events} == {"slm", "llm"}
    assert crossings.n_waits == n_passes
    n_of_router = (asked.uses_sequence + asked.uses_llm_entropy) * len(events)
    assert crossings.n_uploads == n_passes + (1 if graphs else n_of_router)


@pytest.mark.parametrize(
    ("name", "sampling", "with_candidates"), sampled(product(ROUTERS, SAMPLINGS, [False, True]), 5)
)
def test_a_batch_waits_once_per_pass(tiny_pair, request, name, sampling, with_candidates):
    """However many sequences are in it. Sent are tokens and places of a pass, and what the router knows of the rows."""
    router, pair = ROUTERS[name], dataclasses.replace(tiny_pair, eos_ids=frozenset())
    settings = DecodeSettings(threshold=0.5, max_new_tokens=10, **sampling)

    def run(asked):
        found = decode_batch(pair, asked, random_prompts(6), settings, batch_size=4, with_candidates=with_candidates)
        return {c.index: blank(c.new_events(pair)) for c in found}

    patch = request.getfixturevalue("monkeypatch")
    patch.setattr(kv_cache, "is_away", lambda tensor: True)  # both times, because padding changes the last digits
    expected = run(router(pair))
    n_passes = {id(pair.slm): 0, id(pair.llm): 0}
    catch_up = Reader.read

    def noted(self, texts, slots, *more):
        n_passes[id(self.lm)] += 1
        return catch_up(self, texts, slots, *more)

    asked = router(pair)
    patch.setattr(Reader, "read", noted)
    crossings = request.getfixturevalue("crossings")
    with crossings:
        found = run(asked)
    assert found == expected
    assert {event.source for events in found.values() for event in events} == {"slm", "llm"}
    n_all, n_slm = sum(n_passes.values()), n_passes[id(pair.slm)]
    assert crossings.n_waits == n_all
    assert 1.5 * n_all < crossings.n_uploads <= 2 * n_all + (asked.uses_sequence + asked.uses_llm_entropy) * n_slm
