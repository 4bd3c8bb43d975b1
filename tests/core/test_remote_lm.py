"""The LLM on a server: the same tokens as the loaded one, one by one, in batches and sampled."""

from __future__ import annotations

import dataclasses
import time

import pytest

from citer_core.engine import Engine
from citer_core.errors import PairError, RouterError
from citer_core.models import server_client
from citer_core.routing.decode import decode_batch
from citer_core.routing.routers import training_free_routers
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.types import DecodeSettings
from tests.core.examples import PROMPTS, decoded, generated, remote
from tests.core.test_batch_decode import assert_same
from tests.sampling import sampled

# --- the same tokens


def test_all_tokens_by_the_server_are_generate(tiny_pair, server):
    """A reference that shares no code with the decode loops."""
    pair = remote(tiny_pair, server)
    for prompt in PROMPTS[:2]:
        events, _ = decoded(pair, MaxProbabilityRouter(), prompt, DecodeSettings(1.0, 20))
        assert [event.token_id for event in events] == generated(tiny_pair.llm, prompt, 20)


@pytest.mark.parametrize("batch_size", sampled([3, 1, 16], 3))
def test_a_batch_is_one_by_one_and_shares_requests(tiny_pair, server, batch_size):
    pair, router, settings = remote(tiny_pair, server), MaxProbabilityRouter(), DecodeSettings(0.6, 20)
    found = list(decode_batch(pair, router, PROMPTS, settings, batch_size=batch_size, with_candidates=True))
    n_requests = len(server.bodies)
    for completion in found:
        expected = decoded(tiny_pair, router, PROMPTS[completion.index], settings)
        assert_same([(completion.new_events(pair), completion.finish_reason)], [expected])
    n_tokens = sum(completion.n_llm_tokens for completion in found)
    assert n_tokens == sum(len(body["prompt"]) for body in server.bodies) > 20
    assert n_requests == n_tokens if batch_size == 1 else n_requests < 0.7 * n_tokens


def test_one_connection_serves_a_run(tiny_pair, server):
    decoded(remote(tiny_pair, server), MaxProbabilityRouter(), PROMPTS[0], DecodeSettings(1.0, 20))
    assert len(server.bodies) == 20
    assert server.n_connections == 1


def test_a_server_that_closes_every_connection_costs_no_attempt(tiny_pair, server, monkeypatch):
    """Idle connections are closed by servers; finding that out is no failure."""
    monkeypatch.setattr(server_client, "N_ATTEMPTS", 1)
    lm = remote(tiny_pair, server).llm
    for _ in range(3):
        assert lm.next_tokens([[1, 2]])[0].token_id == generated(tiny_pair.llm, [1, 2], 1)[0]
        server.drop_connections()
        time.sleep(0.05)
    assert server.n_connections == 3
    server.close_after_answers = True
    assert len({lm.next_tokens([[1, 2]])[0].token_id for _ in range(3)}) == 1


# --- sampling


def test_sampled_draws_repeat_and_differ_from_token_to_token(tiny_pair, server):
    pair, settings = remote(tiny_pair, server), DecodeSettings(1.0, 16, temperature=1.0, top_p=0.9, seed=5)
    first, _ = decoded(pair, MaxProbabilityRouter(), PROMPTS[0], settings)
    seeds = [body["seed"] for body in server.bodies]
    assert len(set(seeds)) == 16  # one seed for all would draw the same numbers at every token
    assert {(body["temperature"], body["top_p"], body["top_k"]) for body in server.bodies} == {(1.0, 0.9, -1)}
    again, _ = decoded(pair, MaxProbabilityRouter(), PROMPTS[0], settings)
    other, _ = decoded(pair, MaxProbabilityRouter(), PROMPTS[0], dataclasses.replace(settings, seed=6))
    texts = [[event.token_id for event in events] for events in (first, again, other)]
    assert texts[0] == texts[1] != texts[2]


def test_a_sampled_batch_is_one_by_one(tiny_pair, server):
    """Rows at different positions have different seeds, so they cannot share a request; rows at the same do."""
    pair, settings = remote(tiny_pair, server), DecodeSettings(0.6, 12, temperature=1.0, seed=3)
    for completion in decode_batch(pair, MaxProbabilityRouter(), PROMPTS, settings, batch_size=4):
        expected, _ = decoded(pair, MaxProbabilityRouter(), PROMPTS[completion.index], settings)
        assert completion.token_ids == [event.token_id for event in expected]


def test_greedy_requests_leave_nothing_to_the_servers_defaults(tiny_pair, server):
    remote(tiny_pair, server).llm.next_tokens([[1, 2]])
    (body,) = server.bodies
    assert "seed" not in body
    expected = dict(temperature=0.0, top_p=1.0, top_k=-1, min_p=0.0, repetition_penalty=1.0, presence_penalty=0.0)
    assert body.items() >= expected.items()


# --- what routers may ask for


@pytest.mark.parametrize("name", ["disagreement", "bidirectional-entropy"])
def test_routers_that_need_the_llms_logits_are_refused(tiny_pair, server, name):
    pair = remote(tiny_pair, server)
    engine = Engine(pair, training_free_routers())
    assert name not in engine.router_names
    assert name in Engine(tiny_pair, training_free_routers()).router_names
    with pytest.raises(RouterError, match="only gives its token"):
        engine.router(name)
    with pytest.raises(RouterError, match=name):
        decoded(pair, training_free_routers()[name], [1, 2], DecodeSettings(0.5, 3))
    with pytest.raises(RouterError, match=name):
        list(decode_batch(pair, training_free_routers()[name], [[1, 2]], DecodeSettings(0.5, 3)))
    assert server.bodies == []


def test_work_that_needs_the_weights_says_so(tiny_pair, server):
    with pytest.raises(PairError, match="without --llm-url"):
        _ = remote(tiny_pair, server).local_llm
    assert tiny_pair.local_llm is tiny_pair.llm
