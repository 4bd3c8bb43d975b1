"""`PromptForm`: how a prompt becomes token ids, as plain text or as a person's turn in a chat.

Training, labelling and inference must read the same ids, so all three come here. Knows nothing about models.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from transformers import PreTrainedTokenizerBase

from citer_core.errors import PairError
from citer_core.gate.excerpt import first_line

PLAIN = "plain"
# What a template that prints today's date is given: labels, routers and runs of two days must be of one prompt.
TEMPLATE_DATE = datetime.date(2024, 7, 26)
_ASKS_DATE = "strftime_now"
_PROBE = "2 + 2?"


@dataclass(frozen=True, slots=True)
class PromptForm:
    """A tokenizer, and whether its chat template is applied.

    Attributes:
        tokenizer: of the pair.
        chat: whether a prompt is wrapped by the template.
        in_parts: whether the template wants a turn as a list of parts.
    """

    tokenizer: PreTrainedTokenizerBase
    chat: bool
    in_parts: bool = False

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, *, chat: bool | None = None) -> PromptForm:
        """The form for a tokenizer; `chat` None applies the template where there is one.

        Raises:
            PairError: a chat was asked for, and the tokenizer has no template; or its template cannot be used.
        """
        has_template = bool(tokenizer.chat_template)
        if chat and not has_template:
            raise PairError("This pair's tokenizer has no chat template: leave chat out, or choose instruct models.")
        form = cls(tokenizer, has_template if chat is None else chat)
        if not form.chat:
            return form
        reason = "its text leaves the prompt out"
        for in_parts in (False, True):
            form = replace(form, in_parts=in_parts)
            try:
                is_whole = _PROBE in form.text(_PROBE)
            except Exception as error:  # whatever jinja, or the template itself, raises
                reason = first_line(error)
                is_whole = False
            if is_whole:
                return form
        raise PairError(
            f"This pair's chat template cannot be used ({reason}): load the pair with --no-chat, which gives the "
            "models the plain prompt, or mend the template in its tokenizer_config.json."
        )

    @property
    def name(self) -> str:
        """`plain`, or `chat-` with eight hex digits of the template's SHA-256: stored, so that forms do not mix.

        A template that prints a date has it behind them.
        """
        if not self.chat:
            return PLAIN
        template = self.tokenizer.chat_template
        date = f"-{TEMPLATE_DATE}" if _ASKS_DATE in str(template) else ""
        return f"chat-{hashlib.sha256(str(template).encode()).hexdigest()[:8]}{date}"

    def text(self, prompt: str) -> str:
        """The prompt as the models read it, up to where the answer begins."""
        if not self.chat:
            return prompt
        content: Any = [{"type": "text", "text": prompt}] if self.in_parts else prompt
        turn = [{"role": "user", "content": content}]
        template = self.tokenizer.get_chat_template()
        if _ASKS_DATE in template:
            template = _date_macro() + template
        return str(
            self.tokenizer.apply_chat_template(turn, chat_template=template, tokenize=False, add_generation_prompt=True)
        )

    def encode(self, prompt: str) -> list[int]:
        """Token ids of a prompt, with the special tokens that belong in front."""
        return self.encode_text(self.text(prompt))

    def encode_text(self, text: str) -> list[int]:
        """Token ids of what `text` gave, such as the prompt that a trace holds."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        if self.chat:  # a template spells out the special tokens itself; adding them again would put two of them there
            return ids
        framed: list[int] = self.tokenizer(text)["input_ids"]
        n_in_front = next(i for i in range(len(framed) + 1) if framed[i : i + len(ids)] == ids)
        return framed[:n_in_front] + ids  # some append their end of text, behind which there is nothing to write

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


def _date_macro() -> str:
    """What a template calls for today's date, as it is here."""
    filled = "".join(f"|replace('%{field}', '{TEMPLATE_DATE:%{field}}')" for field in "aAbBdmyYHMSpI")
    return f"{{%- macro {_ASKS_DATE}(format) -%}}{{{{ format{filled} }}}}{{%- endmacro -%}}"
