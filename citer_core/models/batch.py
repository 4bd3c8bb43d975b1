"""Many completions by one model alone, greedy or sampled, through transformers' own `generate`.

A checkpoint may bring decoding defaults of its own (a repetition penalty, a top-k); all that would change what is
written here is set, so that none of them slips in. Knows nothing about routing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import GenerationConfig

from citer_core.models.language_model import LanguageModel


def greedy_completions(
    lm: LanguageModel,
    prompts: Sequence[Sequence[int]],
    *,
    eos_ids: frozenset[int],
    max_new_tokens: int,
    batch_size: int = 64,
) -> Iterator[tuple[int, list[int]]]:
    """Completes every prompt greedily, prompts of similar length together.

    Args:
        lm: the model.
        prompts: token ids, at least one each.
        eos_ids: each of them ends a completion.
        max_new_tokens: end of text included.
        batch_size: prompts per call of `generate`.

    Yields:
        (index in `prompts`, new token ids up to and with the end of text), in the order in which batches finish.
    """
    config = _config(eos_ids, max_new_tokens, do_sample=False)
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        yield from zip(batch, _generate(lm, [prompts[i] for i in batch], config, eos_ids), strict=True)


def sampled_completions(
    lm: LanguageModel,
    prompts: Sequence[Sequence[int]],
    *,
    eos_ids: frozenset[int],
    max_new_tokens: int,
    temperature: float,
    top_p: float,
    seed: int,
) -> list[list[int]]:
    """Samples one completion of every prompt, all in one batch.

    A function of its arguments: the same batch and seed give the same samples, whatever was sampled before. Another
    batch draws differently, because its rows share the random numbers.

    Args:
        lm, prompts, eos_ids, max_new_tokens: see `greedy_completions`.
        temperature: above 0.
        top_p: nucleus in (0, 1].
        seed: from 0.

    Returns:
        New token ids up to and with the end of text, one list per prompt.
    """
    # No top_k of 50, which is the library's default when sampling.
    config = _config(eos_ids, max_new_tokens, do_sample=True, temperature=temperature, top_p=top_p, top_k=0)
    devices = [lm.device] if lm.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # `generate` draws from the global generator only
        torch.manual_seed(seed)
        return _generate(lm, prompts, config, eos_ids)


def _config(eos_ids: frozenset[int], max_new_tokens: int, **options: Any) -> GenerationConfig:
    return GenerationConfig(
        max_new_tokens=max_new_tokens,
        eos_token_id=sorted(eos_ids),
        pad_token_id=min(eos_ids),
        num_beams=1,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        **options,
    )


def _generate(
    lm: LanguageModel, prompts: Sequence[Sequence[int]], config: GenerationConfig, eos_ids: frozenset[int]
) -> list[list[int]]:
    width = max(map(len, prompts))
    ids = torch.full((len(prompts), width), min(eos_ids))
    mask = torch.zeros(len(prompts), width, dtype=torch.long)
    for row, prompt in enumerate(prompts):  # padded on the left: every row goes on at the same column
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    with torch.inference_mode():
        output = lm.model.generate(ids.to(lm.device), attention_mask=mask.to(lm.device), generation_config=config)
    completions: list[list[int]] = []
    for new_ids in output[:, width:].tolist():
        end = next((k + 1 for k, token in enumerate(new_ids) if token in eos_ids), len(new_ids))
        completions.append(new_ids[:end])
    return completions
