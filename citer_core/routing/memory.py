"""`Memory`: what both models say after every text that a run has come to, asked once for all routers and taus.

Routers that are compared write much the same: of 62 points on 100 problems of the bundled pair, five tokens in six
stood after a text that an earlier point had come to. The rounds of CITER roll the same tokens out under a router that
has changed a little. A greedy model says the same after the same text, so what it said is kept in a tree of texts, and
a model is asked only at a node where it has not been. Some 500 bytes a node, and the SLM's state. Not for a router that
reads the LLM everywhere, and not for sampling.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from citer_core.models.greedy import greedy_tokens
from citer_core.models.pair import ModelPair
from citer_core.models.transfer import to_device
from citer_core.routing.computed import Computed, ComputedLlm, ComputedSlm, by_router, scored, sequence_features
from citer_core.routing.router import STATISTICS, RouterFeatures, entropy_of_logits
from citer_core.routing.said import UNREAD, Said, not_a_number
from citer_core.routing.sequence import RoutedSequence

_FIRST_ROOM = 1024  # nodes


class Memory:
    """The texts that runs of one pair have come to, each a node of a tree. For one batch at a time.

    Attributes:
        slm_token, llm_token: of each node, what the model writes there; `UNREAD` where it was not asked.
        slm_s, llm_s: seconds of the text's part of the pass that found it.
        llm_entropy: in nats.
        hidden: [*, H], the SLM's state at each node.
        statistics: [*, 3] float32, the `STATISTICS` of its distribution.
    """

    def __init__(self) -> None:
        self.slm_token, self.llm_token = array("l"), array("l")
        self.slm_s, self.llm_s, self.llm_entropy = array("d"), array("d"), array("d")
        self.hidden = self.statistics = torch.empty(0)
        self._roots: dict[tuple[int, ...], int] = {}
        self._children: dict[tuple[int, int], int] = {}  # of (node, next token)
        self._sides: tuple[_KnownSlm, _KnownLlm] | None = None
        self._n_slots = 0

    @property
    def n_nodes(self) -> int:
        """Texts that a run has come to."""
        return len(self.slm_token)

    def sides(self, pair: ModelPair, n_slots: int) -> tuple[_KnownSlm, _KnownLlm]:
        """Both models of the pair, which is always the same, with at least so many slots."""
        if self._sides is None or self._n_slots < n_slots:
            self._sides = _KnownSlm(pair, n_slots).of(self), _KnownLlm(pair, n_slots).of(self)
            self._n_slots = n_slots
        return self._sides

    def let_go_of_caches(self) -> None:
        """What the models said stays; their caches, which take most memory, are made anew when they are needed."""
        self._sides = None

    def root(self, prompt_ids: Sequence[int]) -> int:
        """The node of a prompt."""
        key = tuple(prompt_ids)
        if key not in self._roots:
            self._roots[key] = self._new_node()
        return self._roots[key]

    def child(self, node: int, token_id: int) -> int:
        """The node of a text with one more token."""
        found = self._children.get((node, token_id))
        if found is None:
            found = self._children[node, token_id] = self._new_node()
        return found

    def _new_node(self) -> int:
        number = self.n_nodes
        for tokens in (self.slm_token, self.llm_token):
            tokens.append(UNREAD)
        for numbers in (self.slm_s, self.llm_s, self.llm_entropy):
            numbers.append(math.nan)
        return number

    def keep(self, nodes: Sequence[int], hidden: Tensor, statistics: Tensor) -> None:
        """Puts the SLM's states [B, H] and statistics [B, 3] at these nodes."""
        if self.n_nodes > len(self.hidden):
            more = max(_FIRST_ROOM, 2 * self.n_nodes) - len(self.hidden)
            self.hidden = torch.cat(
                (self.hidden.to(hidden).view(-1, hidden.shape[1]), hidden.new_empty(more, hidden.shape[1]))
            )
            self.statistics = torch.cat((self.statistics.to(statistics).view(-1, 3), statistics.new_empty(more, 3)))
        at = to_device(nodes, hidden.device)
        self.hidden[at], self.statistics[at] = hidden, statistics


class _Known(Computed):
    """Where in a memory the sequences of a model's slots stand; the model is asked only for what is not known."""

    def of(self, memory: Memory) -> Self:
        """The same, with a memory."""
        self._memory = memory
        self._roots: dict[int, int] = {}
        self._at: dict[int, tuple[int, int]] = {}  # of each slot, a node and the length of its text
        return self

    def enter(self, s: RoutedSequence) -> None:
        """See `Side`."""
        assert s.fork is None and not s.with_candidates and s.settings.temperature == 0.0, "not remembered"
        super().enter(s)
        self._roots[s.slot] = self._memory.root(s.ids)
        self._at[s.slot] = self._roots[s.slot], s.n_prompt

    def truncate(self, s: RoutedSequence, n_tokens: int) -> None:
        """See `Side`."""
        super().truncate(s, n_tokens)
        self._at[s.slot] = self._roots[s.slot], s.n_prompt

    def _known_nodes(self, rows: Sequence[RoutedSequence], tokens: Sequence[int]) -> list[int]:
        """Where the sequences stand; the model is asked at those whose token is not known."""
        nodes = [self._node_of(s) for s in rows]
        new = {node: s for s, node in zip(rows, nodes, strict=True) if tokens[node] == UNREAD}
        if new:
            asked = [*new.values()]
            self._learn([*new], *self._pass(asked, [len(s.ids) for s in asked]))
        return nodes

    def _learn(self, nodes: Sequence[int], hidden: Tensor, logits: Tensor, seconds: float) -> None:
        """Keeps what the model said at these nodes, in so many seconds each; nothing where it said no numbers."""
        raise NotImplementedError

    def _node_of(self, s: RoutedSequence) -> int:
        node, length = self._at[s.slot]
        if length < len(s.ids):
            for token_id in s.ids[length:]:
                node = self._memory.child(node, token_id)
            self._at[s.slot] = node, len(s.ids)
        return node


class _KnownSlm(_Known, ComputedSlm):
    """The SLM that reads only what is not known."""

    def read(self, rows: Sequence[RoutedSequence], *_: object) -> list[Said]:
        """See `SlmSide`."""
        memory, nodes = self._memory, self._known_nodes(rows, self._memory.slm_token)
        found = [_known("SLM", memory.slm_token[node], math.nan, memory.slm_s[node]) for node in nodes]
        for members in by_router(rows, range(len(rows))):
            some = [rows[m] for m in members]
            router = some[0].router
            at = to_device([nodes[m] for m in members], memory.hidden.device)
            features = RouterFeatures.from_statistics(
                memory.hidden.index_select(0, at),
                memory.statistics.index_select(0, at).unbind(1),
                **sequence_features(router, some, memory.hidden, [self._roots[s.slot] for s in some]),
            )
            scores, error = scored(router, features, len(members))
            for m, number in zip(members, scores.tolist(), strict=True):
                found[m].score(number, router, error)
        return found

    def _learn(self, nodes: Sequence[int], hidden: Tensor, logits: Tensor, seconds: float) -> None:
        """See `_Known`."""
        features, memory = RouterFeatures(hidden, logits), self._memory
        memory.keep(nodes, hidden, torch.stack([getattr(features, name) for name in STATISTICS], dim=1))
        tokens, sound = greedy_tokens(logits).tolist(), features.max_probability.isfinite().tolist()
        for node, token_id, is_sound in zip(nodes, tokens, sound, strict=True):
            if is_sound:
                memory.slm_token[node], memory.slm_s[node] = token_id, seconds


class _KnownLlm(_Known, ComputedLlm):
    """The LLM that reads only what is not known."""

    def read(self, rows: Sequence[RoutedSequence], _uptos: Sequence[int]) -> list[Said]:
        """See `LlmSide`."""
        memory, nodes = self._memory, self._known_nodes(rows, self._memory.llm_token)
        return [_known("LLM", memory.llm_token[n], memory.llm_entropy[n], memory.llm_s[n]) for n in nodes]

    def _learn(self, nodes: Sequence[int], _: Tensor, logits: Tensor, seconds: float) -> None:
        """See `_Known`."""
        memory, tokens, sound = self._memory, greedy_tokens(logits).tolist(), logits.amax(-1).isfinite().tolist()
        for node, token_id, is_sound, entropy in zip(
            nodes, tokens, sound, entropy_of_logits(logits).tolist(), strict=True
        ):
            if is_sound:
                memory.llm_token[node], memory.llm_entropy[node], memory.llm_s[node] = token_id, entropy, seconds


def _known(which: str, token_id: int, number: float, seconds: float) -> Said:
    """What a model said at a node; an error where it said no numbers."""
    return Said(token_id, (), number, seconds, error=not_a_number(which) if token_id == UNREAD else None)
