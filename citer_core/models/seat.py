"""`Seat`: the cache of one sequence in memory that stays, and the passes over it, captured once and replayed.

All that changes from pass to pass (tokens, position, how much is padding, what a readout wants to know) lies in one
tensor that is sent at each pass. Whoever reads along hands over a `Readout`, which becomes part of what is captured.
Knows nothing about routing. Lent by `seats`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from citer_core.models.captured import Captured, GraphPlan, call_again, capture_for
from citer_core.models.fused_decoder import FusedDecoder
from citer_core.models.kv_cache import capacity_for
from citer_core.models.static_attention import STATIC_ATTENTIONS
from citer_core.models.transfer import send

N_NUMBERS = 5  # of a readout
MOST_READOUTS = 8  # whose graphs are kept
log = logging.getLogger(__name__)

# Computes what the host is to know from the seat's logits and hidden state, into memory of its own: tensors only.
Readout = Callable[[], None]
R = TypeVar("R", bound=Readout)


def _nothing() -> None:
    """Reads nothing out."""


class Seat:
    """Room for one sequence.

    Args:
        decoder: the fused pass.
        logits_of: [N, V] of hidden states [N, H].
        n_positions: the most tokens that it is to hold.
        plan: which passes are replayed, and how.

    Attributes:
        logits, hidden: [1, V] and [1, H] after the last token that was read, in memory that stays.
        numbers: [N_NUMBERS] int64 on the device, those of the last `step`.
        plan: as given.
    """

    @torch.inference_mode()
    def __init__(
        self, decoder: FusedDecoder, logits_of: Callable[[Tensor], Tensor], n_positions: int, plan: GraphPlan
    ) -> None:
        self.plan = plan
        self._decoder, self._logits_of = decoder, logits_of
        self._cache = decoder.new_cache(n_spare=plan.widths[-1])
        self._cache.reserve(n_positions)
        self._capture = capture_for(decoder.device)
        self._graphs: dict[tuple[int, int, int], Captured] = {}
        self._readouts: OrderedDict[Hashable, Any] = OrderedDict()
        self._inbox = torch.zeros(N_NUMBERS + 2 + plan.widths[-1], dtype=torch.long, device=decoder.device)
        self.numbers = self._inbox[:N_NUMBERS]
        # Computed once to learn their sizes, from a token and a cache that are nobody's.
        self.hidden = decoder.hidden_states([[0]], decoder.new_cache())
        self.logits = logits_of(self.hidden).clone()

    @property
    def capacity(self) -> int:
        """Tokens that there is room for."""
        return self._cache.capacity

    @property
    def n_read(self) -> int:
        """Tokens that were read."""
        return self._cache.lengths[0]

    @torch.inference_mode()
    def clear(self) -> None:
        """Makes room for another sequence; nothing of this one stays in the memory, numbers or not."""
        self._cache.wipe()

    def readout(self, key: Hashable, make: Callable[[], R]) -> R:
        """The readout of that key, made if there is none; the longest unused one goes, and all graphs with it.

        All, because newer releases of torch free the workspaces of a stream with the first of its graphs that goes.
        """
        found: R | None = self._readouts.get(key)
        if found is None:
            found = self._readouts[key] = make()
            if len(self._readouts) > MOST_READOUTS:
                self._readouts.popitem(last=False)
                self._graphs.clear()
        self._readouts.move_to_end(key)
        return found

    @torch.inference_mode()
    def read(self, ids: Sequence[int]) -> None:
        """Reads any number of tokens in one pass that is not replayed; gives the logits and the state after them."""
        self._check_room(len(ids))
        hidden = self._decoder.hidden_states([ids], self._cache, n_last=[1])
        self.hidden.copy_(hidden)
        self.logits.copy_(self._logits_of(hidden))

    def feed(self, ids: Sequence[int]) -> None:
        """`step` without a readout."""
        self.step(ids, _nothing, [0] * N_NUMBERS)

    def rewind(self, n_tokens: int) -> None:
        """Forgets all but the first `n_tokens` tokens."""
        self._cache.truncate(0, n_tokens)

    @torch.inference_mode()
    def answer(self, readout: Readout, numbers: Sequence[int]) -> None:
        """Has a readout made of what was read last."""
        send(numbers, self.numbers)
        readout()

    @torch.inference_mode()
    def step(self, ids: Sequence[int], readout: Readout, numbers: Sequence[int]) -> None:
        """Reads tokens and has the readout made of what comes after them; replayed unless they are many.

        Args:
            ids: one token or more.
            readout: from `readout`.
            numbers: for it, `N_NUMBERS` of them.
        """
        self._check_room(len(ids))
        if len(ids) > self.plan.longest:
            self.read(ids)
            self.answer(readout, numbers)
            return
        widest = self.plan.widths[-1]
        for first in range(0, len(ids), widest):
            chunk = ids[first : first + widest]
            width = self.plan.width_for(len(chunk))
            # The padding is a token of the text, of which it is known that the model can read it.
            padded = [*chunk, *[chunk[-1]] * (width - len(chunk))]
            send([*numbers, self.n_read, len(chunk), *padded], self._inbox[: N_NUMBERS + 2 + width])
            self._graph(width, self._room(self.n_read + len(chunk)), readout)()
            self._cache.lengths[0] += len(chunk)

    def _check_room(self, n_new: int) -> None:
        assert 0 < n_new <= self.capacity - self.n_read, f"no room for {n_new} more tokens after {self.n_read}"

    def _room(self, n_positions: int) -> int:
        """Positions that a pass attends over when it ends after so many: all, or the next power of two."""
        return min(self.capacity, capacity_for(n_positions)) if self.plan.stepped else self.capacity

    def _graph(self, width: int, room: int, readout: Readout) -> Captured:
        which = width, room, id(readout)
        if which not in self._graphs:
            compute = self._pass(width, room, readout)
            if self.plan.compiler is not None:
                compute = torch.compile(compute, backend=self.plan.compiler)
            try:
                self._graphs[which] = self._capture(compute)
            except RuntimeError as error:
                log.warning("passes of %d tokens cannot be captured and are computed each time (%s)", width, error)
                self._graphs[which] = call_again(compute)
        return self._graphs[which]

    def _pass(self, width: int, room: int, readout: Readout) -> Callable[[], None]:
        """The computation of a pass; it holds all that it reads, and not the seat."""
        decoder, logits_of, capacity = self._decoder, self._logits_of, self.capacity
        out_hidden, out_logits = self.hidden, self.logits
        start, n_new = (self._inbox.narrow(0, N_NUMBERS + i, 1) for i in (0, 1))
        ids = self._inbox.narrow(0, N_NUMBERS + 2, width)
        tables = decoder.rope_tables(capacity)
        attention = STATIC_ATTENTIONS[self.plan.attention](self._cache, room)
        offsets = torch.arange(width, device=decoder.device)
        spare = capacity + offsets

        def compute() -> None:
            positions, places, kept = start, start, None
            if width > 1:
                # Padding is turned as any token within the tables, written behind all positions, and not answered for.
                positions = (start + offsets).clamp_max_(capacity - 1)
                places = torch.where(offsets < n_new, start + offsets, spare)
                kept = n_new - 1
            cos, sin = (table.index_select(0, positions) for table in tables)
            hidden = decoder.blocks_forward(ids, cos, sin, attention(positions, places), kept)
            out_hidden.copy_(hidden)
            out_logits.copy_(logits_of(hidden))
            readout()

        return compute
