"""`Profile`: everything that was measured about a pair on a device, and what follows from it in numbers. No torch.

Fields stand in the order in which a stored profile has them, so a profile and its file are each other's image. Made by
`profile.py`, read back by `profile_file.py`; must not know either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from citer_core.measuring.bound import Bound
from citer_core.measuring.break_even import RoutedCosts
from citer_core.measuring.profile_plan import ProfilePlan
from citer_core.measuring.step_cost import Clock, PassTime, StepCost

SCHEMA: Final = "citer-profile"
SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class CopySpeed:
    """Bandwidth of copying about `n_bytes`, which may fit a processor's caches."""

    n_bytes: int
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class ProductLine:
    """The fastest product of up to `rows` rows with one kind of matrix (`tall`, `square`, `wide`), and GB/s of each."""

    kind: str
    rows: int
    way: str
    gb_per_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Probe:
    """The device by itself.

    Attributes:
        copy: by size, the largest last; at least one.
        peak_flops: FLOP/s of a large product of matrices.
        data_sheet_bytes_per_s: None where no data sheet is known.
        threads: of the processor.
        products: by model, `slm` and `llm`; None in profiles from before it was measured.
    """

    copy: tuple[CopySpeed, ...]
    peak_flops: float
    data_sheet_bytes_per_s: float | None
    threads: int
    products: Mapping[str, tuple[ProductLine, ...]] | None = None


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """One model's passes. From `bound` on it is the `Verdict` on them.

    Attributes:
        name, n_params: of the model.
        passes: as measured.
        fit: what they cost by formula.
        pass_bytes: estimated for a one-token pass at the profile's context, from 1.
        achieved_bytes_per_s: `pass_bytes` in the time that the fit gives it.
        copy_bytes_per_s: of a copy of about the model's size.
        bound, reason, bandwidth_share, compute_share, growth: see `Verdict`.
    """

    name: str
    n_params: int
    passes: tuple[PassTime, ...]
    fit: StepCost
    pass_bytes: int
    achieved_bytes_per_s: float
    copy_bytes_per_s: float
    bound: Bound
    reason: str
    bandwidth_share: float
    compute_share: float
    growth: float


@dataclass(frozen=True, slots=True)
class RouterTime:
    """The router, and the seconds of one pass of it."""

    name: str
    n_params: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Top-1 agreement on true prefixes, token by token; shares are in [0, 1].

    Attributes:
        n_examples, n_tokens: that it was measured on.
        slm_is_llm, slm_is_truth, llm_is_truth: how often the first choices are the same.
        needed_share: of tokens on which the two models differ.
        data: what the examples are, in a word.
    """

    n_examples: int
    n_tokens: int
    slm_is_llm: float
    slm_is_truth: float
    llm_is_truth: float
    needed_share: float
    data: str


@dataclass(frozen=True, slots=True)
class SharesAt:
    """Up to which LLM share, in [0, 1], routing saves time and bytes with `n_context` tokens of context."""

    n_context: int
    time: float
    bytes: float


@dataclass(frozen=True, slots=True)
class BatchShare:
    """Up to which LLM share routing saves time for `batch_size` sequences in lockstep."""

    batch_size: int
    time: float


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The break-evens by fit.

    Attributes:
        n_context, time, bytes: at the profile's own context, see `SharesAt`.
        by_context, by_batch: at other contexts; for batches.
        largest_batch: that still saves time at the share that the pair needs; 0 for none, None where that share is not
            known.
    """

    n_context: int
    time: float
    bytes: float
    by_context: tuple[SharesAt, ...]
    by_batch: tuple[BatchShare, ...]
    largest_batch: int | None


@dataclass(frozen=True, slots=True)
class RunCheck:
    """A real run beside what the fit predicts for it.

    Attributes:
        run: in words.
        llm_share: None for the LLM alone.
        measured_tokens_per_s, predicted_tokens_per_s: written ones.
        measured_of_llm_alone, predicted_of_llm_alone: time, of the LLM's.
        gap: predicted by measured time, less 1.
        lowest_of_llm_alone, highest_of_llm_alone: of the rounds whose median `measured_of_llm_alone` is; None in
            profiles from before they were kept.
    """

    run: str
    llm_share: float | None
    measured_tokens_per_s: float
    predicted_tokens_per_s: float
    measured_of_llm_alone: float
    predicted_of_llm_alone: float
    gap: float
    lowest_of_llm_alone: float | None = None
    highest_of_llm_alone: float | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A pair measured on a device.

    Attributes:
        date, hardware, command: when, on what, and by which command, which measures the same again.
        pair, pair_revision, dtype, device: what was measured.
        clock: that the device was measured by.
        plan: how much was measured.
        probe, slm, llm, router: the parts.
        loop_s: seconds of a step outside models and router.
        switch_s: seconds that a call of the LLM adds outside it.
        agreement, break_even, check: what follows; no agreement of two models with random weights.
    """

    date: str
    hardware: str
    command: str
    pair: str
    pair_revision: str
    dtype: str
    device: str
    clock: Clock
    plan: ProfilePlan
    probe: Probe
    slm: ModelProfile
    llm: ModelProfile
    router: RouterTime
    loop_s: float
    switch_s: float
    agreement: Agreement | None
    break_even: BreakEven
    check: tuple[RunCheck, ...]

    @property
    def costs(self) -> RoutedCosts:
        """What the formulas need."""
        return RoutedCosts(self.slm.fit, self.llm.fit, self.router.seconds, self.loop_s, self.switch_s)

    def as_json(self) -> dict[str, Any]:
        """The document that is stored: numbers, texts, lists and objects."""
        document = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **asdict(self)}
        if self.probe.products is None:
            del document["probe"]["products"]
        for row in document["check"]:
            for name in ("lowest_of_llm_alone", "highest_of_llm_alone"):
                if row[name] is None:
                    del row[name]
        return document
