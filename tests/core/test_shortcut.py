"""How right the shortcut is: the report against outcomes that are known beforehand."""

from __future__ import annotations

import pytest

from citer_core.evaluation import shortcut
from citer_core.evaluation.metrics import wilson_interval
from citer_core.evaluation.shortcut import compare_branches
from citer_core.labelling import rollouts
from citer_core.labelling.labels import LabelSettings, label_examples
from citer_core.labelling.rollouts import Outcome, Policy, Start, roll_out_branches
from citer_core.labelling.teacher_forcing import teacher_force
from tests.core.examples import composed_example, generated, verdict

POLICY = Policy.slm_alone(max_new_tokens=6)
RIGHT, WRONG = Outcome("r", "4", True, [1]), Outcome("w", "5", False, [2])


@pytest.fixture(scope="module")
def examples(tiny_pair):
    """Two examples, whose cases in all are 1 three times, 2 four times and 3 five times, ends of text included."""
    return [composed_example(tiny_pair, cases, n) for n, cases in enumerate([[1, 2, 3, 2, 1], [2, 3, 1, 3, 2]])]


def test_the_table_by_hand(tiny_pair, examples, monkeypatch):
    """Outcomes are set by who wrote the branch's token: at even positions the SLM's is right, at odd ones the LLM's;
    the second example's first position fails either way.
    """
    forced = list(teacher_force(tiny_pair, examples))

    def set_outcomes(pair, given, starts, policy):
        assert policy is POLICY and given is examples
        for i, start in enumerate(starts):
            (token,) = start.forced_ids or (None,)
            by_slm = token == int(forced[start.example].slm_ids[start.position])
            right = by_slm == (start.position % 2 == 0) and (start.example, start.position) != (1, 0)
            yield i, RIGHT if right else WRONG

    monkeypatch.setattr(rollouts, "roll_out", set_outcomes)
    # The labels' own rollouts of case 3, from (example, position): right at even positions.
    monkeypatch.setattr(
        "citer_core.labelling.labels.roll_out",
        lambda pair, given, starts, policy: (
            (i, RIGHT if s.position % 2 == 0 else WRONG) for i, s in enumerate(starts)
        ),
    )
    report = compare_branches(tiny_pair, examples, POLICY, n_per_case=100, seed=3)
    assert (report["n_examples"], report["seed"]) == (2, 3)
    assert report["policy"] == {"router": "always-slm", "threshold": 0.0}
    # Case 1 (label 1) is at positions 0, 4 of example 0 and 2 of example 1: the SLM's branch is right at all of them.
    one = report["cases"]["1"]
    assert (one["n_tokens"], one["n"], one["n_decided"], one["n_undecided"], one["n_right"]) == (3, 3, 3, 0, 3)
    assert one["share_right"] == 1.0 and one["slm_right_llm_wrong"] == 3
    # Case 2 (label 0): 1, 3 of example 0 (right: the LLM's), 0 of example 1 (neither), 4 of example 1 (the SLM's).
    two = report["cases"]["2"]
    assert (two["n_tokens"], two["n_decided"], two["n_undecided"], two["n_right"]) == (4, 3, 1, 2)
    assert two["share_right"] == round(2 / 3, 4)
    assert two["interval_95"] == [round(x, 4) for x in wilson_interval(2, 3)]
    assert two["n_label_fails_where_the_other_does_not"] == 1
    assert {k: v for k, v in two.items() if k.startswith("slm_")} == {
        "slm_right_llm_right": 0, "slm_right_llm_wrong": 1, "slm_wrong_llm_right": 2, "slm_wrong_llm_wrong": 1,
    }  # fmt: skip
    # Case 3: 2 of example 0 (label 1, right), the ends at 5 (label 0), 1 and 3 of example 1 (label 0, the LLM's).
    three = report["cases"]["3"]
    assert (three["n_tokens"], three["n_right"], three["n_decided"]) == (5, 5, 5)
    assert sum(case["n_same_token"] for case in report["cases"].values()) == 0


def test_a_draw_is_seeded_and_no_larger_than_it_may_be(tiny_pair, examples, monkeypatch):
    drawn = []

    def all_right(pair, given, starts, policy):
        return ((i, RIGHT) for i, _ in enumerate(starts))

    def record(pair, given, starts, policy):
        drawn.append([(s.example, s.position) for s in starts])
        return all_right(pair, given, starts, policy)

    monkeypatch.setattr(rollouts, "roll_out", record)
    monkeypatch.setattr("citer_core.labelling.labels.roll_out", all_right)
    reports = [compare_branches(tiny_pair, examples, POLICY, 2, seed) for seed in (0, 0, 1)]
    assert drawn[:3] == drawn[3:6] != drawn[6:]
    assert all(len(set(places)) <= 2 for places in drawn)
    assert [case["n"] for case in reports[0]["cases"].values()] == [2, 2, 2]
    assert [case["n_tokens"] for case in reports[0]["cases"].values()] == [3, 4, 5]


def test_both_branches_are_the_prefix_the_token_and_the_policy(tiny_pair, examples, monkeypatch):
    monkeypatch.setattr(rollouts, "check_answer", verdict)
    example, position, tokens = examples[0], 3, (55, 66)
    ((slm, llm),) = roll_out_branches(tiny_pair, examples, [(0, position)], [tokens], POLICY)
    for outcome, token in ((slm, 55), (llm, 66)):
        kept = [*example.truth_ids[:position], token]
        written = kept + generated(tiny_pair.slm, example.prompt_ids + kept, 6)
        assert outcome.completion == tiny_pair.tokenizer.decode(written, skip_special_tokens=True)


def test_equal_tokens_and_equal_places_are_rolled_out_once(tiny_pair, examples, monkeypatch):
    asked = []

    def record(pair, given, starts, policy):
        asked.extend(starts)
        return ((i, Outcome(f"{s.forced_ids[0]}", None, False, [])) for i, s in reversed(list(enumerate(starts))))

    monkeypatch.setattr(rollouts, "roll_out", record)
    places = [(0, 1), (0, 2), (0, 1)]
    found = roll_out_branches(tiny_pair, examples, places, [(7, 7), (7, 8), (7, 9)], POLICY)
    assert asked == [Start(0, 1, (7,)), Start(0, 2, (7,)), Start(0, 2, (8,)), Start(0, 1, (9,))]
    assert [(a.completion, b.completion) for a, b in found] == [("7", "7"), ("7", "8"), ("7", "9")]


def test_the_llm_judges_labels_that_the_slm_made(tiny_pair, examples, monkeypatch):
    """Who goes on from both branches is another question than whose rollouts the published labels of case 3 are."""
    monkeypatch.setattr(rollouts, "check_answer", verdict)
    seen, honest = [], label_examples
    monkeypatch.setattr(shortcut, "label_examples", lambda pair, some, s: seen.append(s) or honest(pair, some, s))
    report = compare_branches(tiny_pair, examples, Policy.llm_alone(max_new_tokens=6, batch_size=5), 100)
    assert [(s.policy.router.name, s.policy.max_new_tokens, s.labels) for s in seen] == [("always-slm", 6, "published")]
    assert report["policy"] == {"router": "always-llm", "threshold": 1.0}
    by_outcome = LabelSettings(Policy.llm_alone(max_new_tokens=6), labels="outcome")
    labels, _ = label_examples(tiny_pair, examples, by_outcome)
    counted = report["cases"]["2"]
    case_2 = (labels.case == 2) & labels.is_tried
    both = (labels.slm_branch == 1) & (labels.llm_branch == 1) & case_2
    assert (counted["n"], counted["slm_right_llm_right"]) == (int(case_2.sum()), int(both.sum()))
