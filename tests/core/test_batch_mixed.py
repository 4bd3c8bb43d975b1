"""Sequences with nothing in common in one batch, coming and going at random: each is its own run, alone."""

from __future__ import annotations

import dataclasses
import random
import time
from typing import NamedTuple

import pytest
import torch

from citer_core.errors import NotANumberError, PromptError
from citer_core.fork import Fork
from citer_core.models.reader import Reader
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.decoder import Decoder
from citer_core.routing.pace import Pace
from citer_core.routing.prompt import sequence_key
from citer_core.routing.router import Router
from citer_core.routing.routers import stored_kinds, training_free_routers
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.types import DecodeSettings
from tests.core.examples import decoded, random_prompts, remote
from tests.core.test_batch_decode import RAGGED, assert_same, free

PACES = {
    "whole prompts": Pace(batch_size=4),
    "in parts": Pace(batch_size=4, wait_rounds=5, read_tokens=20),
    "one by one": Pace(batch_size=1, wait_rounds=3, read_tokens=7),
}


def stored(pair, kind):
    torch.manual_seed(0)
    architecture = stored_kinds()[kind]
    network = architecture.build(pair.hidden_size)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return architecture(network, {"name": kind, "label": kind, "hidden_size": pair.hidden_size})


@pytest.fixture(scope="module")
def routers(tiny_pair):
    return [*training_free_routers().values(), stored(tiny_pair, "citer"), stored(tiny_pair, "query-level")]


class Request(NamedTuple):
    prompt_ids: list[int]
    router: Router
    settings: DecodeSettings
    fork: Fork | None
    index: int
    with_candidates: bool = True


def admit(decoder, request):
    return decoder.admit(
        request.prompt_ids,
        request.router,
        request.settings,
        fork=request.fork,
        index=request.index,
        with_candidates=request.with_candidates,
    )


def requests_of(pair, routers, seed, n=14):
    """Any prompt, router, tau, sampling, length; half of them branches of other runs, some of these forced."""
    draw, made = random.Random(seed), []
    for number in range(n):
        router = routers[number % len(routers)]
        settings = DecodeSettings(
            threshold=draw.choice([0.0, 0.3, 0.5, 0.6, 0.9, 1.0]),
            max_new_tokens=draw.randint(1, 24),
            temperature=draw.choice([0.0, 0.0, 0.7, 1.3]),
            top_p=draw.choice([1.0, 0.8]),
            seed=draw.randint(0, 99),
        )
        prompt = draw.choice([*RAGGED, *random_prompts(4, longest=70, seed=seed)])
        fork = None
        if number % 2:
            parent_settings = dataclasses.replace(settings, threshold=draw.choice([0.3, 0.6]), max_new_tokens=26)
            parent = list(decode(pair, draw.choice(routers), prompt, parent_settings))
            source = draw.choice([None, "slm", "llm"])
            token = draw.choice([None, 77]) if source else None
            fork = Fork(tuple(parent[: draw.randint(0, settings.max_new_tokens - 1)]), source, token)
        made.append(Request(prompt, router, settings, fork, number))
    return made


def alone(pair, request):
    return decoded(pair, request.router, request.prompt_ids, request.settings, fork=request.fork)


def without_candidates(events):
    return [dataclasses.replace(event, slm_top=(), llm_top=()) for event in events]


@pytest.mark.parametrize("pace", PACES.values(), ids=PACES)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_mixed_batch_at_random_is_every_run_alone(tiny_pair, routers, pace, seed):
    pair, draw = free(tiny_pair), random.Random(seed)
    requests = requests_of(pair, routers, seed)
    expected = {request.index: alone(pair, request) for request in requests}
    for index in draw.sample(range(len(requests)), 3):
        requests[index] = requests[index]._replace(with_candidates=False)
        expected[index] = without_candidates(expected[index][0]), expected[index][1]
    decoder, upcoming, found, cancelled = Decoder(pair, 6, pace), list(requests), {}, {}
    draw.shuffle(upcoming)
    while upcoming or decoder.live:
        while upcoming and decoder.n_free and draw.random() < 0.6:
            admit(decoder, upcoming.pop())
        if decoder.live and len(cancelled) < 3 and draw.random() < 0.05:
            sequence = draw.choice(decoder.live)
            decoder.cancel(sequence)
            cancelled[sequence.index] = sequence
        for sequence in decoder.step():
            if sequence.finish_reason is not None:
                found[sequence.index] = sequence
    assert sorted([*found, *cancelled]) == list(range(len(requests))) and decoder.n_free == 6
    for index, completion in found.items():
        assert_same([(completion.new_events(pair), completion.finish_reason)], [expected[index]])
    for index, completion in cancelled.items():
        assert completion.finish_reason == "cancelled"
        ids = [event.token_id for event in expected[index][0]]
        assert completion.token_ids == ids[: len(completion.steps)]


def test_each_sequence_says_itself_when_it_is_cancelled(tiny_pair):
    pair, settings = free(tiny_pair), DecodeSettings(0.5, 12)
    asked = iter([False] * 3 + [True])
    decoder = Decoder(pair, 3, Pace())
    stopped = decoder.admit([5, 6], MaxProbabilityRouter(), settings, is_cancelled=lambda: next(asked))
    others = [decoder.admit(prompt, MaxProbabilityRouter(), settings) for prompt in RAGGED[:2]]
    while decoder.live:
        decoder.step()
    assert stopped.finish_reason == "cancelled" and len(stopped.steps) <= 3
    for sequence, prompt in zip(others, RAGGED, strict=False):
        ids = [event.token_id for event in decode(pair, MaxProbabilityRouter(), prompt, settings)]
        assert sequence.token_ids == ids


# --- no sequence waits without end


class Often(Router):
    """The LLM where the prompt's first token says so, else never."""

    name, label = "often", "Often"

    def __init__(self, prompt):
        self.key = sequence_key(prompt)

    def confidence(self, features):
        return torch.where(features.sequence_key == self.key, 0.0, 1.0)


@pytest.mark.parametrize("wait_rounds", [2, 6])
def test_one_that_needs_the_llm_waits_a_bounded_time_beside_many_that_never_do(tiny_pair, wait_rounds):
    """Newcomers without end keep the share of those that wait small."""
    pair, prompt = free(tiny_pair), [9, 9, 9]
    router, settings = Often(prompt), DecodeSettings(0.5, 12)
    decoder = Decoder(pair, 8, Pace(batch_size=8, wait_rounds=wait_rounds))
    needing, rounds, number = decoder.admit(prompt, router, settings), 0, 0
    while not needing.finish_reason is not None:
        while decoder.n_free:
            number += 1
            decoder.admit([number % 1500 + 1, 4], router, settings)
        decoder.step()
        rounds += 1
        assert rounds <= 12 * (wait_rounds + 1)
    assert needing.n_llm_tokens == 12
    assert needing.token_ids == [e.token_id for e in decode(pair, router, prompt, settings)]


def test_no_ready_sequence_is_left_behind(tiny_pair):
    pair, settings = free(tiny_pair), DecodeSettings(0.0, 30)
    decoder = Decoder(pair, 7, Pace(batch_size=3))
    live = [decoder.admit([n + 1] * 4, MaxProbabilityRouter(), settings) for n in range(7)]
    for _ in range(20):
        decoder.step()
        lengths = [len(s.steps) for s in live]
        assert max(lengths) - min(lengths) <= 1


def test_a_long_prompt_is_read_in_parts_while_others_go_on(tiny_pair, monkeypatch):
    """No pass reads more than the bound beside a token of each of the others, of the LLM neither."""
    pair, settings = free(tiny_pair), DecodeSettings(1.0, 10)
    long, short = [(7 * k) % 1500 + 1 for k in range(300)], [3, 4]
    fed = []
    catch_up = Reader.read

    def noted(self, texts, slots, *more):
        fed.append(sum(len(t) - self.n_cached[s] for t, s in zip(texts, slots, strict=True)))
        return catch_up(self, texts, slots, *more)

    monkeypatch.setattr(Reader, "read", noted)
    decoder = Decoder(pair, 2, Pace(read_tokens=40))
    quick = decoder.admit(short, MaxProbabilityRouter(), settings)
    slow = decoder.admit(long, MaxProbabilityRouter(), settings)
    n_when_slow_began = None
    while decoder.live:
        decoder.step()
        if slow.steps and n_when_slow_began is None:
            n_when_slow_began = len(quick.steps)
    assert max(fed) <= 40 + 16
    assert n_when_slow_began >= 5
    monkeypatch.undo()
    for sequence, prompt in ((quick, short), (slow, long)):
        expected, _ = decoded(pair, MaxProbabilityRouter(), prompt, settings)
        assert_same([(sequence.new_events(pair), "length")], [(without_candidates(expected), "length")])


# --- what fails, fails alone


class Spoilt(MaxProbabilityRouter):
    """NaN from one position on, for one prompt."""

    uses_sequence = True

    def __init__(self, prompt, at, value=float("nan")):
        self.key, self.at, self.value = sequence_key(prompt), at, value

    def confidence(self, features):
        is_spoilt = (features.sequence_key == self.key) & (features.position >= self.at)
        return torch.where(is_spoilt, self.value, super().confidence(features))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.5])
@pytest.mark.parametrize("tau", [0.0, 0.5, 1.0])
def test_a_confidence_that_is_no_number_ends_its_own_sequence(tiny_pair, value, tau):
    pair, settings = free(tiny_pair), DecodeSettings(tau, 10)
    router = Spoilt(RAGGED[1], 4, value)
    with pytest.raises(NotANumberError, match="not a number from 0 to 1"):
        list(decode(pair, router, RAGGED[1], settings))
    with pytest.raises(NotANumberError, match="not a number from 0 to 1"):
        list(decode_batch(pair, router, RAGGED[:4], settings, batch_size=2))
    decoder = Decoder(pair, 4, Pace())
    sequences = [decoder.admit(prompt, router, settings) for prompt in RAGGED[:4]]
    while decoder.live:
        decoder.step()
    assert [s.finish_reason for s in sequences] == ["length", "error", "length", "length"]
    assert len(sequences[1].steps) == 4 and isinstance(sequences[1].error, NotANumberError)
    for s, prompt in zip(sequences, RAGGED, strict=False):
        ids = [e.token_id for e in decode(pair, MaxProbabilityRouter(), prompt, settings)]
        assert s.token_ids == ids[: len(s.steps)]


def test_all_others_of_a_batch_are_handed_out_before_the_error(tiny_pair):
    pair, settings = free(tiny_pair), DecodeSettings(0.5, 10)
    batch = decode_batch(pair, Spoilt(RAGGED[1], 4), RAGGED[:5], settings, batch_size=2)
    done = [next(batch).index for _ in range(4)]
    assert sorted(done) == [0, 2, 3, 4]
    with pytest.raises(NotANumberError):
        next(batch)


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.9, "top_p": 0.7, "seed": 1}], ids=["greedy", "sampled"])
@pytest.mark.parametrize("with_candidates", [False, True])
@pytest.mark.parametrize("which", ["slm", "llm"])
def test_logits_that_are_no_numbers_end_their_own_sequence(tiny_pair, monkeypatch, which, with_candidates, sampling):
    pair, settings = free(tiny_pair), DecodeSettings(0.0 if which == "slm" else 1.0, 8, **sampling)
    lm, catch_up = getattr(pair, which), Reader.read

    def spoilt(self, texts, slots, *more):
        forward = catch_up(self, texts, slots, *more)
        for row, text in enumerate(texts):
            if self.lm is lm and text[0] == RAGGED[1][0] and len(text) == len(RAGGED[1]) + 3:
                forward.logits[row, 700] = float("nan")
        return forward

    monkeypatch.setattr(Reader, "read", spoilt)
    decoder = Decoder(pair, 3, Pace())
    router = training_free_routers()["random"]  # looks at no logits
    sequences = [decoder.admit(prompt, router, settings, with_candidates=with_candidates) for prompt in RAGGED[:3]]
    while decoder.live:
        decoder.step()
    assert [s.finish_reason for s in sequences] == ["length", "error", "length"]
    assert len(sequences[1].steps) == 3
    assert isinstance(sequences[1].error, NotANumberError) and which.upper() in str(sequences[1].error)


@pytest.mark.parametrize("which", ["slm", "llm"])
@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.9, "seed": 1}], ids=["greedy", "sampled"])
def test_a_single_run_ends_there_too(tiny_pair, monkeypatch, which, sampling):
    pair, settings = free(tiny_pair), DecodeSettings(0.0 if which == "slm" else 1.0, 8, **sampling)
    lm, catch_up = getattr(pair, which), Reader.read

    def spoilt(self, texts, slots, *more):
        forward = catch_up(self, texts, slots, *more)
        if self.lm is lm and len(texts[0]) == 5:
            forward.logits[0, 700] = float("nan")
        return forward

    monkeypatch.setattr(Reader, "read", spoilt)
    steps = decode(pair, training_free_routers()["random"], [1, 2], settings)
    assert [next(steps).index for _ in range(3)] == [0, 1, 2]
    with pytest.raises(NotANumberError, match=which.upper()):
        next(steps)


def test_a_router_that_fails_ends_its_own_sequences(tiny_pair):
    class Broken(MaxProbabilityRouter):
        def confidence(self, features):
            raise ZeroDivisionError("of a plug-in")

    pair, settings = free(tiny_pair), DecodeSettings(0.5, 6)
    decoder = Decoder(pair, 3, Pace())
    sequences = [
        decoder.admit(prompt, router, settings)
        for prompt, router in zip(RAGGED, [MaxProbabilityRouter(), Broken(), MaxProbabilityRouter()], strict=False)
    ]
    while decoder.live:
        decoder.step()
    assert [s.finish_reason for s in sequences] == ["length", "error", "length"]
    assert isinstance(sequences[1].error, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        list(decode_batch(pair, Broken(), RAGGED[:2], settings))


def test_what_cannot_be_decoded_is_refused_and_takes_no_slot(tiny_pair):
    decoder = Decoder(tiny_pair, 1, Pace())
    with pytest.raises(PromptError):
        decoder.admit([], MaxProbabilityRouter(), DecodeSettings())
    assert decoder.n_free == 1 and not decoder.live


# --- a server


def test_a_mixed_batch_on_a_server_is_every_run_alone(tiny_pair, server):
    pair = remote(free(tiny_pair), server)
    fitting = [MaxProbabilityRouter(), training_free_routers()["random"]]
    requests = requests_of(free(tiny_pair), fitting, 4, n=8)
    expected = [alone(pair, request) for request in requests]
    decoder = Decoder(pair, 8, Pace(batch_size=4))
    sequences = [admit(decoder, request) for request in requests]
    while decoder.live:
        decoder.step()
    for sequence, reference in zip(sequences, expected, strict=True):
        assert_same([(sequence.new_events(pair), sequence.finish_reason)], [reference])


def test_others_go_on_while_a_server_thinks_and_a_cancelled_one_waits_for_nothing(tiny_pair, server):
    pair, settings = remote(free(tiny_pair), server, timeout_s=60.0), DecodeSettings(0.5, 10)
    router = Often([9, 9, 9])
    server.delay_s = 20.0
    decoder = Decoder(pair, 2, Pace(wait_rounds=2))
    flag = [False]
    needing = decoder.admit([9, 9, 9], router, settings, is_cancelled=lambda: flag[0])
    other = decoder.admit([5, 6], router, settings)
    for _ in range(100):
        decoder.step()
        if other.finish_reason is not None:
            break
    deadline = time.monotonic() + 10
    while not server.bodies and time.monotonic() < deadline:
        time.sleep(0.01)  # until it has read what it was asked
    assert other.finish_reason == "length" and len(server.bodies) == 1 and not needing.steps
    flag[0] = True
    decoder.step()
    assert needing.finish_reason == "cancelled" and not decoder.live
    decoder.step()
    decoder.close()
