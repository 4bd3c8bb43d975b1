"""Inputs that several tests share: prompts of all lengths, training rows, examples with a known mix of cases."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections.abc import Generator
from typing import Any

import torch

from citer_core.config import LlmServer
from citer_core.labelling.teacher_forcing import Example
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.server_client import ServerClient
from citer_core.routing.decode import decode
from citer_core.tasks.problems import problem_from_row
from citer_core.trace import AnswerInfo
from tests.completions_server import CompletionsServer

ROWS = [
    (
        {
            "id": f"r{i}",
            "problem": f"What is {i} plus {i}?",
            "solution": f"${i}+{i}={2 * i}$. It is $\\boxed{{{2 * i}}}$.",
        },
        "math",
    )
    for i in range(6)
]


def random_prompts(n, longest=30, seed=5):
    rng = random.Random(seed)
    return [[rng.randrange(1, 1536) for _ in range(rng.randint(1, longest))] for _ in range(n)]


PROMPTS = [[11, 402, 77], [8], list(range(200, 260)), *random_prompts(4)]


def generated(lm, prompt, n, eos=0):
    """Greedy tokens by transformers' own `generate`."""
    ids = torch.tensor([prompt])
    output = lm.model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=n, eos_token_id=eos, pad_token_id=0
    )
    return output[0, len(prompt) :].tolist()


def remote(pair: ModelPair, server: CompletionsServer, **options) -> ModelPair:
    """The pair with its LLM on the server; asks for nothing yet."""
    client = ServerClient(LlmServer(server.url, **{"timeout_s": 20.0, **options}))
    return dataclasses.replace(pair, llm=RemoteLM(client, "tiny-llm", len(pair.tokenizer), 512))


def exhausted(steps: Generator[Any, Any, Any]) -> tuple[list[Any], Any]:
    """All that a generator yields, and what it returns."""
    found = []
    while True:
        try:
            found.append(next(steps))
        except StopIteration as stop:
            return found, stop.value


def decoded(pair, router, prompt, settings, **options):
    """All events of a run, and why it ended."""
    return exhausted(decode(pair, router, prompt, settings, **options))


def _best(pair, name, ids):
    """What the model that is named (S or L) writes after every place of a text, nothing kept."""
    model = (pair.llm if name == "L" else pair.slm).model
    return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, :, :1536].argmax(-1).tolist()


def uncached(pair, prompt, pattern, n, guess=()):
    """Every token from a full forward of the model that the pattern names (S or L), nothing kept.

    One forward says what comes after every place of a guess: as far as that is right, no other is needed.
    """
    ids = list(prompt)
    with torch.inference_mode():
        said = {name: _best(pair, name, [*prompt, *guess]) for name in set(pattern)} if guess else {}
        for i in range(n):
            name, is_right = pattern[i % len(pattern)], bool(guess) and ids[len(prompt) :] == list(guess[:i])
            ids.append(said[name][len(ids) - 1] if is_right else _best(pair, name, ids)[-1])
            if ids[-1] in pair.eos_ids:
                break
    return ids[len(prompt) :]


def composed_example(pair, cases, number=0):
    """An example whose true tokens are of the given cases (1, 2 or 3), told by uncached forwards; EOS follows."""
    problem = problem_from_row({"id": f"c{number}", "problem": f"{number}?", "solution": "\\boxed{4}"}, "math")
    ids = [3 + number, 500 - number, 77]
    truth = []
    for case in cases:
        (slm,), (llm,) = (uncached(pair, ids + truth, which, 1) for which in "SL")
        assert slm != llm
        truth.append({1: slm, 2: llm, 3: next(i for i in range(100, 103) if i not in (slm, llm))}[case])
    return Example(problem, ids, [*truth, 0])


def verdict(text, problem):
    """Stands in for `check_answer`, as random models never write an answer: a coin that depends on every character."""
    right = hashlib.sha256(text.encode()).digest()[0] % 2 == 0
    return AnswerInfo(problem.true_answer, "?", right)
