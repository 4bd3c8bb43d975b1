"""Token ids to text, one delta at a time, never a broken character. Knows nothing about models.

A character may be spread over several tokens; its bytes are held back until they are complete, so that the deltas join
to exactly the text that the tokenizer decodes from all ids at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from transformers import PreTrainedTokenizerBase

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ONE_BYTE = re.compile("<0x[0-9A-F]{2}>")
_MOST_SILENT = 64  # tokens without text, such as special ones, up to which the piece before them is remembered


def vocabulary_size(tokenizer: PreTrainedTokenizerBase) -> int:
    """How many rows of a head stand for tokens: ids may have gaps, and the last one is often the end of a turn."""
    return 1 + int(max(tokenizer.get_vocab().values()))


def decoder_of(tokenizer: PreTrainedTokenizerBase) -> Callable[[Sequence[int]], str]:
    """A function from ids to text that leaves special tokens out.

    The Rust tokenizer is asked directly where there is one: a decoded delta costs microseconds then, and there are two
    for every token of a run.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        return lambda ids: str(backend.decode(ids, skip_special_tokens=True))
    return lambda ids: str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))


class TextStream:
    """Decodes a growing sequence of ids.

    Keeps a short window: the ids of the last piece that gave text are the context that some tokenizers need (a leading
    space belongs to the piece before), the ids behind them are pending. Tokens that stand for one byte (`<0x0A>`) are
    read together, as far as there are any: with a wrong one among them, none of them is a character.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._decode = decoder_of(tokenizer)
        self._token = tokenizer.convert_ids_to_tokens
        self._known: dict[tuple[int, ...], str] = {}
        self._context: list[int] = []
        self._context_text = ""
        self._pending: list[int] = []

    def push(self, token_id: int) -> str:
        """The text that `token_id` completes; empty while a character is incomplete or the token is special."""
        self._pending.append(token_id)
        if not self._text_of([token_id]) and len(self._pending) < _MOST_SILENT:
            return ""  # special, or a space that is one only behind something: nothing ends with it
        text = self._text_of(self._context + self._pending)
        is_open = text.endswith(REPLACEMENT) or _ONE_BYTE.fullmatch(str(self._token(token_id)))
        return "" if is_open else self._emit(text)

    def flush(self) -> str:
        """What is still held back at the end of the text: incomplete bytes, as replacement characters."""
        return self._emit(self._text_of(self._context + self._pending)) if self._pending else ""

    def _emit(self, text: str) -> str:
        delta = text[len(self._context_text) :]
        self._context, self._pending = self._pending, []
        self._context_text = self._text_of(self._context)
        return delta

    def _text_of(self, ids: list[int]) -> str:
        """A few ids decoded; kept, because texts repeat their tokens and pairs of tokens."""
        key = tuple(ids)
        text = self._known.get(key)
        if text is None:
            text = self._known[key] = self._decode(ids)
        return text
