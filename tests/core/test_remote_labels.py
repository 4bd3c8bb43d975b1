"""Labels against an LLM on a server: those of the loaded one, read in one request and rolled out in few."""

from __future__ import annotations

import json

import pytest
import torch

from citer_core.errors import PairError, ServerError
from citer_core.labelling.labels import LabelSettings, label_examples
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.teacher_forcing import example_of, teacher_force
from citer_core.models import remote_texts as module
from citer_core.models.remote_texts import remote_completions
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from tests.core.examples import ROWS, composed_example, generated, random_prompts, remote
from tests.sampling import sampled

CASES = [[1, 2, 3, 2, 1], [3, 2, 1, 3], [2, 1, 3, 1]]


@pytest.fixture(scope="module")
def examples(tiny_pair):
    return [composed_example(tiny_pair, cases, number) for number, cases in enumerate(CASES)]


pytestmark = pytest.mark.usefixtures("coin")


# --- reading


def test_a_batch_is_read_in_one_request_as_the_loaded_llm_reads_it(tiny_pair, server, examples):
    some = [*examples, *(example_of(*row, tiny_pair) for row in ROWS[:2])]
    ours, theirs = (list(teacher_force(pair, some)) for pair in (remote(tiny_pair, server), tiny_pair))
    (body,) = server.bodies
    assert (body["prompt_logprobs"], body["max_tokens"], body["temperature"]) == (1, 1, 0.0)
    assert body["prompt"] == [example.prompt_ids + example.truth_ids for example in some]
    for one, other in zip(ours, theirs, strict=True):
        for name in ("truth_ids", "slm_ids", "llm_ids", "case"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
        torch.testing.assert_close(one.llm_log_prob, other.llm_log_prob, rtol=1e-3, atol=1e-3)
        assert torch.equal(one.hidden, other.hidden) and one.llm_log_prob.dtype == torch.float32
    assert {int(case) for one in ours for case in one.case} == {1, 2, 3}


def test_logits_are_not_to_be_had(tiny_pair, server, examples):
    with pytest.raises(PairError, match="without --llm-url"):
        next(iter(teacher_force(remote(tiny_pair, server), examples, keep_logits=True)))


def answer(places, n=1):
    return json.dumps(
        {"choices": [{"index": i, "token_ids": [5], "prompt_logprobs": places} for i in range(n)]}
    ).encode()


def place(ids, value=-0.5):
    return {str(i): {"logprob": value, "rank": 1} for i in ids}


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (lambda text: None, "prompt_logprobs"),  # a server that does not know the word
        (lambda text: [place([i]) for i in text[1:]], "prompt_logprobs"),  # of another text
        (lambda text: [place([i + 1]) for i in text], "prompt_logprobs"),  # without the text's own tokens
        (lambda text: [place([i], "high") for i in text], "prompt_logprobs"),
        (lambda text: [place([i]) | place([1536], -0.1) for i in text], "has 1536 tokens"),
    ],
)
def test_a_server_that_does_not_say_is_a_message(tiny_pair, server, examples, edit, part):
    text = examples[0].prompt_ids + examples[0].truth_ids
    server.lie(answer(edit(text)))
    with pytest.raises(ServerError, match=part):
        list(teacher_force(remote(tiny_pair, server), examples[:1]))


def test_a_token_of_no_probability_is_still_a_number(tiny_pair, server, examples):
    """vLLM says -9999 for minus infinity; another server may say less than float32 holds."""
    text = examples[0].prompt_ids + examples[0].truth_ids
    server.lie(answer([None, *(place([i], -1e39) for i in text[1:])]))
    (forced,) = teacher_force(remote(tiny_pair, server), examples[:1])
    assert forced.llm_log_prob.isfinite().all() and (forced.llm_log_prob < -1e3).all()


# --- rollouts


@pytest.mark.parametrize("what", ["published", "outcome"])
def test_labels_are_those_of_the_loaded_llm(tiny_pair, server, examples, what):
    policy = Policy.llm_alone if what == "outcome" else Policy.slm_alone
    settings = LabelSettings(policy(max_new_tokens=9, batch_size=8), labels=what)
    ours, theirs = (label_examples(pair, examples, settings)[0] for pair in (remote(tiny_pair, server), tiny_pair))
    for name in ("label", "case", "slm_branch", "llm_branch"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name
    n_rolled = len({tuple(prompt) for body in server.bodies[1:] for prompt in body["prompt"]})
    assert len(server.bodies) == 1 + (-(-n_rolled // 8) if what == "outcome" else 0)  # 9 tokens are one request


def test_routed_rollouts_ask_for_the_tokens_of_all_that_wait(tiny_pair, server, examples):
    settings = LabelSettings(Policy(MaxProbabilityRouter(), 0.5, 6, 8), 2, labels="outcome")
    ours, theirs = (label_examples(pair, examples, settings)[0] for pair in (remote(tiny_pair, server), tiny_pair))
    assert ours.label.tolist() == theirs.label.tolist()
    assert max(len(body["prompt"]) for body in server.bodies[1:]) > 1


@pytest.mark.parametrize(("n", "batch_size"), sampled([(7, 3), (1, 3), (10, 1), (10, 16)], 4))
def test_completions_are_those_of_generate_whatever_a_request_holds(tiny_pair, server, monkeypatch, n, batch_size):
    monkeypatch.setattr(module, "TOKENS_PER_REQUEST", 4)
    prompts = random_prompts(6)
    lm = remote(tiny_pair, server).llm
    ends = frozenset({0, generated(tiny_pair.llm, prompts[2], 3)[2]})  # ends a text in the middle of a request
    options = {"eos_ids": ends, "max_new_tokens": n, "max_context": 512, "batch_size": batch_size}
    found = dict(remote_completions(lm, prompts, **options))
    for row, prompt in enumerate(prompts):
        ids = generated(tiny_pair.llm, prompt, n)
        stop = next((i for i, token in enumerate(ids) if token in ends), len(ids))
        assert found[row] == ids[: stop + 1]
    assert all(len(body["prompt"]) <= batch_size and body["max_tokens"] <= 4 for body in server.bodies)


@pytest.mark.parametrize(
    "choice",
    [
        {"token_ids": "5"},
        {"token_ids": [5, 5]},  # more than were asked for
        {"token_ids": [], "finish_reason": "length"},  # or none, for ever
    ],
)
def test_completions_that_are_none_are_a_message(tiny_pair, server, choice):
    server.lie(json.dumps({"choices": [{"index": 0, **choice}]}).encode())
    options = {"eos_ids": frozenset({0}), "max_new_tokens": 1, "max_context": 512, "batch_size": 4}
    with pytest.raises(ServerError, match="vLLM"):
        list(remote_completions(remote(tiny_pair, server).llm, [[5, 6]], **options))


def test_a_stop_token_that_is_not_named_ends_a_text_all_the_same(tiny_pair, server):
    server.lie(json.dumps({"choices": [{"index": 0, "token_ids": [5], "finish_reason": "stop"}]}).encode())
    options = {"eos_ids": frozenset({0}), "max_new_tokens": 9, "max_context": 512, "batch_size": 4}
    assert list(remote_completions(remote(tiny_pair, server).llm, [[5, 6]], **options)) == [(0, [5])]


def test_a_full_context_ends_a_text(tiny_pair, server):
    prompts = [[7] * 20, [9] * 18]
    lm = remote(tiny_pair, server).llm
    options = {"eos_ids": frozenset(), "max_new_tokens": 50, "max_context": 21, "batch_size": 4}
    found = dict(remote_completions(lm, prompts, **options))
    assert {row: len(ids) for row, ids in found.items()} == {0: 1, 1: 3}
