"""`KnownRollouts`: rollouts of the same starts under one policy after the other, which come to much the same texts.

The rounds of CITER roll the same tokens out under a router that has changed a little. What the models said in the round
before is kept in trees (`prefix_tree`), so that they are asked only where the new router goes another way. Memory: some
500 bytes a token that was written, and the SLM's state. Called by `rollouts`.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence

from citer_core.models.pair import ModelPair
from citer_core.routing.prefix_tree import PrefixTree, Readers
from citer_core.routing.router import Router

TOGETHER = 192  # texts of a tree


class KnownRollouts:
    """What rollouts have come to, for one pair and one limit of new tokens."""

    def __init__(self) -> None:
        self._trees: dict[bytes, PrefixTree] = {}
        self._readers: Readers | None = None

    @property
    def n_nodes(self) -> int:
        """Texts that are known."""
        return sum(tree.n_nodes for tree in self._trees.values())

    def continued(
        self, pair: ModelPair, prompts: Sequence[Sequence[int]], router: Router, threshold: float, max_new_tokens: int
    ) -> Iterator[tuple[int, list[int]]]:
        """(index in `prompts`, new token ids) of each, in their order.

        Args:
            pair: always the same.
            prompts: token ids; those of one example side by side. The same ones in the same order are known again.
            router, threshold: who goes on with them.
            max_new_tokens: always the same.
        """
        if self._readers is None:
            self._readers = Readers(pair, TOGETHER)
        for first in range(0, len(prompts), TOGETHER):
            some = prompts[first : first + TOGETHER]
            key = _digest(some)
            if key not in self._trees:
                self._trees[key] = PrefixTree(pair, some, max_new_tokens, self._readers)
            paths = self._trees[key].walk(router, threshold, range(len(some)))
            yield from enumerate((path.token_ids for path in paths), first)


def _digest(prompts: Sequence[Sequence[int]]) -> bytes:
    found = hashlib.sha256()
    for prompt in prompts:
        found.update(array("q", [len(prompt), *prompt]).tobytes())
    return found.digest()
