"""Sequences with nothing in common in one batch: none waits without end, and what fails, fails alone."""

from __future__ import annotations

import time
from itertools import product

import pytest
import torch

from citer_core.errors import NotANumberError, PromptError
from citer_core.models.reader import Reader
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.decoder import Decoder
from citer_core.routing.pace import Pace
from citer_core.routing.prompt import sequence_key
from citer_core.routing.router import Router
from citer_core.routing.routers import training_free_routers
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.types import DecodeSettings
from tests.core.examples import remote
from tests.core.test_batch_decode import RAGGED, free
from tests.sampling import sampled


def decoded_all(decoder):
    while decoder.live:
        decoder.step()


def test_each_sequence_says_itself_when_it_is_cancelled(tiny_pair):
    pair, settings = free(tiny_pair), DecodeSettings(0.5, 12)
    asked = iter([False] * 3 + [True])
    decoder = Decoder(pair, 3, Pace())
    stopped = decoder.admit([5, 6], MaxProbabilityRouter(), settings, is_cancelled=lambda: next(asked))
    others = [decoder.admit(prompt, MaxProbabilityRouter(), settings) for prompt in RAGGED[:2]]
    decoded_all(decoder)
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


def test_one_that_needs_the_llm_waits_a_bounded_time_beside_many_that_never_do(tiny_pair):
    """Newcomers without end keep the share of those that wait small."""
    pair, prompt, wait_rounds = free(tiny_pair), [9, 9, 9], 6
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


def test_a_long_prompt_is_read_in_parts_while_others_go_on(tiny_pair, passes):
    """No pass reads more than the bound beside a token of each of the others, of the LLM neither."""
    pair, settings = free(tiny_pair), DecodeSettings(1.0, 10)
    prompts = [3, 4], [(7 * k) % 1500 + 1 for k in range(300)]
    decoder = Decoder(pair, 2, Pace(read_tokens=40))
    quick, slow = (decoder.admit(prompt, MaxProbabilityRouter(), settings) for prompt in prompts)
    n_when_slow_began = None
    while decoder.live:
        decoder.step()
        if slow.steps and n_when_slow_began is None:
            n_when_slow_began = len(quick.steps)
    assert max(sum(said.n_fed) for *_, said in passes) <= 40 + 16
    assert n_when_slow_began >= 5
    for sequence, prompt in zip((quick, slow), prompts, strict=True):
        assert sequence.token_ids == [
            event.token_id for event in decode(pair, MaxProbabilityRouter(), prompt, settings)
        ]


# --- what fails, fails alone


class Spoilt(MaxProbabilityRouter):
    """NaN from one position on, for one prompt."""

    uses_sequence = True

    def __init__(self, prompt, at, value=float("nan")):
        self.key, self.at, self.value = sequence_key(prompt), at, value

    def confidence(self, features):
        is_spoilt = (features.sequence_key == self.key) & (features.position >= self.at)
        return torch.where(is_spoilt, self.value, super().confidence(features))


@pytest.mark.parametrize(("tau", "value"), sampled(product([0.0, 0.5, 1.0], [float("nan"), float("inf"), -0.5]), 4))
def test_a_confidence_that_is_no_number_ends_its_own_sequence(tiny_pair, tau, value):
    pair, settings = free(tiny_pair), DecodeSettings(tau, 10)
    router = Spoilt(RAGGED[1], 4, value)
    with pytest.raises(NotANumberError, match="not a number from 0 to 1"):
        list(decode(pair, router, RAGGED[1], settings))
    with pytest.raises(NotANumberError, match="not a number from 0 to 1"):
        list(decode_batch(pair, router, RAGGED[:4], settings, batch_size=2))
    decoder = Decoder(pair, 4, Pace())
    sequences = [decoder.admit(prompt, router, settings) for prompt in RAGGED[:4]]
    decoded_all(decoder)
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


@pytest.mark.parametrize("with_candidates", [False, True])
@pytest.mark.parametrize(
    ("which", "sampling"), sampled(product(["slm", "llm"], [{}, {"temperature": 0.9, "top_p": 0.7, "seed": 1}]), 3)
)
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
    decoded_all(decoder)
    assert [s.finish_reason for s in sequences] == ["length", "error", "length"]
    assert len(sequences[1].steps) == 3
    assert isinstance(sequences[1].error, NotANumberError) and which.upper() in str(sequences[1].error)
    steps = decode(pair, router, RAGGED[1], settings)
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
    decoded_all(decoder)
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
