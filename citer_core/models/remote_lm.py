"""`RemoteLM`: a language model on an OpenAI-compatible completions server, asked for one token at a time.

Token ids go out, token ids and log-probabilities come back, so nothing is tokenised twice. Written for vLLM's API; any
server that answers in the same form will do, and `connect` finds out whether it does. Knows nothing about routing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from transformers import PreTrainedTokenizerBase

from citer_core.config import LlmServer
from citer_core.errors import PairError, ServerError
from citer_core.models.server_client import Answer, Pending, ServerClient
from citer_core.text import vocabulary_size

T = TypeVar("T")
N_TOP = 5
# A server may bring sampling defaults from the checkpoint's generation_config.json (vLLM does): all that would change
# what is written is set.
PLAIN_SAMPLING = {
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
PROBE_TEXT = "Tom buys 4 books at 12 dollars each.\nWhat is \\frac{1}{2}? Überall, 東京, 🙂 <b>x</b>\t"
MAX_LOG_PROBABILITY = 0.01
N_PROBED_IDS, PROBE_LENGTH = 192, 32
NEEDED = "A server is needed that takes token ids and honours return_token_ids, such as vLLM 0.10.2 or later."


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a server chooses a token: greedy, or with a temperature above 0, a nucleus in (0, 1] and a seed.

    Attributes:
        others: (name, value) of what else a server may know by the name that we have for it, such as `min_p`.
    """

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    others: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteToken:
    """One token that a server wrote.

    Attributes:
        token_id: in the shared vocabulary.
        top: (token id, probability) of its most probable tokens, best first; empty where the server tells none.
        seconds: of the request; one that asked for several tokens is divided by them.
    """

    token_id: int
    top: tuple[tuple[int, float], ...]
    seconds: float


PendingTokens = Pending[list[RemoteToken]]


class RemoteLM:
    """A model on a server; safe to share among runs and threads.

    Args:
        client: of the server.
        name: that it is served under.
        vocab_size: tokens of the shared tokenizer.
        max_context: tokens that the server takes, prompt and answer; None where it does not say.
    """

    def __init__(self, client: ServerClient, name: str, vocab_size: int, max_context: int | None = None) -> None:
        self._client = client
        self.name, self.vocab_size, self.max_context = name, vocab_size, max_context

    @classmethod
    def connect(cls, server: LlmServer, tokenizer: PreTrainedTokenizerBase) -> RemoteLM:
        """Finds the model on the server and checks that it shares the tokenizer's vocabulary.

        Args:
            server: where it is.
            tokenizer: the SLM's.

        Raises:
            ServerError: it cannot be reached, does not serve that model, or does not return token ids.
            PairError: it reads the same text as other tokens.
        """
        client = ServerClient(server)
        name, max_context = _served_model(client.get("/models"), server.model)
        lm = cls(client, name, vocabulary_size(tokenizer), max_context)
        lm._check_vocabulary(tokenizer)
        lm.next_tokens([tokenizer(PROBE_TEXT)["input_ids"]])  # in the form that every run will ask
        return lm

    def next_tokens(self, texts: Sequence[Sequence[int]]) -> list[RemoteToken]:
        """The greedy next token of each of several texts, waited for; see `ask`.

        Raises:
            ServerError: the server is lost, or answers in a form that we cannot read.
        """
        return self.ask(texts, [Sampling()] * len(texts)).wait()

    def ask(self, texts: Sequence[Sequence[int]], samplings: Sequence[Sampling]) -> PendingTokens:
        """Asks for the next token of each of several texts, and waits for nothing.

        One request carries all texts that are chosen alike, because a request has one seed; greedy texts are all in
        one. Requests run at the same time. What a seed draws is the server's own: not what a loaded model would draw.

        Args:
            texts: B times one token or more.
            samplings: how each is chosen.
        """
        groups: dict[Sampling, list[int]] = {}
        for row, sampling in enumerate(samplings):
            groups.setdefault(sampling, []).append(row)
        bodies = []
        for sampling, rows in groups.items():
            body = {
                "prompt": [list(texts[row]) for row in rows],
                "max_tokens": 1,
                "logprobs": N_TOP,
                "return_tokens_as_token_ids": True,
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                **dict(sampling.others),
            }
            bodies.append(body if sampling.seed is None else body | {"seed": sampling.seed})
        return self.send(bodies, partial(self._tokens, list(groups.values())))

    def _tokens(self, groups: Sequence[Sequence[int]], answers: Sequence[Answer]) -> list[RemoteToken]:
        """The tokens in the answers to requests that carried these rows each, in the order of the rows."""
        tokens: dict[int, RemoteToken] = {}
        for rows, (document, seconds) in zip(groups, answers, strict=True):
            for row, choice in zip(rows, choices_of(document, len(rows)), strict=True):
                tokens[row] = self._token(choice, seconds / len(rows))
        return [tokens[row] for row in range(len(tokens))]

    def _token(self, choice: Mapping[str, Any], seconds: float) -> RemoteToken:
        try:
            token_id = _token_id(choice)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise ServerError(f"The LLM's server gave no token id with its token. {NEEDED}") from error
        try:
            top = _top(choice)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ServerError(
                f"The LLM's server gave candidates with no token id, or without a log-probability up to 0. {NEEDED}"
            ) from error
        for found in (token_id, *(i for i, _ in top)):
            self.check_token(found)
        return RemoteToken(token_id, top, seconds)

    def check_token(self, token_id: int) -> None:
        """Refuses a token that the shared vocabulary does not have.

        Raises:
            ServerError: it says so.
        """
        if not 0 <= token_id < self.vocab_size:
            named = token_id if abs(token_id) < 10**12 else "of more than 12 digits"
            raise ServerError(
                f"The LLM's server wrote token {named}, but the shared vocabulary has {self.vocab_size} tokens: "
                "serve an LLM of the SLM's family."
            )

    def send(self, bodies: Sequence[Mapping[str, Any]], read: Callable[[list[Answer]], T]) -> Pending[T]:
        """Completion requests, greedy where they do not say otherwise, on their way."""
        rules = {"model": self.name, "temperature": 0.0, **PLAIN_SAMPLING, "return_token_ids": True}
        return self._client.ask_all("/completions", [{**rules, **body} for body in bodies], read)

    def _check_vocabulary(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Lets the server tokenise texts that tokens from all over the vocabulary are in."""
        texts = _probe_texts(tokenizer)
        ours = [tokenizer(text)["input_ids"] for text in texts]
        ((document, _),) = self.send([{"prompt": texts, "max_tokens": 1}], list).wait()
        choices = choices_of(document, len(texts))
        for text, our_ids, choice in zip(texts, ours, choices, strict=True):
            their_ids = choice.get("prompt_token_ids")
            if not isinstance(their_ids, list):
                raise ServerError(f"The LLM's server does not return token ids. {NEEDED}")
            if their_ids != our_ids:
                at = next((i for i, (a, b) in enumerate(zip(our_ids, their_ids, strict=False)) if a != b), -1)
                where = f"token {at} of {text[:40]!r} differs" if at >= 0 else f"{text[:40]!r} has another length"
                raise PairError(
                    f"The LLM on the server and the SLM do not share one vocabulary: {where} ({len(their_ids)} tokens "
                    f"there, {len(our_ids)} here). Serve an LLM of the SLM's family, with its own tokenizer."
                )


def _served_model(document: Any, wanted: str) -> tuple[str, int | None]:
    """The model's name and its context length, from what `/models` lists."""
    try:
        served = {str(entry["id"]): entry.get("max_model_len") for entry in document["data"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise ServerError(
            "The LLM's server does not list its models: the URL must be the root of an OpenAI-compatible API, e.g. "
            "http://host:8000/v1."
        ) from error
    if not served:
        raise ServerError("The LLM's server serves no model: start it with one.")
    names = ", ".join(served)
    if wanted and wanted not in served:
        raise ServerError(f'The LLM\'s server does not serve "{wanted}". It serves: {names}.')
    if not wanted and len(served) > 1:
        raise ServerError(f"The LLM's server serves several models: choose one of {names} with --llm-model.")
    name = wanted or next(iter(served))
    length = served[name]
    return name, length if isinstance(length, int) and length > 0 else None


def _probe_texts(tokenizer: PreTrainedTokenizerBase) -> list[str]:
    n = vocabulary_size(tokenizer)
    ids = range(0, n, max(1, n // N_PROBED_IDS))
    special = "".join(tokenizer.all_special_tokens)
    decoded = [
        str(tokenizer.decode(ids[i : i + PROBE_LENGTH], clean_up_tokenization_spaces=False))
        for i in range(0, len(ids), PROBE_LENGTH)
    ]
    return [text for text in (PROBE_TEXT, special, *decoded) if text]


def choices_of(document: Any, n: int) -> list[Mapping[str, Any]]:
    """The choices of a completion, one for each prompt, in their order."""
    try:
        choices = sorted(document["choices"], key=lambda choice: choice["index"])
        is_complete = [choice["index"] for choice in choices] == list(range(n))
    except (KeyError, TypeError) as error:
        raise ServerError(f"The LLM's server did not answer with a completion. {NEEDED}") from error
    if not is_complete:
        raise ServerError(f"The LLM's server answered {len(choices)} of {n} prompts. {NEEDED}")
    return choices


def _token_id(choice: Mapping[str, Any]) -> int:
    """The token of a choice, from `token_ids` or else from its name among the log-probabilities."""
    ids = choice.get("token_ids") or [_id_of(choice["logprobs"]["tokens"][0])]
    if len(ids) != 1 or isinstance(ids[0], bool) or not isinstance(ids[0], int):
        raise ValueError(f"token_ids {ids!r}")
    return int(ids[0])


def _top(choice: Mapping[str, Any]) -> tuple[tuple[int, float], ...]:
    tops = (choice.get("logprobs") or {}).get("top_logprobs") or [{}]
    found = [(_id_of(name), math.exp(log_probability_of(value))) for name, value in tops[0].items()]
    return tuple(sorted(found, key=lambda entry: (-entry[1], entry[0]))[:N_TOP])


def log_probability_of(value: Any) -> float:
    """At most 0. A little above it is rounding; NaN, which is below no number, must not become 0.

    Raises:
        ValueError, TypeError: it is none.
    """
    number = float(value)
    if math.isnan(number) or number > MAX_LOG_PROBABILITY:
        raise ValueError("no log-probability")
    return min(0.0, number)


def _id_of(name: str) -> int:
    """`token_id:123`, as `return_tokens_as_token_ids` spells tokens."""
    return int(name.removeprefix("token_id:"))
