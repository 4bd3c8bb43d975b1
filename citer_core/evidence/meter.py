"""`metered`: a pair whose models count the passes that they make, so that any work can be priced in bytes and FLOPs.

What a pass shares between several texts counts once, as it is moved once. Knows nothing about what the work is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from torch import Tensor

from citer_core.models.language_model import Cache, LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.workload import Passes


class MeteredLM(LanguageModel):
    """The same model, its weights shared, that counts.

    Attributes:
        counted: all passes so far; of several texts in one pass, their tokens added up.
    """

    def __init__(self, lm: LanguageModel) -> None:
        self.__dict__.update(lm.__dict__)  # nothing is loaded or compared again
        self.counted = Passes()

    def forward(
        self,
        new_ids: Sequence[Sequence[int]],
        cache: Cache,
        slots: Sequence[int] = (0,),
        n_last: Sequence[int] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """See `LanguageModel`."""
        found = super().forward(new_ids, cache, slots, n_last)
        texts = [(len(ids), cache.lengths[slot]) for ids, slot in zip(new_ids, slots, strict=True)]
        for shared in [texts] if self.is_fused else [[text] for text in texts]:
            self._count(shared)
        return found

    def read(self, texts: Sequence[Sequence[int]], n_last: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
        """See `LanguageModel`."""
        if self.is_fused:
            self._count([(len(ids), len(ids)) for ids in texts])
        yield from super().read(texts, n_last)

    def _count(self, texts: Sequence[tuple[int, int]]) -> None:
        """One pass over (new tokens, tokens in the cache afterwards) of each text."""
        self.counted += replace(Passes.of(texts), n_passes=1)


@dataclass(slots=True)
class Spent:
    """What some work has cost.

    Attributes:
        seconds: by the clock.
        slm, llm: passes of either model.
    """

    seconds: float = 0.0
    slm: Passes = field(default_factory=Passes)
    llm: Passes = field(default_factory=Passes)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}


class Meter:
    """A pair that counts.

    Attributes:
        pair: to work with.

    Args:
        pair: both models loaded here.
    """

    def __init__(self, pair: ModelPair) -> None:
        self._slm, self._llm = MeteredLM(pair.slm), MeteredLM(pair.local_llm)
        self.pair = replace(pair, slm=self._slm, llm=self._llm)

    @contextmanager
    def reading(self) -> Iterator[Spent]:
        """What is spent inside, known when it ends."""
        spent = Spent()
        self._slm.counted = self._llm.counted = Passes()
        start = time.perf_counter()
        yield spent
        spent.seconds = time.perf_counter() - start
        spent.slm, spent.llm = self._slm.counted, self._llm.counted
