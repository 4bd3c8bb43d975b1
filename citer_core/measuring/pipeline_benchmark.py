"""Speed of the pipeline on one machine in one run: decoding in batches, and labelling, each beside its plain form.

Each result says whether both forms gave the same tokens or cases. Knows nothing about where results are stored.
"""

from __future__ import annotations

import datetime
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from citer_core.engine import Engine
from citer_core.hardware import hardware_in_words
from citer_core.labelling.teacher_forcing import Example, teacher_force
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode, decode_batch
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings


def batch_benchmark(
    engine: Engine,
    problems: Sequence[Problem],
    *,
    thresholds: Sequence[float] = (0.0, 0.5, 0.95, 1.0),
    batch_size: int = 16,
    max_new_tokens: int = 150,
    n_rounds: int = 3,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Tokens per second of `decode_batch` beside one `decode` after another, under the default router.

    Args:
        engine: pair and router.
        problems: what is answered, all of them both ways: a token costs more where the prompt is long beside what is
            written, so two sets of problems could not be compared.
        thresholds: taus to measure at.
        batch_size: sequences at once.
        max_new_tokens, n_rounds: size of the measurement; medians over the rounds.
        tell: told what each tau came to.

    Returns:
        Per tau both speeds, their ratio, the share of LLM tokens and whether the tokens were the same.
    """
    pair, router = engine.pair, engine.router()
    prompts = [pair.encode(problem.prompt) for problem in problems]
    rows = {}
    for threshold in thresholds:
        settings = DecodeSettings(threshold=threshold, max_new_tokens=max_new_tokens)
        single, batched, same, share = [], [], True, 0.0
        for _ in range(n_rounds):
            start = time.perf_counter()
            alone = [[e.token_id for e in decode(pair, router, prompt, settings)] for prompt in prompts]
            single.append(sum(map(len, alone)) / (time.perf_counter() - start))
            start = time.perf_counter()
            completions = decode_batch(pair, router, prompts, settings, batch_size=batch_size, may_vary_threads=True)
            together = {c.index: c for c in completions}
            n_tokens = sum(len(c.steps) for c in together.values())
            batched.append(n_tokens / (time.perf_counter() - start))
            same = same and all(together[i].token_ids == ids for i, ids in enumerate(alone))
            share = sum(c.n_llm_tokens for c in together.values()) / n_tokens
        rows[f"{threshold:g}"] = {
            "llm_token_share": round(share, 4),
            "single_tokens_per_s": round(statistics.median(single), 1),
            "batch_tokens_per_s": round(statistics.median(batched), 1),
            "ratio": round(statistics.median(b / s for b, s in zip(batched, single, strict=True)), 2),
            "same_tokens": same,
        }
        tell(f"tau {threshold:g}: {rows[f'{threshold:g}']}")
    return about(pair, "python -m citer_core bench --what batch") | {
        "router": router.name,
        "batch_size": batch_size,
        "n_prompts": len(prompts),
        "max_new_tokens": max_new_tokens,
        "thresholds": rows,
    }


def labelling_benchmark(
    pair: ModelPair, examples: Sequence[Example], n_plain: int = 4, tell: Callable[[str], None] = lambda _: None
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
    start = time.perf_counter()
    forced = list(teacher_force(pair, examples))
    n_tokens = sum(len(truth.case) for truth in forced)
    ours = n_tokens / (time.perf_counter() - start)
    tell(f"teacher-forced: {ours:.1f} tokens/s")
    start = time.perf_counter()
    plain = []
    for number, example in enumerate(examples[:n_plain], 1):
        plain.append(_plain_cases(pair, example))
        tell(f"the plain way: {number} of {n_plain} examples")
    n_plain_tokens = sum(map(len, plain))
    theirs = n_plain_tokens / (time.perf_counter() - start)
    return about(pair, "python -m citer_core bench --what labels") | {
        "n_examples": len(examples),
        "n_tokens": n_tokens,
        "n_tokens_plain": n_plain_tokens,
        "teacher_forced_tokens_per_s": round(ours, 1),
        "one_token_generate_tokens_per_s": round(theirs, 1),
        "ratio": round(ours / theirs, 1),
        "same_cases": plain == [truth.case.tolist() for truth in forced[:n_plain]],
    }


def _plain_cases(pair: ModelPair, example: Example) -> list[int]:
    """The definition of the cases, spelled out, as the authors' published code does it."""
    cases = []
    for position, truth in enumerate(example.truth_ids):
        ids = example.prompt_ids + example.truth_ids[:position]
        slm, llm = _next_token(pair.slm, ids), _next_token(pair.local_llm, ids)
        cases.append(1 if slm == truth else 2 if llm == truth else 3)
    return cases


def _next_token(lm: LanguageModel, ids: Sequence[int]) -> int:
    prompt = torch.tensor([list(ids)], device=lm.device)
    output = lm.model.generate(
        prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=1, pad_token_id=0
    )
    return int(output[0, -1])


def about(pair: ModelPair, command: str) -> dict[str, Any]:
    """What a stored result says of where it came from."""
    return {
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
        "command": command,
        "pair": pair.info.name,
        "pair_revision": pair.info.revision,
        "dtype": pair.info.dtype,
        "products": pair.products_chosen(),
    }
