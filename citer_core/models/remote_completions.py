"""Many greedy completions by an LLM on a server: all that are in progress in one request, some tokens at a time.

The whole of a long answer in one request would not be told from a server that has stopped answering, so a request asks
for a few tokens, and the server's prefix cache spares it what it has read. The form of `batch.greedy_completions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from citer_core.errors import ServerError
from citer_core.models.remote_lm import NEEDED, RemoteLM, choices_of

TOKENS_PER_REQUEST = 32


def remote_completions(
    lm: RemoteLM,
    prompts: Sequence[Sequence[int]],
    *,
    eos_ids: frozenset[int],
    max_new_tokens: int,
    max_context: int,
    batch_size: int,
) -> Iterator[tuple[int, list[int]]]:
    """Completes every prompt greedily; the next prompt moves in where a completion has ended.

    Args:
        lm: the model.
        prompts: token ids, at least one and fewer than `max_context` each.
        eos_ids: each of them ends a completion.
        max_new_tokens: end of text included, at least 1.
        max_context: tokens at which a text is full, its prompt included, and so ends.
        batch_size: prompts at once.

    Yields:
        (index in `prompts`, new token ids up to and with the end of text), in the order in which completions end.

    Raises:
        ServerError: the server is lost, or answers in a form that we cannot read.
    """
    limits = [min(max_new_tokens, max_context - len(prompt)) for prompt in prompts]
    waiting = list(range(len(prompts) - 1, -1, -1))
    live: dict[int, list[int]] = {}
    while waiting or live:
        while waiting and len(live) < batch_size:
            live[waiting.pop()] = []
        groups: dict[int, list[int]] = {}  # rows by how many tokens they may still have
        for row, ids in live.items():
            groups.setdefault(min(TOKENS_PER_REQUEST, limits[row] - len(ids)), []).append(row)
        bodies = [
            {
                "prompt": [[*prompts[row], *live[row]] for row in rows],
                "max_tokens": n,
                "stop_token_ids": sorted(eos_ids),
            }
            for n, rows in groups.items()
        ]
        answers = lm.send(bodies, list).wait()
        for (n, rows), (document, _) in zip(groups.items(), answers, strict=True):
            for row, choice in zip(rows, choices_of(document, len(rows)), strict=True):
                new_ids, has_ended = _new_ids(lm, choice, n, eos_ids)
                live[row] += new_ids
                if has_ended or len(live[row]) >= limits[row]:
                    yield row, live.pop(row)


def _new_ids(lm: RemoteLM, choice: Mapping[str, Any], n: int, eos_ids: frozenset[int]) -> tuple[list[int], bool]:
    """The tokens of a choice, up to `n`, and whether the text has ended with them."""
    ids = choice.get("token_ids")
    if not isinstance(ids, list) or len(ids) > n or any(isinstance(i, bool) or not isinstance(i, int) for i in ids):
        raise ServerError(f"The LLM's server gave no token ids with its tokens. {NEEDED}")
    for token in ids:
        lm.check_token(token)
    ends = [place for place, token in enumerate(ids) if token in eos_ids]
    if ends:
        return ids[: ends[0] + 1], True
    if len(ids) < n and choice.get("finish_reason") != "stop":  # a stop token that it does not name is an end too
        raise ServerError(f"The LLM's server wrote {len(ids)} of {n} tokens and did not say why. {NEEDED}")
    return ids, len(ids) < n
