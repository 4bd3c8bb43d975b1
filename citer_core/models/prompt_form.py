"""`PromptForm`: how a prompt becomes token ids, as plain text or as a person's turn in a chat.

Training, labelling and inference must read the same ids, so all three come here. Knows nothing about models.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from transformers import PreTrainedTokenizerBase

from citer_core.errors import PairError

PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class PromptForm:
    """A tokenizer, and whether its chat template is applied.

    Attributes:
        tokenizer: of the pair.
        chat: whether a prompt is wrapped by the template.
    """

    tokenizer: PreTrainedTokenizerBase
    chat: bool

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, *, chat: bool | None = None) -> PromptForm:
        """The form for a tokenizer; `chat` None applies the template where there is one.

        Raises:
            PairError: a chat was asked for, and the tokenizer has no template.
        """
        has_template = bool(tokenizer.chat_template)
        if chat and not has_template:
            raise PairError("This pair's tokenizer has no chat template: leave chat out, or choose instruct models.")
        return cls(tokenizer, has_template if chat is None else chat)

    @property
    def name(self) -> str:
        """`plain`, or `chat-` with eight hex digits of the template's SHA-256: stored, so that forms do not mix."""
        if not self.chat:
            return PLAIN
        template = self.tokenizer.chat_template
        return f"chat-{hashlib.sha256(str(template).encode()).hexdigest()[:8]}"

    def text(self, prompt: str) -> str:
        """The prompt as the models read it, up to where the answer begins."""
        if not self.chat:
            return prompt
        turn = [{"role": "user", "content": prompt}]
        return str(self.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True))

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a prompt, with the special tokens that belong in front."""
        return self.encode_text(self.text(prompt))

    def encode_text(self, text: str) -> list[int]:
        """Token ids of what `text` gave, such as the prompt that a trace holds."""
        # A template spells out the special tokens itself; adding them again would put two of them there.
        ids: list[int] = self.tokenizer(text, add_special_tokens=not self.chat)["input_ids"]
        return ids

    def encode_completion(self, completion: str) -> list[int]:
        """Token ids of a known completion, as they follow `encode`, without an end of text.

        Args:
            completion: with the space that parts it from a plain prompt; an answer in a chat begins without one.
        """
        text = completion.lstrip() if self.chat else completion
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def end_id(self, eos_ids: Collection[int]) -> int:
        """The token that a known completion ends with, one of `eos_ids`.

        An instruct model ends its turn with the token that its tokenizer names; the other ids end a document.
        """
        own = self.tokenizer.eos_token_id
        return int(own) if self.chat and own in eos_ids else min(eos_ids)
