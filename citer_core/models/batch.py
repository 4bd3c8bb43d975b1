"""Many completions by one model alone, greedy or sampled.

Rows that end leave the batch, and none is padded: `generate` of transformers would go on computing both. Knows nothing
about routing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens
from citer_core.models.language_model import LanguageModel
from citer_core.models.reader import Reader

_FIRST_LOOK = 256  # most probable tokens that nearly always hold the nucleus; sorting a whole vocabulary takes longer

_Choose = Callable[[Tensor, list[int], list[int]], list[int]]  # logits [B, V], rows, positions -> token ids


def _greedy(logits: Tensor, _rows: list[int], _positions: list[int]) -> list[int]:
    chosen: list[int] = greedy_tokens(logits).tolist()
    return chosen


def batch_completions(
    lm: LanguageModel,
    prompts: Sequence[Sequence[int]],
    *,
    eos_ids: frozenset[int],
    max_new_tokens: int,
    max_context: int | None = None,
    batch_size: int = 64,
    keep_order: bool = False,
    choose: _Choose = _greedy,
) -> Iterator[tuple[int, list[int]]]:
    """Completes every prompt, greedily if nothing else is said; the next prompt moves in where a completion has ended.

    Args:
        lm: the model.
        prompts: token ids, at least one each.
        eos_ids: each of them ends a completion.
        max_new_tokens: end of text included, at least 1.
        max_context: tokens at which a text is full, its prompt included, and so ends; None knows no end.
        batch_size: prompts at once.
        keep_order: begin them in their order, in which those with a common beginning stand together; else those of
            similar length together, the longest first: a slot's room is that of the longest text it has held.
        choose: the next token of each row.

    Yields:
        (index in `prompts`, new token ids up to and with the end of text), in the order in which completions end.
    """
    limits = [max_new_tokens if max_context is None else min(max_new_tokens, max_context - len(p)) for p in prompts]
    waiting = list(range(len(prompts)))[::-1]
    if not keep_order:
        waiting = sorted(range(len(prompts)), key=lambda row: len(prompts[row]), reverse=True)
    n_slots = min(batch_size, len(prompts))
    reader = Reader(lm, n_slots)
    texts: dict[int, list[int]] = {}  # by slot
    row_of: dict[int, int] = {}
    while waiting or texts:
        for slot in range(n_slots):
            if waiting and slot not in texts:
                row_of[slot] = waiting.pop()
                texts[slot] = list(prompts[row_of[slot]])
                reader.truncate(slot, 0)
        slots = sorted(texts)  # neighbours in the cache are read where they lie, without copies
        logits = reader.read([texts[slot] for slot in slots], slots).logits
        rows = [row_of[slot] for slot in slots]
        positions = [len(texts[slot]) - len(prompts[row]) for slot, row in zip(slots, rows, strict=True)]
        for slot, row, position, token in zip(slots, rows, positions, choose(logits, rows, positions), strict=True):
            texts[slot].append(token)
            if token in eos_ids or position + 1 == limits[row]:
                yield row, texts.pop(slot)[len(prompts[row]) :]


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

    A function of its arguments, whatever was sampled before: the number that decides a token depends on the seed, the
    row and the position.

    Args:
        lm, prompts, eos_ids, max_new_tokens: see `batch_completions`.
        temperature: above 0.
        top_p: nucleus in (0, 1].
        seed: from 0.

    Returns:
        New token ids up to and with the end of text, one list per prompt.
    """
    uniform = torch.rand(
        len(prompts), max_new_tokens, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )

    def choose(logits: Tensor, rows: list[int], positions: list[int]) -> list[int]:
        return nucleus_choice(logits, uniform[rows, positions].to(logits.device), temperature, top_p)

    done = batch_completions(
        lm, prompts, eos_ids=eos_ids, max_new_tokens=max_new_tokens, batch_size=len(prompts), choose=choose
    )
    return [ids for _, ids in sorted(done)]


def nucleus_choice(logits: Tensor, uniform: Tensor, temperature: float, top_p: float) -> list[int]:
    """Draws tokens by inverting the cumulative distribution.

    Args:
        logits: [B, V], any float dtype.
        uniform: [B] float64 in [0, 1), where to look it up.
        temperature: above 0.
        top_p: only the most probable tokens that together hold this mass are drawn; 1 takes all.

    Returns:
        B token ids.
    """
    probabilities = torch.softmax(logits.double() / temperature, dim=-1)
    n_tokens = logits.shape[-1]
    if top_p >= 1:  # nothing is cut off, so no order is needed
        cumulative = probabilities.cumsum(-1)
        last = torch.full_like(cumulative[:, :1], n_tokens - 1, dtype=torch.long)
        return _at(cumulative, uniform, last)[:, 0].tolist()
    n_looked = min(_FIRST_LOOK, n_tokens)
    while True:
        ordered, ids = probabilities.topk(n_looked)
        cumulative = ordered.cumsum(-1)
        if n_looked == n_tokens or bool((cumulative[:, -1] >= top_p).all()):
            break
        n_looked = min(8 * n_looked, n_tokens)
    # A token is in the nucleus iff less than top_p lies before it.
    last = (cumulative - ordered < top_p).sum(-1, keepdim=True) - 1
    return ids.gather(-1, _at(cumulative, uniform, last))[:, 0].tolist()


def _at(cumulative: Tensor, uniform: Tensor, last: Tensor) -> Tensor:
    """[B, 1]: where `uniform` of the mass up to and with `last` [B, 1] is reached in each row."""
    target = uniform[:, None] * cumulative.gather(-1, last)
    return torch.minimum((cumulative <= target).sum(-1, keepdim=True), last)
