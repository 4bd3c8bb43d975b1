"""What else an LLM on a server is asked than its next token: whole completions of many prompts, and what it would have
written at every position of texts that it is given. The forms of `batch.batch_completions` and `LanguageModel.read`.

The whole of a long answer in one request would not be told from a server that has stopped answering, so a request asks
for a few tokens, and the server's prefix cache spares it what it has read. For a given text vLLM's `prompt_logprobs`
says, for each of its tokens, its log-probability and that of the most probable token there, each after the tokens
before it. Knows nothing about labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from citer_core.errors import ServerError
from citer_core.models.remote_lm import NEEDED, RemoteLM, choices_of, log_probability_of
from citer_core.models.server_client import Answer, Pending

TOKENS_PER_REQUEST = 32
LEAST_LOG_PROBABILITY = -1e4  # what is less is 0 to every purpose, and must stay a number in float32
NEEDED_TO_READ = (
    "Labels need a server that honours prompt_logprobs for a prompt of token ids, such as vLLM 0.10.2 or later."
)


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


@dataclass(frozen=True, slots=True)
class ReadText:
    """What an LLM says at the last n tokens of one text.

    Attributes:
        first_ids: [n] int64, its most probable token in place of each, the lowest id at a tie.
        log_probs: [n] float32, what it gives the text's own tokens, in nats.
        logits: [n, V], which a server does not give.
        tops: of each place (token id, log-probability) of the most probable tokens, best first; a server's only.
        seconds: this text's part of the request.
    """

    first_ids: Tensor
    log_probs: Tensor
    logits: Tensor | None = None
    tops: tuple[list[tuple[int, float]], ...] = ()
    seconds: float = 0.0


def ask_to_read(
    lm: RemoteLM, texts: Sequence[Sequence[int]], n_last: Sequence[int], n_top: int = 1
) -> Pending[list[ReadText]]:
    """Asks what the LLM would have written in place of each text's last tokens, and waits for nothing.

    Args:
        lm: the model.
        texts: B times two tokens or more.
        n_last: of each text, how many of its tokens are in question, fewer than it has.
        n_top: most probable tokens in each place.
    """
    body = {"prompt": [list(text) for text in texts], "max_tokens": 1, "prompt_logprobs": n_top}

    def read(answers: list[Answer]) -> list[ReadText]:
        ((document, seconds),) = answers
        choices = choices_of(document, len(texts))
        return [_read(lm, *one, n_top, seconds / len(texts)) for one in zip(choices, texts, n_last, strict=True)]

    return lm.send([body], read)


def _read(
    lm: RemoteLM, choice: Mapping[str, Any], text: Sequence[int], n_last: int, n_top: int, seconds: float
) -> ReadText:
    try:
        entries = choice["prompt_logprobs"]
        if len(entries) != len(text):
            raise ValueError("another text")
        places = [
            {int(name): log_probability_of(entry["logprob"]) for name, entry in place.items()}
            for place in entries[len(text) - n_last :]
        ]
        own = [place[token] for place, token in zip(places, text[len(text) - n_last :], strict=True)]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ServerError(
            f"The LLM's server did not say how probable each token of a prompt is. {NEEDED_TO_READ}"
        ) from error
    tops = tuple(sorted(place.items(), key=lambda one: (-one[1], one[0]))[:n_top] for place in places)
    for token, _ in (one for top in tops for one in top):
        lm.check_token(token)
    log_probs = torch.tensor(own, dtype=torch.float32).clamp(min=LEAST_LOG_PROBABILITY)
    return ReadText(torch.tensor([top[0][0] for top in tops]), log_probs, tops=tops, seconds=seconds)
