"""Tokens that the LLM takes back, against the loop without caches that is written from the rule alone."""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import replace

import pytest

from citer_core.cost import H100_SXM, CostModel, CostSummary
from citer_core.errors import SettingError
from citer_core.fork import Fork
from citer_core.replay import replay
from citer_core.routing.decode import decode_batch
from citer_core.routing.decoder import Decoder
from citer_core.routing.look_back import Span
from citer_core.routing.pace import Pace
from citer_core.routing.routers.training_free import BidirectionalEntropyRouter, MaxProbabilityRouter
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import RoutingTrace
from citer_core.types import DecodeSettings, settled, when_settled
from citer_core.workload import Workload
from tests.completions_server import CompletionsServer
from tests.core.examples import decoded, generated, remote
from tests.core.test_browser_engine import LOOKS as USUAL
from tests.core.test_decoder import KNOWN, PROMPTS, SAMPLINGS, N, by_the_rule, follows, same, told
from tests.sampling import few_or_all, sampled
from tests.traces import opening_run

N_PROBLEMS = 200
LOOKS = {
    "by tau": {"threshold": 0.0005, "take_back": 0.8},
    "by doubts": {"threshold": 0.0, "take_back": 0.9, "doubt_budget": 3.0, "final_doubt": 1.0},
    "by distance": {"threshold": 0.0, "take_back": 1.0, "look_every": 4},
    "improbable in itself": {"threshold": 0.0, "take_back": 0.0006, "take_back_absolute": 1, "look_every": 6},
    "where doubted": {"threshold": 0.0, "take_back": 1.0, "take_back_below": 0.2, "look_every": 5},
    "at the end": {"threshold": 0.0, "take_back": 0.95},
}

ROUTERS = {router.name: router for router in (MaxProbabilityRouter(), BidirectionalEntropyRouter())}


@pytest.fixture(scope="module")
def pair(tiny_pair):
    return dataclasses.replace(tiny_pair, eos_ids=frozenset({0, *range(700, 720)}))


@pytest.mark.parametrize(("look", "name", "sampled_how"), sampled(itertools.product(LOOKS, ROUTERS, SAMPLINGS), 7))
def test_every_way_is_the_rule(pair, look, name, sampled_how):
    router, how = ROUTERS[name], DecodeSettings(max_new_tokens=N, **LOOKS[look], **SAMPLINGS[sampled_how])
    one, n_gone = decoded(pair, router, PROMPTS[0], how)[0], 0
    follows(pair, router, PROMPTS[0], how, one)
    for s in decode_batch(pair, router, PROMPTS, how, batch_size=3, with_candidates=True):
        follows(pair, router, PROMPTS[s.index], how, events := s.new_events(pair))
        n_gone += sum(len(event.discarded) for event in events)
    assert n_gone, "nothing is taken back"
    kept = one[-1:]
    while kept[0].index:
        kept.insert(0, next(e for e in reversed(one) if e.index == kept[0].index - 1))
    for k, writer in ((0, "llm"), (3, None), (len(kept) - 1, "slm")):
        fork = Fork(tuple(kept[:k]), writer)
        follows(pair, router, PROMPTS[0], how, decoded(pair, router, PROMPTS[0], how, fork=fork)[0], fork)


def test_a_doubt_has_the_priors_put_back_in(engine):
    router = engine.router("citer-outcome")
    prior = router.card["training"]["prefer_slm_share"]
    for confidence in (0.02, 0.5, 0.97):
        odds = (1 - confidence) / confidence * (1 - prior) / prior
        assert router.doubt(confidence) == pytest.approx(odds / (1 + odds))
    assert 0.9 < prior < 1 and engine.router("max-probability").doubt(0.3) == 0.7


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["math", "mc"])
@pytest.mark.parametrize(("name", "how"), USUAL)
def test_the_bundled_pair_on_two_hundred_problems(engine, name, how, kind, capsys):
    pair, router = engine.pair, engine.router(name)
    problems = [row.problem for row in bundled_rows(kind)][:N_PROBLEMS]
    prompts = [pair.encode(problem.prompt) for problem in problems]
    together = {s.index: told(s.new_events(pair)) for s in decode_batch(pair, router, prompts, how, batch_size=32)}
    other, n_gone = [], 0
    for k, prompt in enumerate(prompts):
        expected = by_the_rule(pair, router, prompt, how)
        KNOWN.clear()
        n_gone += sum(len(one[6]) for one in expected)
        for way, found in (("batch", together[k]), ("single", told(decoded(pair, router, prompt, how)[0]))):
            try:
                same(found, expected)
            except AssertionError:
                other.append((way, problems[k].id))
    with capsys.disabled():
        print(f"\n{name}, {kind}: {len(prompts)} problems, {n_gone} tokens taken back, {len(other)} runs differ")
    assert not other and n_gone


def test_what_the_llm_reads_in_parts(pair):
    how, decoder = DecodeSettings(0.0, 16, take_back=0.8), Decoder(pair, 4, Pace(2, wait_rounds=3, read_tokens=5))
    live = [decoder.admit(prompt, MaxProbabilityRouter(), how) for prompt in PROMPTS[:4]]
    while decoder.live:
        decoder.step()
    for s, prompt in zip(live, PROMPTS, strict=False):
        follows(pair, MaxProbabilityRouter(), prompt, how, s.new_events(pair))


@pytest.mark.parametrize("n_prompts", few_or_all(1, len(PROMPTS)))
def test_what_takes_back_all_is_the_llms_own_text(tiny_pair, n_prompts):
    plain = DecodeSettings(0.0, 16, take_back=1.0)
    looks = [dataclasses.replace(plain, **look) for look in ({"look_every": 3}, {"threshold": 0.001}, {})]
    for prompt in PROMPTS[:n_prompts]:
        expected = generated(tiny_pair.llm, prompt, 16)
        for how in looks:
            events = decoded(tiny_pair, MaxProbabilityRouter(), prompt, how)[0]
            assert [one[0] for one in told(events)] == expected
    drawn = DecodeSettings(1.0, 16, temperature=0.9, seed=3)
    alone = decoded(tiny_pair, MaxProbabilityRouter(), PROMPTS[0], drawn)[0]
    for how in looks:
        how = dataclasses.replace(how, temperature=0.9, seed=3)
        events = decoded(tiny_pair, MaxProbabilityRouter(), PROMPTS[0], how)[0]
        assert [one[0] for one in told(events)] == [event.token_id for event in alone]


def test_an_llm_on_a_server(pair):
    """What it says of each place comes with one request for the text and the SLM's next token."""
    how = DecodeSettings(max_new_tokens=N, **LOOKS["by doubts"])
    with CompletionsServer(pair.llm.model, pair.tokenizer) as server:
        away = remote(pair, server)
        one = decoded(away, MaxProbabilityRouter(), PROMPTS[0], how)[0]
        follows(pair, MaxProbabilityRouter(), PROMPTS[0], how, one)
        assert all(
            len(event.llm_top) == 5 and event.llm_top[0].token_id == event.token_id for event in one if event.read
        )
        assert {len(body["prompt"]) for body in server.bodies} == {1}
        for s in decode_batch(away, MaxProbabilityRouter(), PROMPTS, how, batch_size=3):
            follows(pair, MaxProbabilityRouter(), PROMPTS[s.index], how, s.new_events(away))
        with pytest.raises(SettingError, match="random numbers of its own"):
            decoded(away, MaxProbabilityRouter(), PROMPTS[0], dataclasses.replace(how, temperature=1.0))


def test_every_pass_is_paid_for(pair, passes):
    """The estimate of a run is that of all the passes that both models made for it, those for nothing included."""
    how = DecodeSettings(0.0, 30, take_back=0.95, look_every=7)
    events = settled(decoded(pair, MaxProbabilityRouter(), PROMPTS[2], how)[0])
    assert sum(len(event.discarded) for event in events) > 5
    info, n_bytes, flops = pair.info, 0, 0.0
    for lm, (text,), said in passes:
        spec, (fed,) = (info.slm if lm is pair.slm else info.llm), said.n_fed
        n_bytes += spec.forward_bytes(fed, len(text) - fed)
        flops += spec.forward_flops(fed, len(text) - fed)
    cost = CostSummary.of(CostModel(info.slm, info.llm, H100_SXM), events).routed
    assert (cost.n_bytes, cost.flops) == (n_bytes, pytest.approx(flops))
    price, n_steps = Workload.of(events).price(info.slm, info.llm, 7), sum(lm is pair.slm for lm, *_ in passes)
    assert price.n_bytes == cost.n_bytes + 7 * 4 * n_steps
    assert price.flops == pytest.approx(cost.flops + 7 * 2 * n_steps)


def test_what_is_no_number_is_no_verdict():
    assert Span([-0.1], [5], [-0.1]).is_sound and not (Span([-0.1], [5], [0.0]) + Span([math.nan], [5], [0.0])).is_sound


def test_who_cannot_take_anything_back_is_told_what_stays(pair):
    how = DecodeSettings(0.0, 30, take_back=0.95, look_every=7)
    told = decoded(pair, MaxProbabilityRouter(), PROMPTS[0], how)[0]
    kept = settled(told)
    assert len(kept) < len(told) and [event.index for event in kept] == list(range(len(kept)))
    assert tuple(when_settled(told, how)) == kept
    plain = decoded(pair, MaxProbabilityRouter(), PROMPTS[0], DecodeSettings(0.5, 9))[0]
    steps = when_settled(iter(plain), DecodeSettings(0.5, 9))
    assert [next(steps) for _ in plain[:3]] == plain[:3]


def test_a_trace_keeps_what_was_taken_back(pair):
    how = DecodeSettings(0.0, 30, take_back=0.95, doubt_budget=5.0)
    events = settled(decoded(pair, MaxProbabilityRouter(), PROMPTS[0], how)[0])
    trace = replace(opening_run(), settings=how, events=events, parent=None)
    again = RoutingTrace.from_json(trace.to_json())
    assert again == trace and again.n_discarded == sum(len(event.discarded) for event in events) > 0
    assert 0 < again.n_looks <= len(events) and again.settings.take_back == 0.95
    at = next(event for event in events if event.discarded)
    same, other = replay(trace, 0.0), replay(trace, max(token.slm_confidence for token in at.discarded) + 1e-6)
    assert (same.n_exact, same.doubt, same.llm_tokens_fed) == (
        len(events),
        None,
        tuple(e.llm_tokens_fed for e in events),
    )
    assert other.n_exact <= at.index and other.doubt is not None
