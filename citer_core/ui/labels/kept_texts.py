"""What is kept of an analysis, in bytes: `KeptText` of a text, enough to roll out its tokens, and `LabelStore`, the
analyses of bundled problems, which are the same for everybody.

Arrays of plain numbers rather than tensors, each of which costs hundreds of bytes and may hold a larger one alive.
Knows no sessions and no models.
"""

from __future__ import annotations

import threading
import weakref
from array import array
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from citer_core.tasks.problems import Problem

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.evaluation.label_view import LabelledText
    from citer_core.labelling.teacher_forcing import Example

MOST_BYTES = 16_000_000  # both bundled sets are 4 MB, and all 400 problems one by one 8
FIXED_BYTES = 1_000  # about what the objects of a text take besides


@dataclass(frozen=True, slots=True)
class KeptText:
    """A labelled text of T tokens without what only its picture needs.

    Attributes:
        problem: whose ground truth it is.
        prompt_ids, truth_ids: of the example; the latter are T.
        slm_ids, llm_ids: T greedy tokens of each model.
        label: T bytes, 1: prefer the SLM; 0: prefer the LLM.
    """

    problem: Problem
    prompt_ids: array[int]
    truth_ids: array[int]
    slm_ids: array[int]
    llm_ids: array[int]
    label: bytes

    @classmethod
    def of(cls, text: LabelledText) -> KeptText:
        """Copies; nothing of `text` stays alive but its problem."""
        example = text.example
        return cls(
            example.problem,
            array("i", example.prompt_ids),
            array("i", example.truth_ids),
            array("i", text.slm_ids.tolist()),
            array("i", text.llm_ids.tolist()),
            bytes(text.label.tolist()),
        )

    @property
    def n_tokens(self) -> int:
        """T."""
        return len(self.truth_ids)

    @property
    def n_bytes(self) -> int:
        """About what it takes in memory."""
        n_ids = len(self.prompt_ids) + 3 * self.n_tokens
        return FIXED_BYTES + self.prompt_ids.itemsize * n_ids + self.n_tokens + len(self.problem.question)

    def example(self) -> Example:
        """The example, as it was."""
        from citer_core.labelling.teacher_forcing import Example

        return Example(self.problem, self.prompt_ids.tolist(), self.truth_ids.tolist())


@dataclass(frozen=True, slots=True)
class Reading:
    """A finished analysis of bundled problems.

    Attributes:
        texts: for roll-outs.
        body: what the browser is sent, but for whom, as UTF-8.
    """

    texts: tuple[KeptText, ...]
    body: bytes

    @property
    def n_bytes(self) -> int:
        """About what it takes in memory."""
        return len(self.body) + sum(text.n_bytes for text in self.texts)


class LabelStore:
    """Readings by the name of what was read, of the engine that was there last; the oldest make room.

    Args:
        most_bytes: of all readings together.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._engine: weakref.ref[Engine] | None = None
        self._readings: OrderedDict[str, Reading] = OrderedDict()
        self._turns: dict[str, threading.Lock] = {}

    def get(self, engine: Engine, name: str) -> Reading | None:
        """What this engine has read under that name; what another one has read is dropped."""
        with self._lock:
            self._own(engine)
            if name in self._readings:
                self._readings.move_to_end(name)
            return self._readings.get(name)

    def put(self, engine: Engine, name: str, reading: Reading) -> None:
        """Keeps a reading, unless it takes more than all may."""
        with self._lock:
            self._own(engine)
            self._readings[name] = reading
            while self._n_bytes() > self._most_bytes:
                self._readings.popitem(last=False)

    def turn(self, name: str) -> threading.Lock:
        """To be held by whoever reads this, so that others wait for the result; one per name of a bundled thing."""
        with self._lock:
            return self._turns.setdefault(name, threading.Lock())

    @property
    def n_bytes(self) -> int:
        """About what all readings take."""
        with self._lock:
            return self._n_bytes()

    def _n_bytes(self) -> int:
        return sum(reading.n_bytes for reading in self._readings.values())

    def _own(self, engine: Engine) -> None:
        if self._engine is None or self._engine() is not engine:
            self._engine = weakref.ref(engine)
            self._readings.clear()
