"""Preference labels against their definition: two one-token generations and a `generate` from the true prefix each."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from itertools import product
from types import SimpleNamespace

import pytest
import torch

from citer_core.errors import DatasetError
from citer_core.labelling import rollouts
from citer_core.labelling.labels import UNKNOWN, Labels, LabelSettings, label_examples, prior_logits
from citer_core.labelling.rollouts import Outcome, Policy, Start, roll_out
from citer_core.labelling.teacher_forcing import example_of, teacher_force
from citer_core.models.language_model import LanguageModel
from citer_core.routing.decode import decode
from citer_core.routing.routers.training_free import AlwaysLLMRouter, RandomRouter
from citer_core.tasks.answers import check_answer
from citer_core.types import DecodeSettings
from tests.core.examples import ROWS, composed_example, generated, verdict
from tests.sampling import sampled

ITERATION_1 = LabelSettings(Policy.slm_alone(max_new_tokens=12))
CASES = [[1, 3, 2, 3, 1, 1, 3, 2], [3, 2, 1, 3, 3], [2, 1, 3, 3, 3, 3, 1]]


@pytest.fixture(scope="module")
def examples(tiny_pair):
    """Three examples of random models whose true tokens are of all cases."""
    return [composed_example(tiny_pair, cases, number) for number, cases in enumerate(CASES)]


pytestmark = pytest.mark.usefixtures("coin")


def naive_cases(pair, example):
    """The definition, spelled out: two one-token generations for every ground-truth token."""
    cases = []
    for position, truth in enumerate(example.truth_ids):
        (slm,), (llm,) = (
            generated(lm, example.prompt_ids + example.truth_ids[:position], 1) for lm in (pair.slm, pair.llm)
        )
        cases.append(1 if slm == truth else 2 if llm == truth else 3)
    return cases


def is_right(pair, example, ids):
    text = pair.tokenizer.decode(ids, skip_special_tokens=True)
    return int(verdict(text, example.problem).is_correct)


# --- cases


def test_cases_are_those_of_one_token_generations(tiny_pair, examples):
    labels, forced = label_examples(tiny_pair, examples, ITERATION_1)
    expected = [naive_cases(tiny_pair, example) for example in examples]
    assert [truth.case.tolist() for truth in forced] == expected
    assert labels.case.tolist() == [case for cases in expected for case in cases]
    assert [cases[:-1] for cases in expected] == CASES  # as the examples were made; the end of text comes on top
    assert (labels.label[labels.case == 1] == 1).all() and (labels.label[labels.case == 2] == 0).all()


def test_every_example_ends_with_a_labelled_end_of_text(tiny_pair):
    """Without it the published router never learned the decision to stop."""
    real = [example_of(row, kind, tiny_pair) for row, kind in ROWS[:3]]
    assert all(example.truth_ids[-1] in tiny_pair.eos_ids for example in real)
    assert not any(i in tiny_pair.eos_ids for example in real for i in example.truth_ids[:-1])
    labels, _ = label_examples(tiny_pair, real, LabelSettings(Policy.slm_alone(max_new_tokens=2)))
    assert labels.hidden.shape == (sum(len(e.truth_ids) for e in real), tiny_pair.hidden_size)
    assert labels.question.tolist() == [n for n, e in enumerate(real) for _ in e.truth_ids]
    assert labels.position.tolist() == [i for e in real for i in range(len(e.truth_ids))]
    assert (labels.label != UNKNOWN).all()


def test_the_truth_is_the_completion_behind_the_prompt_of_inference(tiny_pair):
    example = example_of(*ROWS[2], tiny_pair)
    assert example.prompt_ids == tiny_pair.encode(example.problem.prompt)
    assert tiny_pair.tokenizer.decode(example.truth_ids, skip_special_tokens=True) == " " + ROWS[2][0]["solution"]


@pytest.mark.parametrize(("fused", "batch_tokens"), sampled(product([True, False], [64, 1, 4096]), 3))
def test_teacher_forcing_is_a_forward_over_each_text_alone(tiny_pair, examples, fused, batch_tokens):
    """Hidden states, probabilities and both models' tokens, whatever shares a pass."""
    pair = tiny_pair
    if not fused:
        plain = [LanguageModel(lm.model, lm.vocab_size, fused=False) for lm in (pair.slm, pair.llm)]
        pair = dataclasses.replace(pair, slm=plain[0], llm=plain[1])
    found = list(teacher_force(pair, examples, keep_logits=True, batch_tokens=batch_tokens))
    assert len(found) == len(examples)
    for example, forced in zip(examples, found, strict=True):
        n = len(example.truth_ids)
        ids = torch.tensor([example.prompt_ids + example.truth_ids[:-1]])
        truth = torch.tensor(example.truth_ids)
        with torch.inference_mode():
            slm = pair.slm.model(input_ids=ids, use_cache=False, output_hidden_states=True)
            llm = pair.llm.model(input_ids=ids, use_cache=False).logits[0, -n:, :1536]
        torch.testing.assert_close(forced.hidden, slm.hidden_states[-1][0, -n:], rtol=1e-3, atol=1e-3)
        p = torch.softmax(slm.logits[0, -n:, :1536].double(), -1)
        two = p.topk(2).values
        for ours, reference in (
            (forced.max_probability, two[:, 0]),
            (forced.margin, two[:, 0] - two[:, 1]),
            (forced.entropy, -(p * p.log()).sum(-1)),
            (forced.slm_log_prob.exp(), p[torch.arange(n), truth]),
            (forced.llm_log_prob.exp(), torch.softmax(llm.double(), -1)[torch.arange(n), truth]),
            (forced.llm_logits, llm),
        ):
            torch.testing.assert_close(ours.double(), reference.double(), rtol=2e-3, atol=2e-3)
        assert forced.slm_ids.tolist() == p.argmax(-1).tolist() and forced.llm_ids.tolist() == llm.argmax(-1).tolist()
        assert forced.truth_ids.tolist() == example.truth_ids
    assert next(iter(teacher_force(pair, examples[:1]))).slm_logits is None


# --- rollouts of case 3


def test_iteration_1_lets_the_slm_go_on_alone_from_the_true_prefix(tiny_pair, examples):
    labels, _ = label_examples(tiny_pair, examples, ITERATION_1, first_question=40)
    for number, example in enumerate(examples):
        mine = labels.take(labels.question == 40 + number)
        for position in (mine.case == 3).nonzero().flatten().tolist():
            kept = example.truth_ids[:position]
            written = kept + generated(tiny_pair.slm, example.prompt_ids + kept, 12)
            assert int(mine.label[position]) == is_right(tiny_pair, example, written)
    assert Counter(labels.label[labels.case == 3].tolist()).keys() == {0, 1}


def test_iteration_2_puts_the_slms_token_first_and_both_models_behind_it(tiny_pair, examples):
    policy = Policy(RandomRouter(), 0.6, max_new_tokens=10, batch_size=4)
    labels, forced = label_examples(tiny_pair, examples, LabelSettings(policy, iteration=2))
    first, _ = label_examples(tiny_pair, examples, ITERATION_1)
    sources = set()
    for number, (example, truth) in enumerate(zip(examples, forced, strict=True)):
        mine = labels.take(labels.question == number)
        for position in (mine.case == 3).nonzero().flatten().tolist():
            kept = [*example.truth_ids[:position], int(truth.slm_ids[position])]
            events = list(decode(tiny_pair, policy.router, example.prompt_ids + kept, DecodeSettings(0.6, 10)))
            sources |= {e.source for e in events}
            assert int(mine.label[position]) == is_right(tiny_pair, example, kept + [e.token_id for e in events])
    assert sources == {"slm", "llm"}
    settled = labels.case != 3  # only case 3 is labelled anew
    assert torch.equal(labels.label[settled], first.label[settled])
    assert not torch.equal(labels.label, first.label)


def test_a_forced_end_of_text_is_marked_as_it_stands(tiny_pair, examples):
    starts = [Start(0, 3, (0,)), Start(1, 2, (5,)), Start(0, 3)]
    found = dict(roll_out(tiny_pair, examples, starts, Policy.slm_alone(max_new_tokens=4)))
    assert sorted(found) == [0, 1, 2]
    text = tiny_pair.tokenizer.decode(examples[0].truth_ids[:3], skip_special_tokens=True)
    ids, is_right = [*examples[0].truth_ids[:3], 0], bool(verdict(text, examples[0].problem).is_correct)
    assert found[0] == Outcome(text, "?", is_right, ids)
    assert len(found[1].token_ids) == 2 + 1 + 4 and len(found[2].token_ids) == 3 + 4


def test_only_the_completion_is_searched_for_the_answer(tiny_pair, monkeypatch):
    """The published code looked for the answer in the prompt too, whose empty box made all its math labels 0."""
    example = example_of(*ROWS[2], tiny_pair)
    seen = []

    def completions(pair, router, prompts, settings, *, batch_size, memory):
        for i, prompt in enumerate(prompts):
            position = len(prompt) - len(example.prompt_ids)
            seen.append(position)
            answer = tiny_pair.tokenizer.encode(f" so \\boxed{{{4 if position % 2 == 0 else 5}}}")
            yield SimpleNamespace(index=i, token_ids=answer)

    monkeypatch.setattr(rollouts, "decode_batch", completions)
    monkeypatch.setattr(rollouts, "check_answer", check_answer)
    labels, _ = label_examples(tiny_pair, [example], ITERATION_1)
    case_3 = (labels.case == 3).nonzero().flatten().tolist()
    assert sorted(seen) == case_3 and len(case_3) > 5
    for position in case_3:
        text = tiny_pair.tokenizer.decode(example.truth_ids[:position])
        right = check_answer(f"{text} so \\boxed{{{4 if position % 2 == 0 else 5}}}", example.problem).is_correct
        assert int(labels.label[position]) == int(bool(right))
    assert labels.label[case_3].unique().numel() == 2


# --- which tokens are rolled out


def test_a_draw_holds_n_per_example_and_follows_seed_and_question_alone(tiny_pair, examples):
    def drawn(first_question=0, some=examples, **changes):
        labels, _ = label_examples(
            tiny_pair, some, LabelSettings(ITERATION_1.policy, n_rollouts=2, **changes), first_question
        )
        assert (labels.label[labels.case != 3] != UNKNOWN).all()
        known = (labels.case == 3) & (labels.label != UNKNOWN)
        return {
            q: labels.position[known & (labels.question == q)].tolist() for q in labels.question.unique().tolist()
        }, labels

    (places, labels), (again, _) = drawn(), drawn()
    assert places == again and all(len(p) == 2 for p in places.values())
    assert drawn(seed=1)[0] != places
    assert drawn(first_question=1, some=examples[1:])[0] == {q: places[q] for q in (1, 2)}  # so shards agree
    copies = drawn(some=[examples[2]] * 8)[0]
    assert len({tuple(p) for p in copies.values()}) > 1  # nor do all questions of one length get the same places
    everything, _ = label_examples(tiny_pair, examples, ITERATION_1)
    known = labels.label != UNKNOWN
    assert torch.equal(labels.label[known], everything.label[known])  # drawn or not, a rollout says the same
    none, _ = label_examples(tiny_pair, examples, LabelSettings(ITERATION_1.policy, n_rollouts=0))
    assert (none.label[none.case == 3] == UNKNOWN).all()


def test_asking_the_slm_marks_each_question_by_its_own_answer(tiny_pair, examples):
    policy = Policy(AlwaysLLMRouter(), 0.9, max_new_tokens=9)  # who rolls out case 3 does not answer for the SLM
    labels, _ = label_examples(tiny_pair, examples, LabelSettings(policy, iteration=2, n_rollouts=1, ask_slm=True))
    answers = []
    for number, example in enumerate(examples):
        alone = generated(tiny_pair.slm, example.prompt_ids, 9)  # under the limit of all rollouts
        answers.append(is_right(tiny_pair, example, alone))
        assert labels.slm_is_correct[labels.question == number].unique().tolist() == [answers[-1]]
    assert (label_examples(tiny_pair, examples, ITERATION_1)[0].slm_is_correct == UNKNOWN).all()


# --- what they are for


def test_priors_are_the_log_odds_of_each_group():
    label = torch.tensor([1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1])
    group = torch.tensor([0, 0, 0, 0, 5, 5, 5, 5, 5, 9, 9])
    prior = prior_logits(label, group)
    assert prior.tolist() == pytest.approx([math.log(3)] * 4 + [math.log(1 / 4)] * 5 + [0.0] * 2)


def test_parts_are_put_together_in_order(tiny_pair, examples):
    whole, _ = label_examples(tiny_pair, examples, ITERATION_1)
    parts = [label_examples(tiny_pair, [e], ITERATION_1, n)[0] for n, e in enumerate(examples)]
    joined = Labels.concatenate(parts)
    assert torch.equal(joined.label, whole.label) and torch.equal(joined.question, whole.question)
    torch.testing.assert_close(joined.hidden, whole.hidden, rtol=1e-3, atol=1e-3)
    assert len(joined.take(joined.case == 3)) == int((whole.case == 3).sum())


def test_a_row_that_the_models_cannot_hold_is_named(tiny_pair):
    """Its last true token has to leave room for one more, or nothing could be rolled out from there."""
    row = {"id": "long-one", "problem": "x", "solution": "1 " * 600 + "\\boxed{1}"}
    with pytest.raises(DatasetError, match=r"'long-one' has [\d,]+ tokens .* fewer than 512"):
        example_of(row, "math", tiny_pair)


def test_features_are_those_of_the_tokens_and_their_own_prompts(tiny_pair, examples):
    labels, _ = label_examples(tiny_pair, examples, ITERATION_1, first_question=7)
    tokens = torch.tensor([len(labels) - 1, 0, len(CASES[0]) + 3])
    f = labels.features(tokens)
    assert torch.equal(f.hidden, labels.hidden[tokens]) and torch.equal(f.margin, labels.margin[tokens])
    starts = [0, len(CASES[0]) + 1, len(CASES[0]) + len(CASES[1]) + 2]
    assert torch.equal(f.prompt_hidden, labels.hidden[[starts[2], starts[0], starts[1]]])


def test_the_batch_of_rollouts_changes_no_label(tiny_pair, examples):
    one, many = (
        label_examples(tiny_pair, examples, LabelSettings(Policy(RandomRouter(), 0.5, 10, size), 2))[0].label
        for size in (1, 16)
    )
    assert torch.equal(one, many)
