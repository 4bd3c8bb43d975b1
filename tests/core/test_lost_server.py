"""A server that does not do its part: what is asked again, and what ends a run and keeps its tokens."""

from __future__ import annotations

import json
import threading
import time

import pytest

from citer_core.engine import Run
from citer_core.errors import ServerError
from citer_core.models import server_client
from citer_core.models.remote_lm import Sampling
from citer_core.models.server_client import CallCancelledError
from citer_core.routing.decode import decode_batch
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.tasks.problems import problem_from_text
from citer_core.types import DecodeSettings
from tests.completions_server import CompletionsServer
from tests.core.examples import PROMPTS, decoded, generated, remote


def test_a_500_is_asked_again(tiny_pair, server):
    server.fail(500, times=2)
    events, reason = decoded(remote(tiny_pair, server), MaxProbabilityRouter(), PROMPTS[0], DecodeSettings(1.0, 5))
    assert reason == "length"
    assert [event.token_id for event in events] == generated(tiny_pair.llm, PROMPTS[0], 5)
    assert len(server.bodies) == 7


def test_attempts_have_an_end(tiny_pair, server):
    server.fail(503, times=99)
    with pytest.raises(ServerError, match=r"no answer in 5 attempts.*503: scripted failure"):
        remote(tiny_pair, server).llm.next_tokens([[1]])
    assert len(server.bodies) == 5


@pytest.mark.parametrize(("status", "part"), [(400, "refused a request.*no such option"), (404, "--llm-model")])
def test_a_refusal_is_not_asked_again(tiny_pair, server, status, part):
    server.fail(status, message="no such option")
    with pytest.raises(ServerError, match=part):
        remote(tiny_pair, server).llm.next_tokens([[1]])
    assert len(server.bodies) == 1


GOOD = {"index": 0, "token_ids": [5], "logprobs": {"tokens": ["token_id:5"], "top_logprobs": [{"token_id:5": -0.1}]}}


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (b"[]", "with a completion"),
        (b'{"choices": []}', "answered 0 of 1"),
        (b'{"choices": [{"index": 0, "text": "hello"}]}', "no token id"),
        (json.dumps({"choices": [GOOD | {"token_ids": [5, 6]}]}).encode(), "no token id"),
    ],
)
def test_answers_that_make_no_sense_end_the_run(tiny_pair, server, answer, part):
    server.lie(answer)
    with pytest.raises(ServerError, match=part):
        remote(tiny_pair, server).llm.next_tokens([[1]])


def test_a_token_without_log_probabilities_is_a_token(tiny_pair, server):
    server.lie(json.dumps({"choices": [{"index": 0, "token_ids": [5]}]}).encode())
    (token,) = remote(tiny_pair, server).llm.next_tokens([[1]])
    assert (token.token_id, token.top) == (5, ())


def test_a_server_killed_in_a_run_ends_it_and_keeps_what_was_written(tiny_pair, server):
    problem = problem_from_text("Tom buys 4 books.", "open")
    prompt = tiny_pair.encode(problem.prompt)
    routed = Run(remote(tiny_pair, server), MaxProbabilityRouter(), problem, prompt, DecodeSettings(1.0, 50))
    server.die_after = 7
    with pytest.raises(ServerError, match="start it again"):
        for _ in routed:
            pass
    trace = routed.trace()
    assert trace.finish_reason == "error"
    assert [event.token_id for event in trace.events] == generated(tiny_pair.llm, prompt, 7)
    assert type(trace).from_json(trace.to_json()) == trace


def test_a_server_killed_in_a_batch_leaves_what_was_handed_out(tiny_pair, server):
    server.die_after = 12
    steps = decode_batch(
        remote(tiny_pair, server), MaxProbabilityRouter(), PROMPTS, DecodeSettings(1.0, 5), batch_size=2
    )
    done = [next(steps) for _ in range(4)]  # two at a time, five requests each
    with pytest.raises(ServerError):
        next(steps)
    assert all(c.token_ids == generated(tiny_pair.llm, PROMPTS[c.index], 5) for c in done)


def test_a_server_that_comes_back_is_used_again(tiny_pair, server):
    lm = remote(tiny_pair, server).llm
    before = lm.next_tokens([[1, 2, 3]])[0].token_id
    server.kill()
    with CompletionsServer(tiny_pair.llm.model, tiny_pair.tokenizer, port=server.port) as again:
        assert lm.next_tokens([[1, 2, 3]])[0].token_id == before
        assert len(again.bodies) == 1


# --- cancellation


@pytest.mark.parametrize("how", ["slow answer", "pauses"])
def test_a_run_that_waits_is_cancelled_within_a_second(tiny_pair, server, monkeypatch, how):
    if how == "slow answer":
        server.delay_s = 30.0
    else:
        server.fail(503, times=99)
        monkeypatch.setattr(server_client, "BACKOFF_S", 10.0)
    problem = problem_from_text("Tom buys 4 books.", "open")
    pair = remote(tiny_pair, server, timeout_s=60.0)
    routed = Run(pair, MaxProbabilityRouter(), problem, [1, 2, 3], DecodeSettings(1.0, 50))
    timer = threading.Timer(0.3, routed.cancel)
    timer.start()
    start = time.monotonic()
    assert list(routed) == []
    assert time.monotonic() - start < 1.3
    assert routed.finish_reason == "cancelled"
    timer.join()


def test_a_batch_that_waits_is_cancelled_and_keeps_its_tokens(tiny_pair, server):
    cancelled = threading.Event()
    pair, settings = remote(tiny_pair, server, timeout_s=60.0), DecodeSettings(1.0, 20)
    steps = decode_batch(
        pair, MaxProbabilityRouter(), PROMPTS[:3], settings, batch_size=3, is_cancelled=cancelled.is_set
    )
    original = server.answer

    def slow(body):
        if len(server.bodies) > 4:
            threading.Timer(0.2, cancelled.set).start()
            time.sleep(3.0)
        return original(body)

    server.answer = slow
    start = time.monotonic()
    found = list(steps)
    assert time.monotonic() - start < 2.5
    assert {c.finish_reason for c in found} == {"cancelled"}
    for completion in found:
        assert completion.token_ids == generated(tiny_pair.llm, PROMPTS[completion.index], 4)


def test_a_cancelled_call_closes_its_connection(tiny_pair, server):
    """That is how the server learns that the token is not wanted any more."""
    server.delay_s = 1.0
    asked = remote(tiny_pair, server).llm.ask([[1]], [Sampling()])
    assert not asked.is_done()
    asked.abort()
    with pytest.raises(CallCancelledError):
        asked.wait()
    deadline = time.monotonic() + 5
    while server._open and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not server._open
