"""Many greedy completions by one model alone, through transformers' own `generate`. Knows nothing about routing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    pad_id = min(eos_ids)
    config = GenerationConfig(
        do_sample=False, max_new_tokens=max_new_tokens, eos_token_id=sorted(eos_ids), pad_token_id=pad_id
    )
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        width = max(len(prompts[i]) for i in batch)
        ids = torch.full((len(batch), width), pad_id)
        mask = torch.zeros(len(batch), width, dtype=torch.long)
        for row, i in enumerate(batch):  # padded on the left: every row goes on at the same column
            ids[row, width - len(prompts[i]) :] = torch.tensor(prompts[i])
            mask[row, width - len(prompts[i]) :] = 1
        with torch.inference_mode():
            output = lm.model.generate(ids.to(lm.device), attention_mask=mask.to(lm.device), generation_config=config)[
                :, width:
            ]
        for i, new_ids in zip(batch, output.tolist(), strict=True):
            end = next((k + 1 for k, token in enumerate(new_ids) if token in eos_ids), len(new_ids))
            yield i, new_ids[:end]
