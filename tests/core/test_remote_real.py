"""The LLM on a real server, on request: this test has its own command, because it needs a server that it cannot start.

vllm serve FOLDER --dtype float32 --enable-prefix-caching       # FOLDER: assets/models/llm and tokenizer together
CITER_TEST_LLM_URL=http://127.0.0.1:8000/v1 python -m pytest -m slow tests/core/test_remote_real.py
"""

from __future__ import annotations

import os
import time

import pytest

from citer_core.assets import ASSETS
from citer_core.config import LlmServer
from citer_core.labelling.labels import LabelSettings, label_examples
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.teacher_forcing import example_of
from citer_core.models.pair import load_pair
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.routers.training_free import MaxProbabilityRouter
from citer_core.tasks.datasets import read_rows
from citer_core.types import DecodeSettings

URL = os.environ.get("CITER_TEST_LLM_URL", "")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not URL, reason="CITER_TEST_LLM_URL names no server")]
N_PROBLEMS = 15


@pytest.fixture(scope="module")
def pairs():
    return load_pair(), load_pair(server=LlmServer(URL))


def prompts(pair):
    rows = []
    for kind in ("math", "mc"):
        path = ASSETS / "datasets" / f"{kind}.jsonl"
        rows += list(read_rows(path, kind, on_error=lambda error: pytest.fail(str(error))))[:N_PROBLEMS]
    return [pair.encode(row.problem.prompt) for row in rows]


def write(pair, prompt, settings):
    return [event.token_id for event in decode(pair, MaxProbabilityRouter(), prompt, settings)]


def test_greedy_tokens_are_those_of_the_loaded_llm(pairs):
    """Two implementations of one model in float32: their sums differ in the last bits, and no token hung on those."""
    local, remote = pairs
    settings = DecodeSettings(threshold=0.9, max_new_tokens=120)
    expected = [write(local, prompt, settings) for prompt in prompts(local)]
    assert [write(remote, prompt, settings) for prompt in prompts(remote)] == expected
    batch = decode_batch(remote, MaxProbabilityRouter(), prompts(remote), settings, batch_size=8)
    assert [c.token_ids for c in sorted(batch, key=lambda c: c.index)] == expected


def test_the_end_of_a_text_is_a_token_like_any_other(pairs):
    """Servers stop at it and leave its text away; its id must still come back."""
    local, remote = pairs
    settings = DecodeSettings(threshold=1.0, max_new_tokens=60)
    prompt = prompts(local)[-1]
    expected = write(local, prompt, settings)
    assert expected[-1] in local.eos_ids
    assert write(remote, prompt, settings) == expected


def test_sampled_tokens_repeat(pairs):
    _, remote = pairs
    settings = DecodeSettings(threshold=1.0, max_new_tokens=12, temperature=1.0, top_p=0.95, seed=4)
    prompt = prompts(remote)[0]
    assert write(remote, prompt, settings) == write(remote, prompt, settings)


def test_cases_and_labels_by_outcome_are_those_of_the_loaded_llm(pairs):
    """All cases of 30 known solutions from `prompt_logprobs`, and every disagreement rolled out on the server."""
    local, remote = pairs
    examples = []
    for kind in ("math", "mc"):
        rows = list(read_rows(ASSETS / "datasets" / f"{kind}.jsonl", kind))[:N_PROBLEMS]
        examples += [example_of(row.row, kind, local) for row in rows]
    settings = LabelSettings(Policy.llm_alone(max_new_tokens=120), labels="outcome")
    (ours, read), (theirs, known) = (label_examples(pair, examples, settings) for pair in (remote, local))
    assert [r.case.tolist() for r in read] == [k.case.tolist() for k in known]
    assert [r.llm_ids.tolist() for r in read] == [k.llm_ids.tolist() for k in known]
    for name in ("label", "slm_branch", "llm_branch"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name
    assert float((ours.llm_log_prob - theirs.llm_log_prob).abs().max()) < 1e-2


def test_a_waiting_run_is_cancelled(pairs):
    _, remote = pairs
    asked: list[float] = []

    def is_cancelled():
        asked.append(time.monotonic())
        return len(asked) > 3

    steps = decode(
        remote, MaxProbabilityRouter(), prompts(remote)[0], DecodeSettings(1.0, 200), is_cancelled=is_cancelled
    )
    assert len(list(steps)) <= 3
