"""Routers that need no training, by hand; what they may look at; and how they are found."""

from __future__ import annotations

import math
import sys

import pytest
import torch

from citer_core.models.greedy import row_parts
from citer_core.routing import routers
from citer_core.routing.decode import decode
from citer_core.routing.prompt import sequence_key
from citer_core.routing.router import RouterFeatures, entropy_of, entropy_of_logits, margin_of
from citer_core.routing.routers import stored_kinds, training_free_routers
from citer_core.training.objectives import OBJECTIVES
from citer_core.types import DecodeSettings
from tests.core.examples import random_prompts

FREE = training_free_routers()
# Three distributions over four tokens: skewed, uniform, certain.
PROBABILITIES = [[0.7, 0.2, 0.05, 0.05], [0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]]
KEY_OF_123 = 0x453570A891000914
SKEWED_ENTROPY = -(0.7 * math.log(0.7) + 0.2 * math.log(0.2) + 0.1 * math.log(0.05))


def features(probabilities=PROBABILITIES, **others):
    logits = torch.tensor(probabilities).log() + 3.0  # a constant on all logits changes no probability
    return RouterFeatures(torch.zeros(len(logits), 8), logits, **others)


def scores(name, f):
    confidence = FREE[name].confidence(f)
    assert confidence.dtype == torch.float32 and confidence.shape == (len(f.hidden),)
    assert ((confidence >= 0) & (confidence <= 1)).all()
    return confidence.tolist()


# --- scores by hand


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("max-probability", [0.7, 0.25, 1.0]),
        ("margin", [0.5, 0.0, 1.0]),
        ("entropy", [math.exp(-SKEWED_ENTROPY), 0.25, 1.0]),  # one over the number of equally likely tokens
        ("bidirectional-entropy", [math.exp(-SKEWED_ENTROPY), 0.25, 1.0]),
        ("always-slm", [1.0, 1.0, 1.0]),
        ("always-llm", [0.0, 0.0, 0.0]),
    ],
)
def test_scores_by_hand(name, expected):
    assert scores(name, features()) == pytest.approx(expected, abs=1e-6)


def test_statistics_of_stored_positions_are_those_of_their_logits():
    fresh = features()
    stored = RouterFeatures.from_statistics(fresh.hidden, (fresh.max_probability, fresh.margin, fresh.entropy))
    assert stored.max_probability.tolist() == pytest.approx([0.7, 0.25, 1.0])
    assert stored.entropy.tolist() == pytest.approx([SKEWED_ENTROPY, math.log(4), 0.0], abs=1e-6)
    for name in ("max-probability", "margin", "entropy"):
        assert scores(name, stored.take(torch.tensor([2, 0]))) == [scores(name, fresh)[i] for i in (2, 0)]


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 6, 11])
def test_statistics_of_many_logits_are_those_of_their_distributions(n_rows):
    """Rows that are read some at a time, against float64."""
    logits = 4 * torch.randn(n_rows, 400_000, generator=torch.Generator().manual_seed(n_rows))
    logits[:, 5:900] = -math.inf
    logits = logits.bfloat16()
    parts = row_parts(logits)
    assert (len(parts) > 1) == (n_rows > 3) and torch.cat(parts).equal(logits)
    assert min(map(len, parts)) >= min(2, n_rows), "torch adds up a row by itself in another order"
    exact = torch.softmax(logits.double(), dim=-1)
    first, second = exact.topk(2, dim=-1).values.unbind(-1)
    entropy = torch.special.entr(exact).sum(-1)
    found = RouterFeatures(logits, logits)
    for ours, theirs in ((found.max_probability, first), (found.margin, first - second), (found.entropy, entropy)):
        assert ours.dtype == torch.float32 and ours.double().allclose(theirs, rtol=1e-4, atol=1e-6)
    assert entropy_of_logits(logits).equal(found.entropy)
    at_once = torch.log_softmax(logits.float(), dim=-1)
    assert found.entropy.equal(entropy_of(at_once)) and found.margin.equal(margin_of(at_once))


def test_the_llm_keeps_the_pen_until_both_are_certain():
    """Where the LLM wrote the token before (no NaN), its entropy counts too; once it was certain, the SLM's decides."""
    f = features(llm_entropy=torch.tensor([float("nan"), math.log(2), math.log(10)]))
    assert scores("bidirectional-entropy", f) == pytest.approx([math.exp(-SKEWED_ENTROPY), 0.25, 0.1])


def entropy_after(lm, ids):
    with torch.inference_mode():
        p = torch.softmax(lm.model(input_ids=torch.tensor([ids])).logits[0, -1, :1536].double(), -1)
    return -float((p * p.log()).nan_to_num(0).sum())


def test_the_llms_entropy_reaches_the_router_at_the_token_after_its_own(tiny_pair):
    """Every score of a run, again from full forwards of the model that wrote last."""
    router, prompt, seen = FREE["bidirectional-entropy"], [11, 402, 77], []
    events = list(decode(tiny_pair, router, prompt, DecodeSettings(0.05, 25)))
    ids = list(prompt)
    for event in events:
        entropies = [entropy_after(tiny_pair.slm, ids)]
        if seen and seen[-1] == "llm":  # its distribution was over the token that it then wrote
            entropies.append(entropy_after(tiny_pair.llm, ids[:-1]))
        assert event.slm_confidence == pytest.approx(math.exp(-max(entropies)), abs=1e-4)
        seen.append(event.source)
        ids.append(event.token_id)
    assert {"llm", "slm"} == set(seen)


# --- the oracle


def test_the_oracle_prefers_the_llm_exactly_where_it_differs():
    f = features(llm_logits=torch.tensor([[9.0, 0, 0, 0], [0, 9.0, 0, 0], [0, 0, 0, 9.0]]))
    assert scores("disagreement", f) == [1.0, 0.0, 0.0]


def test_the_oracle_writes_the_llms_text_and_pays_for_the_llm_everywhere(tiny_pair):
    prompt = [11, 402, 77]
    oracle = list(decode(tiny_pair, FREE["disagreement"], prompt, DecodeSettings(0.5, 20)))
    alone = list(decode(tiny_pair, FREE["always-llm"], prompt, DecodeSettings(1.0, 20)))
    assert [e.token_id for e in oracle] == [e.token_id for e in alone]
    assert [e.llm_tokens_fed for e in oracle] == [e.llm_tokens_fed for e in alone] == [3] + [1] * (len(oracle) - 1)
    idle = list(decode(tiny_pair, FREE["disagreement"], prompt, DecodeSettings(0.0, 6)))
    assert all(e.source == "slm" and e.llm_tokens_fed > 0 for e in idle)  # it asks even where it hands nothing over


# --- chance


def draws(keys, positions):
    n = len(keys)
    f = RouterFeatures(
        torch.zeros(n, 1), torch.zeros(n, 2), sequence_key=torch.tensor(keys), position=torch.tensor(positions)
    )
    return FREE["random"].confidence(f)


def test_random_is_uniform_and_its_share_is_tau():
    keys = [sequence_key(prompt) for prompt in random_prompts(200)]
    numbers = draws([key for key in keys for _ in range(100)], list(range(100)) * 200)
    ordered = numbers.double().sort().values
    distance = (ordered - torch.arange(1, 20_001) / 20_000).abs().max()
    assert float(distance) < 1.63 / math.sqrt(20_000)  # Kolmogorov-Smirnov at 1%; the numbers are fixed
    for tau in (0.1, 0.3, 0.7):
        assert float((numbers < tau).double().mean()) == pytest.approx(tau, abs=0.01)
    table = numbers.view(200, 100)
    for a, b in ((table[:, :-1], table[:, 1:]), (table[:-1], table[1:])):  # neighbours in place and in prompt
        assert abs(float(torch.corrcoef(torch.stack((a.flatten(), b.flatten())))[0, 1])) < 0.03


def test_random_is_a_function_of_prompt_and_position():
    key, other = sequence_key([1, 2, 3]), sequence_key([1, 2, 4])
    assert draws([key, other, key], [5, 5, 6])[0] == draws([key], [5])[0]
    assert len(set(draws([key, other, key], [5, 5, 6]).tolist())) == 3
    # The published constants of SplitMix64, in Python's own integers.
    for k, i in ((key, 0), (other, 7), ((1 << 62) + 5, 1000)):
        z = (k + (i + 1) * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        assert float(draws([k], [i])[0]) == ((z ^ (z >> 31)) >> 40) / 2**24


def test_prompts_have_keys_of_their_own_in_every_process():
    assert sequence_key([1, 23]) != sequence_key([12, 3]) != sequence_key([123])
    # sha256sum of "1,2,3", its first 8 bytes without the lowest bit
    assert sequence_key([1, 2, 3]) == sequence_key((1, 2, 3)) == KEY_OF_123
    assert all(0 <= sequence_key(p) < 2**63 for p in random_prompts(50))


# --- how routers are found


def test_the_names_are_those_of_the_documentation_and_every_objective_has_an_architecture():
    assert list(FREE) == [
        "max-probability", "entropy", "margin", "bidirectional-entropy", "random", "disagreement", "always-slm",
        "always-llm",
    ]  # fmt: skip
    assert sorted(stored_kinds()) == ["citer", "citer-plus", "query-level"]
    assert {objective.architecture for objective in OBJECTIVES.values()} == set(stored_kinds().values())


def test_a_class_in_a_new_module_is_found_by_itself(tmp_path, monkeypatch):
    """The command line and the page list what is in the folder: a file put there needs no other line anywhere."""
    (tmp_path / "coin.py").write_text(
        "import torch\n"
        "from citer_core.routing.router import Router\n"
        "from citer_core.routing.routers.training_free import MarginRouter  # imported, so not this module's own\n"
        "class Base(Router):\n"
        "    name, label = 'base', 'Abstract'\n"
        "class CoinRouter(Base):\n"
        "    name, label, order = 'coin', 'Coin', 15\n"
        "    def confidence(self, features):\n"
        "        return torch.full((len(features.hidden),), 0.5)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(routers, "__path__", [*routers.__path__, str(tmp_path)])
    routers._classes.cache_clear()
    try:
        found = training_free_routers()
        assert list(found) == ["max-probability", "coin", *list(FREE)[1:]]
        assert found["coin"].confidence(features()).tolist() == [0.5] * 3
    finally:
        routers._classes.cache_clear()
        sys.modules.pop("citer_core.routing.routers.coin", None)
