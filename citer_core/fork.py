"""`Fork`: where a run leaves another one, and what its first own token is forced to. Standard library only.

A branch shares the parent's first events as they were, costs included, and goes on with the router from there. Made by
the page or a test, read by `citer_core.engine` and the decode loop; knows nothing about models.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from citer_core.errors import SettingError
from citer_core.types import Source, TokenEvent


@dataclass(frozen=True, slots=True)
class Fork:
    """A shared prefix and, where a person chose, the token after it.

    Attributes:
        events: the parent's first k events, k >= 0; the branch's own tokens begin at index k.
        source: the model that must write token k; None leaves it to the router.
        token_id: what it must write; None leaves that to the model. Only together with `source`.

    Raises:
        SettingError: a token without a model to write it.
    """

    events: tuple[TokenEvent, ...] = ()
    source: Source | None = None
    token_id: int | None = None

    def __post_init__(self) -> None:
        if self.token_id is not None and self.source is None:
            raise SettingError("A forced token needs a model that writes it: give the source slm or llm too.")

    @property
    def n_shared(self) -> int:
        """Tokens that parent and branch have in common by construction."""
        return len(self.events)

    @property
    def token_ids(self) -> list[int]:
        """The shared tokens."""
        return [event.token_id for event in self.events]

    @property
    def n_read_by_llm(self) -> int:
        """Tokens that the LLM had in its cache at the fork, those of the prompt included; 0 if it was never called."""
        return max((event.context_len for event in self.events if event.llm_tokens_fed), default=0)

    def check(self, vocab_size: int, eos_ids: Collection[int], n_steps: int) -> None:
        """Raises `SettingError` if a model could not go on from here.

        Args:
            vocab_size: ids from 0 to below this exist.
            eos_ids: after one of them there is nothing to write.
            n_steps: the most tokens that the run may have.
        """
        ids = [*self.token_ids, *([] if self.token_id is None else [self.token_id])]
        if any(not 0 <= token_id < vocab_size for token_id in ids):
            raise SettingError("The run to continue has tokens that this pair does not know: choose the pair it is of.")
        if any(token_id in eos_ids for token_id in self.token_ids):
            raise SettingError("The text ends before this token, so nothing can follow it: fork at an earlier token.")
        if self.n_shared >= n_steps:
            raise SettingError(
                f"The run to continue has {self.n_shared:,} tokens already and may have {n_steps:,}: fork at an "
                "earlier token, or raise the limit of new tokens."
            )
