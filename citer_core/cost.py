"""Estimated cost of a run, derived from its events: bytes moved, floating-point operations, roofline seconds.

Pure arithmetic on the standard library; an estimate, and named so wherever it is shown. Nothing here is stored in a
trace, so one trace can be priced for any pair ("what would these decisions cost on Qwen2-1.5B/72B?"). Mirrored for the
browser in `assets/run/cost.js`; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Self

from citer_core.gate.dataclass_kind import record_of
from citer_core.gate.fields import MAX_NUMBER, Real, Whole
from citer_core.trace_schema import Name
from citer_core.types import TokenEvent

ROUTER_BYTES_PER_PARAM = 4  # it runs in float32


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """The numbers of a decoder-only transformer that decide what a forward pass moves and computes.

    Attributes:
        name: for people.
        n_params: all parameters, tied embeddings counted once.
        n_layers, n_heads, n_kv_heads, head_dim: of the attention.
        vocab_size, hidden_size: rows and columns of the embedding table.
        tied_embeddings: whether the output head is the input table.
        bytes_per_element: of weights and KV cache (2 for bfloat16).
        block_bits: bits per weight outside the embedding tables where those weights are quantized, else None.

    Raises:
        GateError: a field is of another kind or outside the range that its type gives it.
    """

    name: Name
    n_params: Annotated[int, Whole(0, MAX_NUMBER)]
    n_layers: Annotated[int, Whole(0, 100_000)]
    n_heads: Annotated[int, Whole(0, 100_000)]
    n_kv_heads: Annotated[int, Whole(0, 100_000)]
    head_dim: Annotated[int, Whole(0, 1_000_000)]
    vocab_size: Annotated[int, Whole(0, 2**31 - 1)]
    hidden_size: Annotated[int, Whole(0, 10_000_000)]
    tied_embeddings: bool
    bytes_per_element: Annotated[int, Whole(0, 16)] = 2
    block_bits: Annotated[float, Real(0, 128)] | None = None

    def __post_init__(self) -> None:
        # Here too and not only in the reader: a number times a text would be a text of that many copies.
        MODEL.read({name: getattr(self, name) for name in (*MODEL.required, *MODEL.optional)}, "the model")

    @property
    def stored_bytes(self) -> int:
        """Bytes of all weights, as they lie in memory."""
        if self.block_bits is None:
            return self.n_params * self.bytes_per_element
        tables = (1 if self.tied_embeddings else 2) * self.vocab_size * self.hidden_size
        return tables * self.bytes_per_element + round((self.n_params - tables) * self.block_bits / 8)

    @property
    def weight_bytes(self) -> int:
        """Bytes of weights streamed by one forward: an untied input table is gathered from, not streamed."""
        gathered = 0 if self.tied_embeddings else self.vocab_size * self.hidden_size
        return self.stored_bytes - gathered * self.bytes_per_element

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of keys and values that one token adds to the cache, over all layers."""
        return 2 * self.n_layers * self.n_kv_heads * self.head_dim * self.bytes_per_element

    def forward_bytes(self, n_new: int, n_cached: int) -> int:
        """Bytes moved by one forward of `n_new` tokens over `n_cached` cached ones: weights, KV read, KV written."""
        return self.weight_bytes + self.kv_bytes_per_token * (n_cached + n_new)

    def forward_flops(self, n_new: int, n_cached: int) -> float:
        """Floating-point operations of that forward: two per parameter and token, plus attention over the context."""
        attention = 4 * self.n_layers * self.n_heads * self.head_dim * n_new * (n_cached + n_new / 2)
        return 2 * self.n_params * n_new + attention


MODEL = record_of(ModelSpec)


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """What the roofline needs of a device: memory bandwidth in bytes/s and peak compute in FLOP/s.

    Attributes:
        memory_bytes: what fits it; None where that is not known.
    """

    name: str
    bandwidth: float
    peak_flops: float
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate for one step or many; adds up."""

    n_bytes: float = 0.0
    flops: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.n_bytes + other.n_bytes, self.flops + other.flops, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class CostModel:
    """Prices events for a pair, a router and a device.

    Attributes:
        slm, llm: the two models.
        device: where both run.
        router_params: parameters of the router, read once per step.
        router_bytes_per_param: see `ROUTER_BYTES_PER_PARAM`.
    """

    slm: ModelSpec
    llm: ModelSpec
    device: DeviceSpec
    router_params: int = 0
    router_bytes_per_param: int = ROUTER_BYTES_PER_PARAM

    def _forward(self, n_bytes: float, flops: float) -> Cost:
        return Cost(n_bytes, flops, max(n_bytes / self.device.bandwidth, flops / self.device.peak_flops))

    def model_forward(self, model: ModelSpec, n_new: int, n_cached: int) -> Cost:
        """One forward of one model; nothing at all where `n_new` is 0."""
        if n_new == 0:
            return Cost()
        return self._forward(model.forward_bytes(n_new, n_cached), model.forward_flops(n_new, n_cached))

    def router_step(self) -> Cost:
        """One pass of the router for one token."""
        return self._forward(self.router_params * self.router_bytes_per_param, 2 * self.router_params)

    def step(self, event: TokenEvent) -> Cost:
        """The routed step: SLM and router always, the LLM where it was called; and the steps that were taken back."""
        slm = self.model_forward(self.slm, event.slm_tokens_fed, event.context_len - event.slm_tokens_fed)
        llm = self.model_forward(self.llm, event.llm_tokens_fed, event.llm_context_len - event.llm_tokens_fed)
        total = slm + self.router_step() + llm
        for further in range(1, len(event.discarded)):
            total += self.model_forward(self.slm, 1, event.context_len + further - 1) + self.router_step()
        return total

    def alone(self, model: ModelSpec, event: TokenEvent) -> Cost:
        """What the step would cost if `model` wrote the whole text by itself, without a router."""
        n_new = event.context_len if event.index == 0 else 1
        return self.model_forward(model, n_new, event.context_len - n_new)


@dataclass(frozen=True, slots=True)
class CostSummary:
    """Totals of a run beside what either model alone would have cost for the same tokens."""

    routed: Cost = field(default_factory=Cost)
    slm_only: Cost = field(default_factory=Cost)
    llm_only: Cost = field(default_factory=Cost)

    @classmethod
    def of(cls, model: CostModel, events: Iterable[TokenEvent]) -> Self:
        """Prices every event under `model`."""
        routed, slm_only, llm_only = Cost(), Cost(), Cost()
        for event in events:
            routed += model.step(event)
            slm_only += model.alone(model.slm, event)
            llm_only += model.alone(model.llm, event)
        return cls(routed, slm_only, llm_only)

    @property
    def bytes_share_of_llm_only(self) -> float:
        """Routed bytes over LLM-only bytes; above 1 at tau = 1, where the SLM and the router come on top."""
        return self.routed.n_bytes / self.llm_only.n_bytes if self.llm_only.n_bytes else 0.0


def mlp_router_params(hidden_size: int) -> int:
    """What a step reads of the published router on a model of that width: H to 2H, then to 1.

    Batch norm is part of the first layer then, and the last two layers, between which nothing bends, are one.
    """
    return hidden_size * 2 * hidden_size + 2 * hidden_size + 2 * hidden_size + 1


QWEN2_1_5B = ModelSpec("Qwen2-1.5B", 1_543_714_304, 28, 12, 2, 128, 151_936, 1536, True)
QWEN2_72B = ModelSpec("Qwen2-72B", 72_706_203_648, 80, 64, 8, 128, 152_064, 8192, False)
LLAMA31_8B = ModelSpec("Llama-3.1-8B", 8_030_261_248, 32, 32, 8, 128, 128_256, 4096, False)
LLAMA31_70B = ModelSpec("Llama-3.1-70B", 70_553_706_496, 80, 64, 8, 128, 128_256, 8192, False)
# Published peak figures of the vendor's data sheet (dense bfloat16), not measurements of ours.
H100_SXM = DeviceSpec("H100 SXM (data sheet)", 3.35e12, 989e12, 80e9)
