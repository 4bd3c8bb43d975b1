"""What an LLM on a server would have written at every position of a text that it is given: one request for many texts.

vLLM's `prompt_logprobs` gives, for each token of a prompt, its log-probability and that of the most probable token
there, each after the tokens before it. So a known solution is read as a loaded model reads it in one pass, without the
weights. Knows nothing about labels. Called by `labelling.teacher_forcing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from citer_core.errors import ServerError
from citer_core.models.remote_lm import RemoteLM, choices_of, log_probability_of
from citer_core.models.server_client import Answer, Pending

LEAST_LOG_PROBABILITY = -1e4  # what is less is 0 to every purpose, and must stay a number in float32
NEEDED = "Labels need a server that honours prompt_logprobs for a prompt of token ids, such as vLLM 0.10.2 or later."


@dataclass(frozen=True, slots=True)
class ReadText:
    """What the LLM says at the last n tokens of one text.

    Attributes:
        first_ids: [n] int64, its most probable token in place of each, the lowest id at a tie.
        log_probs: [n] float32, what it gives the text's own tokens, in nats.
    """

    first_ids: Tensor
    log_probs: Tensor


PendingReading = Pending[list[ReadText]]


def ask_to_read(lm: RemoteLM, texts: Sequence[Sequence[int]], n_last: Sequence[int]) -> PendingReading:
    """Asks what the LLM would have written in place of each text's last tokens, and waits for nothing.

    Args:
        lm: the model.
        texts: B times two tokens or more.
        n_last: of each text, how many of its tokens are in question, fewer than it has.
    """
    body = {"prompt": [list(text) for text in texts], "max_tokens": 1, "prompt_logprobs": 1}

    def read(answers: list[Answer]) -> list[ReadText]:
        ((document, _),) = answers
        choices = choices_of(document, len(texts))
        return [_read(lm, *one) for one in zip(choices, texts, n_last, strict=True)]

    return lm.send([body], read)


def _read(lm: RemoteLM, choice: Mapping[str, Any], text: Sequence[int], n_last: int) -> ReadText:
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
        raise ServerError(f"The LLM's server did not say how probable each token of a prompt is. {NEEDED}") from error
    first = [min(place, key=lambda token: (-place[token], token)) for place in places]
    for token in first:
        lm.check_token(token)
    return ReadText(torch.tensor(first), torch.tensor(own, dtype=torch.float32).clamp(min=LEAST_LOG_PROBABILITY))
