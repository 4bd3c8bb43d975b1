"""Token ids to text, one delta at a time, never a broken character. Knows nothing about models.

A character may be spread over several tokens; its bytes are held back until they are complete, so that the deltas join
to exactly the text that the tokenizer decodes from all ids at once.
"""

from __future__ import annotations

from transformers import PreTrainedTokenizerBase

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# A UTF-8 character has at most four bytes, hence at most four byte tokens. What is still broken after twice as many
# tokens is not a character in the making; holding it longer would only make the pending window grow.
MAX_HELD = 8


class TextStream:
    """Decodes a growing sequence of ids.

    Keeps a short window: the ids of the last emitted piece give the context that some tokenizers need (leading
    spaces), the ids behind them are pending.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._context: list[int] = []
        self._pending: list[int] = []

    def _decode(self, ids: list[int]) -> str:
        text = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        assert isinstance(text, str)
        return text

    def push(self, token_id: int) -> str:
        """The text that `token_id` completes; empty while a character is incomplete or the token is special."""
        self._pending.append(token_id)
        before, after = self._decode(self._context), self._decode(self._context + self._pending)
        if after.endswith(REPLACEMENT) and len(self._pending) < MAX_HELD:
            return ""
        self._context, self._pending = self._pending, []
        return after[len(before) :]

    def flush(self) -> str:
        """What is still held back at the end of the text: incomplete bytes, as replacement characters."""
        if not self._pending:
            return ""
        before, after = self._decode(self._context), self._decode(self._context + self._pending)
        self._context, self._pending = self._pending, []
        return after[len(before) :]
