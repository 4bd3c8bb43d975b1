"""Speed of labelling on one machine in one run: teacher forcing beside two `generate` calls for each token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from citer_core.labelling.teacher_forcing import Example, teacher_force
from citer_core.measuring.pipeline_benchmark import Tell, about, generate
from citer_core.measuring.rounds import timed
from citer_core.models.pair import ModelPair


def labelling_benchmark(
    pair: ModelPair, examples: Sequence[Example], n_plain: int = 4, tell: Tell = lambda _: None
) -> dict[str, Any]:
    """Labelled tokens per second by teacher forcing, beside two one-token `generate` calls per token.

    Args:
        pair: the two models.
        examples: to label; the first `n_plain` are also labelled the plain way, which is what takes the time.
        n_plain: see above.
        tell: told the speed of the first way when it is known, and each example of the other.

    Returns:
        Both speeds, their ratio, and whether the cases were the same.
    """
    list(teacher_force(pair, examples[:2]))
    forced_s, forced = timed(lambda: [truth.case.tolist() for truth in teacher_force(pair, examples)])
    n_tokens = sum(map(len, forced))
    ours = n_tokens / forced_s
    tell(f"teacher-forced: {ours:.1f} tokens/s")
    plain_s, plain = 0.0, list[list[int]]()
    for number, example in enumerate(examples[:n_plain], 1):
        seconds, cases = timed(partial(_plain_cases, pair, example))
        plain_s += seconds
        plain.append(cases)
        tell(f"the plain way: {number} of {n_plain} examples")
    n_tokens_plain = sum(map(len, plain))
    theirs = n_tokens_plain / plain_s
    return about(pair, "python -m citer_core bench --what labels") | {
        "n_examples": len(examples),
        "n_tokens": n_tokens,
        "n_tokens_plain": n_tokens_plain,
        "teacher_forced_tokens_per_s": round(ours, 1),
        "one_token_generate_tokens_per_s": round(theirs, 1),
        "ratio": round(ours / theirs, 1),
        "same_cases": plain == forced[:n_plain],
    }


def _plain_cases(pair: ModelPair, example: Example) -> list[int]:
    """The definition of the cases, spelled out, as the authors' published code does it."""
    cases = []
    for position, truth in enumerate(example.truth_ids):
        ids = example.prompt_ids + example.truth_ids[:position]
        slm, llm = generate(pair.slm, ids, 1), generate(pair.local_llm, ids, 1)
        cases.append(1 if slm == [truth] else 2 if llm == [truth] else 3)
    return cases
