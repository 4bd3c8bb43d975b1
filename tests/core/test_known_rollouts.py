"""Rollouts that look up what earlier ones came to: the same outcomes, and no model asked for what it has said."""

from __future__ import annotations

import pytest

from citer_core.labelling import known_rollouts, rollouts
from citer_core.labelling.known_rollouts import KnownRollouts
from citer_core.labelling.rollouts import Policy, RememberingPolicy, Start, roll_out
from citer_core.labelling.teacher_forcing import example_of
from citer_core.models.batched_lm import BatchedLM
from citer_core.routing.routers.max_probability import MaxProbabilityRouter
from tests.core.examples import ROWS, verdict

LIMITS = {"max_new_tokens": 20, "batch_size": 3}


@pytest.fixture
def asked(tiny_pair, monkeypatch):
    """Examples, and starts at every third of their tokens, some behind a token of their own."""
    monkeypatch.setattr(rollouts, "check_answer", verdict)
    monkeypatch.setattr(known_rollouts, "TOGETHER", 7)
    examples = [example_of(row, kind, tiny_pair) for row, kind in ROWS[:3]]
    starts = [
        Start(number, position, (40 + position,) if position % 2 else ())
        for number, example in enumerate(examples)
        for position in range(0, len(example.truth_ids), 3)
    ]
    assert len(starts) > 14
    return examples, starts


def test_rounds_with_a_memory_are_rounds_without_one(tiny_pair, asked, monkeypatch):
    known, n_read = KnownRollouts(), []
    honest = BatchedLM.catch_up

    def counted(lm, texts, slots):
        n_read.append(len(texts))
        return honest(lm, texts, slots)

    monkeypatch.setattr(BatchedLM, "catch_up", counted)
    spent = []
    for tau in (0.5, 0.55, 0.5):
        policy = Policy(MaxProbabilityRouter(), tau, **LIMITS)
        expected = dict(roll_out(tiny_pair, *asked, policy))
        n_read.clear()
        assert dict(roll_out(tiny_pair, *asked, RememberingPolicy.of(policy, known))) == expected
        spent.append(sum(n_read))
        assert known.n_nodes <= sum(outcome.n_tokens for outcome in expected.values()) * len(spent)
    assert spent[0] > spent[1] > spent[2] == 0


def test_other_starts_are_not_taken_for_known_ones(tiny_pair, asked):
    examples, starts = asked
    known = KnownRollouts()
    for some in (starts, starts[1:], starts[:9]):
        policy = Policy(MaxProbabilityRouter(), 0.5, **LIMITS)
        found = dict(roll_out(tiny_pair, examples, some, RememberingPolicy.of(policy, known)))
        assert found == dict(roll_out(tiny_pair, examples, some, policy))


def test_a_policy_with_a_memory_is_the_same_policy():
    policy = RememberingPolicy.of(Policy(MaxProbabilityRouter(), 0.3, 9, 2), KnownRollouts())
    assert (policy.threshold, policy.max_new_tokens, policy.batch_size, policy.is_llm_alone) == (0.3, 9, 2, False)
    assert policy.router.name == "max-probability"
