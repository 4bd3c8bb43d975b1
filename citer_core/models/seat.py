"""`Seat`: the cache of one sequence in memory that stays, and the passes over it, captured once and replayed.

All that changes from pass to pass (tokens, position, how much is padding, what a readout wants to know) lies in one
tensor that is sent at each pass. A pass may be padded: the padding's keys and values go to spare rows, which no
attention reads, so the cache holds what it would hold without. A caller that reads along hands over a `Readout`, which
becomes part of what is captured. `Seats` lends them to one run each. Knows nothing about routing.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from citer_core.models.captured import Captured, call_again, capture_for
from citer_core.models.fused_decoder import FusedDecoder
from citer_core.models.kv_cache import Attend, KVCache, capacity_for
from citer_core.models.transfer import send

WIDTHS = (1, 2, 4, 8, 16)  # tokens of a captured pass; one of fewer is padded, a longer one is computed at once
N_NUMBERS = 5  # of a readout
MOST_READOUTS = 8  # whose graphs are kept
MOST_IDLE = 4  # seats that wait for the next run
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
        n_positions: the most tokens that it is to hold.

    Attributes:
        logits, hidden: [1, V] and [1, H] after the last token that was read, in memory that stays.
        numbers: [N_NUMBERS] int64 on the device, those of the last `step`.
    """

    @torch.inference_mode()
    def __init__(self, decoder: FusedDecoder, n_positions: int) -> None:
        self._decoder = decoder
        self._cache = decoder.new_cache(n_spare=WIDTHS[-1])
        self._cache.reserve(n_positions)
        self._capture = capture_for(decoder.device)
        self._graphs: dict[tuple[int, int, int], Captured] = {}
        self._readouts: OrderedDict[Hashable, Any] = OrderedDict()
        self._inbox = torch.zeros(N_NUMBERS + 2 + WIDTHS[-1], dtype=torch.long, device=decoder.device)
        self.numbers = self._inbox[:N_NUMBERS]
        # Computed once to learn their sizes, from a token and a cache of no run.
        self.hidden = decoder.hidden_states([[0]], decoder.new_cache())
        self.logits = decoder.logits(self.hidden).clone()

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
        self.logits.copy_(self._decoder.logits(hidden))

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
        if len(ids) > WIDTHS[-1]:
            self.read(ids)
            self.answer(readout, numbers)
            return
        n_new = len(ids)
        width = next(width for width in WIDTHS if n_new <= width)
        # The padding is a token of the text, of which it is known that the model can read it.
        padded = [*ids, *[ids[-1]] * (width - n_new)]
        send([*numbers, self.n_read, n_new, *padded], self._inbox[: N_NUMBERS + 2 + width])
        self._graph(width, min(self.capacity, capacity_for(self.n_read + n_new)), readout)()
        self._cache.lengths[0] += n_new

    def _check_room(self, n_new: int) -> None:
        assert 0 < n_new <= self.capacity - self.n_read, f"no room for {n_new} more tokens after {self.n_read}"

    def _graph(self, width: int, room: int, readout: Readout) -> Captured:
        """The pass of so many tokens that attends over the first `room` positions: the next power of two, or all."""
        which = width, room, id(readout)
        if which not in self._graphs:
            compute = self._pass(width, room, readout)
            try:
                self._graphs[which] = self._capture(compute)
            except RuntimeError as error:
                log.warning("passes of %d tokens cannot be captured and are computed each time (%s)", width, error)
                self._graphs[which] = call_again(compute)
        return self._graphs[which]

    def _pass(self, width: int, room: int, readout: Readout) -> Callable[[], None]:
        """The computation of a pass; it holds all that it reads, and not the seat."""
        decoder, capacity = self._decoder, self.capacity
        out_hidden, out_logits = self.hidden, self.logits
        start, n_new = (self._inbox.narrow(0, N_NUMBERS + i, 1) for i in (0, 1))
        ids = self._inbox.narrow(0, N_NUMBERS + 2, width)
        tables = decoder.rope_tables(capacity)
        attention = _attention_within(self._cache, room)
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
            out_logits.copy_(decoder.logits(hidden))
            readout()

        return compute


def _attention_within(cache: KVCache, room: int) -> Callable[[Tensor, Tensor], Attend]:
    """Attention over the first `room` positions of a cache in which nothing but tensors says how long the text is.

    Keeps no reference to the cache.

    Returns:
        From the new tokens' positions [W] and the rows [W] where their keys and values go, all different, both int64 on
        the device, to the attention of their pass.
    """
    n_q, n_kv, dim = cache.heads
    group = cache.heads.group
    layers = [(layer.rows, layer.keys.narrow(2, 0, room), layer.values.narrow(2, 0, room)) for layer in cache.layers()]
    like = layers[0][0]
    columns = torch.arange(room, device=like.device)
    hidden, seen = (like.new_full((), value) for value in (-math.inf, 0.0))

    def at(positions: Tensor, places: Tensor) -> Attend:
        mask = torch.where(columns > positions[:, None], hidden, seen)
        n_new = positions.shape[0]

        def attend(layer: int, qkv: Tensor) -> Tensor:
            rows, keys, values = layers[layer]
            rows.index_copy_(0, places, qkv.narrow(1, n_q, 2 * n_kv))
            query = qkv.narrow(1, 0, n_q).view(n_new, n_kv, group, dim).permute(1, 2, 0, 3)
            mixed = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
            return mixed.permute(2, 0, 1, 3).reshape(n_new, -1)

        return attend

    return at


class Seats:
    """The seats of one model; a seat and its graphs outlive the run. Owned by `LanguageModel`, and goes with it.

    Args:
        make: a seat for so many tokens, where none is free.
    """

    def __init__(self, make: Callable[[int], Seat]) -> None:
        self._make = make
        self._idle: list[Seat] = []
        # A run that was left is ended wherever rubbish is collected, which may be while this lock is held.
        self._lock = threading.RLock()

    @contextmanager
    def lend(self, n_positions: int) -> Iterator[Seat]:
        """An empty seat with room for so many tokens, for as long as the context is open.

        One that something failed on is not lent again. At most `MOST_IDLE` wait for the next run, those used last.
        """
        with self._lock:
            fitting = [seat for seat in self._idle if seat.capacity >= n_positions]
            seat = min(fitting, key=lambda seat: seat.capacity, default=None)
            self._idle = [other for other in self._idle if other is not seat]
        if seat is None:
            seat = self._make(n_positions)
        else:
            seat.clear()  # not when it is given back: that may be while another is captured, which would take it along
        yield seat
        with self._lock:
            self._idle = [*self._idle, seat][-MOST_IDLE:]
