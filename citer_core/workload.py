"""`Workload`: what the passes of many runs add up to, so that they can be priced for any pair afterwards.

Bytes and FLOPs are sums over passes (`cost`), so four sums per model hold all that a price needs. A row of a few
numbers then answers "what would these decisions cost on Qwen2-1.5B/72B?" without its runs. Roofline seconds are no such
sum: the larger of two numbers in each pass. Pure arithmetic on the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from citer_core.cost import ROUTER_BYTES_PER_PARAM, ModelSpec
from citer_core.gate.fields import MAX_NUMBER, Real, Record, Whole
from citer_core.types import TokenEvent

_COUNT = Whole(0, MAX_NUMBER)
PASSES = Record({"n_passes": _COUNT, "n_new": _COUNT, "n_context": _COUNT, "n_attended": Real(0, float(MAX_NUMBER))})
WORKLOAD = Record({"n_tokens": _COUNT, "slm": PASSES, "llm": PASSES, "alone": PASSES})


@dataclass(frozen=True, slots=True)
class Passes:
    """Forward passes of one model.

    Attributes:
        n_passes: how many; each streams the weights once.
        n_new: tokens fed, over all passes.
        n_context: tokens in the cache after each pass, over all passes.
        n_attended: pairs of a new token and one that it looks at, over all passes.
    """

    n_passes: int = 0
    n_new: int = 0
    n_context: int = 0
    n_attended: float = 0.0

    def __add__(self, other: Passes) -> Passes:
        return Passes(
            self.n_passes + other.n_passes,
            self.n_new + other.n_new,
            self.n_context + other.n_context,
            self.n_attended + other.n_attended,
        )

    @classmethod
    def of(cls, passes: Iterable[tuple[int, int]]) -> Self:
        """Passes by (new tokens, tokens in the cache afterwards); one of no new token is none."""
        n_passes = n_new = n_context = 0
        n_attended = 0.0
        for new, context in passes:
            if new:
                n_passes += 1
                n_new += new
                n_context += context
                n_attended += new * (context - new / 2)
        return cls(n_passes, n_new, n_context, n_attended)

    def n_bytes(self, model: ModelSpec) -> float:
        """What they move in `model`; `ModelSpec.forward_bytes` of each, added up."""
        return model.weight_bytes * self.n_passes + model.kv_bytes_per_token * self.n_context

    def flops(self, model: ModelSpec) -> float:
        """What they compute in `model`; `ModelSpec.forward_flops` of each, added up."""
        return 2 * model.n_params * self.n_new + 4 * model.n_layers * model.n_heads * model.head_dim * self.n_attended


@dataclass(frozen=True, slots=True)
class Price:
    """Estimated totals for one pair.

    Attributes:
        n_bytes, flops: routed.
        llm_only_bytes: of the LLM alone writing the same tokens.
    """

    n_bytes: float
    flops: float
    llm_only_bytes: float


@dataclass(frozen=True, slots=True)
class Workload:
    """The passes behind some routed texts.

    Attributes:
        n_tokens: written.
        slm, llm: the passes of either model; the router scores behind each of the SLM's.
        alone: those of one model writing the same texts by itself.
    """

    n_tokens: int = 0
    slm: Passes = Passes()
    llm: Passes = Passes()
    alone: Passes = Passes()

    def __add__(self, other: Workload) -> Workload:
        return Workload(
            self.n_tokens + other.n_tokens, self.slm + other.slm, self.llm + other.llm, self.alone + other.alone
        )

    @classmethod
    def of(cls, events: Iterable[TokenEvent]) -> Self:
        """The passes of one run, each as if it had run alone."""
        known = list(events)
        gone = ((1, event.context_len + k) for event in known for k in range(1, len(event.discarded)))
        return cls(
            len(known),
            Passes.of((event.slm_tokens_fed, event.context_len) for event in known) + Passes.of(gone),
            Passes.of((event.llm_tokens_fed, event.llm_context_len) for event in known),
            Passes.of((event.context_len if event.index == 0 else 1, event.context_len) for event in known),
        )

    @classmethod
    def routed(cls, n_prompt: int, n_tokens: int, llm_at: Sequence[int]) -> Self:
        """The passes of one text: the SLM reads every position, the LLM all that is new to it where it writes.

        Args:
            n_prompt, n_tokens: of the prompt, and written.
            llm_at: positions of the LLM's tokens, rising.
        """
        every = Passes.of((1 if i else n_prompt, n_prompt + i) for i in range(n_tokens))
        read = [n_prompt + position for position in llm_at]
        return cls(
            n_tokens,
            every,
            Passes.of((now - before, now) for before, now in zip([0, *read], read, strict=False)),
            every,
        )

    def price(self, slm: ModelSpec, llm: ModelSpec, router_params: int) -> Price:
        """What it costs with two models and a router of so many parameters."""
        router = self.slm.n_passes * router_params
        return Price(
            n_bytes=self.slm.n_bytes(slm) + self.llm.n_bytes(llm) + ROUTER_BYTES_PER_PARAM * router,
            flops=self.slm.flops(slm) + self.llm.flops(llm) + 2 * router,
            llm_only_bytes=self.alone.n_bytes(llm),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads `to_dict` back.

        Raises:
            GateError: it is something else.
        """
        found = WORKLOAD.read(value, "the workload")
        return cls(found["n_tokens"], *(Passes(**found[name]) for name in ("slm", "llm", "alone")))
