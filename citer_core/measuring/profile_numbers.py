"""`Profile`: everything that was measured about a pair on a device, and what follows from it in numbers. No torch.

Fields stand in the order in which a stored profile has them, so a profile and its file are each other's image: what a
field may hold is said by its type, for the reader too. Made by `profile.py`, which this must not know; said in words by
`profile_words.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from citer_core.errors import GateError, ProfileError, SettingError
from citer_core.gate.dataclass_kind import AtLeast, kind_of
from citer_core.gate.fields import MAX_NUMBER, Real, Whole
from citer_core.gate.json_file import read_json
from citer_core.measuring.step_cost import Bound, Clock, PassTime, RoutedCosts, Seconds, Share, StepCost

SCHEMA: Final = "citer-profile"
SCHEMA_VERSION: Final = 1
MOST_BYTES = 20_000_000
SHORTEST_S = 1e-9
Rate = Annotated[float, Real(0.0, 1e15)]  # a second


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """How much is measured.

    Attributes:
        n_new: tokens fed by the timed passes.
        contexts: cached tokens in front of them; those that the pair cannot hold are left out.
        n_rounds: rounds of passes; medians are kept.
        n_problems: bundled problems of each format that agreement is measured on.
        n_prompt, n_written, n_runs: prompt and completion of the runs that check the prediction, and their rounds.
        shares: LLM shares of those runs.
        seed: of tokens and of the sample of problems.
    """

    n_new: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    contexts: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)
    n_rounds: int = 15
    n_problems: int = 40
    n_prompt: int = 60
    n_written: int = 120
    n_runs: int = 7
    shares: tuple[Share, ...] = (0.1, 0.3, 0.5, 0.6, 0.7, 1.0)
    seed: Annotated[int, Whole(-MAX_NUMBER)] = 0

    @classmethod
    def quick(cls, seed: int = 0) -> ProfilePlan:
        """A few seconds for a small pair."""
        return cls((1, 2, 4, 8, 16, 32), (64, 256, 1024), 5, 8, 60, 60, 2, seed=seed)

    def fitting(self, max_context: int) -> ProfilePlan:
        """The part of the plan that a pair of that context can do; its whole length is among the contexts.

        Raises:
            SettingError: the pair's context is too short to measure anything.
        """
        room = max_context - max(self.n_new)
        contexts = sorted({min(context, room) for context in self.contexts})
        n_written = min(self.n_written, max_context - self.n_prompt)
        if contexts[0] < 1 or n_written < 2:
            raise SettingError(f"This pair reads {max_context} tokens: too few to profile it; {2 * 64} would do.")
        return dataclasses.replace(self, contexts=tuple(contexts), n_written=n_written)


@dataclass(frozen=True, slots=True)
class CopySpeed:
    """Bandwidth of copying about `n_bytes`, which may fit a processor's caches."""

    n_bytes: int
    bytes_per_s: Rate


@dataclass(frozen=True, slots=True)
class ProductLine:
    """The fastest product of up to `rows` rows with one kind of matrix (`tall`, `square`, `wide`), and GB/s of each."""

    kind: str
    rows: int
    way: str
    gb_per_s: Mapping[str, Rate]


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

    copy: Annotated[tuple[CopySpeed, ...], AtLeast(1)]
    peak_flops: Annotated[float, Real(0.0, 1e18)]
    data_sheet_bytes_per_s: Rate | None
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
    pass_bytes: Annotated[int, Whole(1)]
    achieved_bytes_per_s: Rate
    copy_bytes_per_s: Rate
    bound: Bound
    reason: str
    bandwidth_share: Share
    compute_share: Share
    growth: Share


@dataclass(frozen=True, slots=True)
class RouterTime:
    """The router, and the seconds of one pass of it."""

    name: str
    n_params: int
    seconds: Seconds


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
    slm_is_llm: Share
    slm_is_truth: Share
    llm_is_truth: Share
    needed_share: Share
    data: str


@dataclass(frozen=True, slots=True)
class SharesAt:
    """Up to which LLM share, in [0, 1], routing saves time and bytes with `n_context` tokens of context."""

    n_context: Annotated[int, Whole(0, 10**9)]
    time: Share
    bytes: Share


@dataclass(frozen=True, slots=True)
class BatchShare:
    """Up to which LLM share routing saves time for `batch_size` sequences in lockstep."""

    batch_size: int
    time: Share


@dataclass(frozen=True, slots=True)
class BreakEven(SharesAt):
    """The break-evens by fit.

    Attributes:
        n_context, time, bytes: at the profile's own context, see `SharesAt`.
        by_context, by_batch: at other contexts; for batches.
        largest_batch: that still saves time at the share that the pair needs; 0 for none, None where that share is not
            known.
    """

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
    llm_share: Share | None
    measured_tokens_per_s: Rate
    predicted_tokens_per_s: Rate
    measured_of_llm_alone: Share
    predicted_of_llm_alone: Share
    gap: Share
    lowest_of_llm_alone: Share | None = None
    highest_of_llm_alone: Share | None = None


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
    loop_s: Seconds
    switch_s: Seconds
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


_PROFILE = kind_of(Profile)
AGAIN = "Make one with `python -m citer_core profile --output-file`."


def read_profile(path: Path) -> Profile:
    """A profile from its file.

    Raises:
        ProfileError: there is no such file, or it is not a profile of this version.
    """
    try:
        data = read_json(path, max_bytes=MOST_BYTES)
    except GateError as error:
        raise ProfileError(f"{path} cannot be read as a profile ({error}). {AGAIN}") from error
    return check_profile(data, str(path))


def check_profile(data: object, path: str) -> Profile:
    """A profile from the JSON value that a file holds.

    Args:
        data: the value.
        path: where it was found, for messages.

    Raises:
        ProfileError: it is not a profile of this version.
    """
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.get("schema_version") != SCHEMA_VERSION:
        raise ProfileError(f"{path} is not a profile of version {SCHEMA_VERSION}. {AGAIN}")
    missing = [field.name for field in dataclasses.fields(Profile) if field.name not in data]
    if missing:
        raise ProfileError(f"{path} lacks {', '.join(missing)}: it was cut off. Make it again.")
    try:
        profile: Profile = _PROFILE.read(data, "")
    except GateError as error:
        raise ProfileError(f"{path} cannot be used: {error} {AGAIN}") from error
    for which, fit in (("slm", profile.slm.fit), ("llm", profile.llm.fit)):
        if fit.fixed_s + fit.per_token_s < SHORTEST_S:  # would be divided by
            raise ProfileError(f"{path} cannot be used: by {which}.fit a pass takes no time. Make it again.")
    return profile


@dataclass(frozen=True, slots=True)
class Crossing:
    """The LLM share from which on real runs save no time any more: measured, not fitted; shares are in [0, 1].

    Runs are measured at a few shares, so what is known is between which two of them time crosses that of the LLM alone;
    where exactly is a straight line between the two, and said to be so.

    Attributes:
        saves_at: the largest measured share up to which every run saved time; None where none did.
        loses_at: the smallest measured share behind it, whose run did not; None where all saved time.
        at: between the two, on a straight line; None where only one of them is there.
        low, high: of that point: over the rounds of measuring where these are known, else `saves_at` and `loses_at`;
            where there is no such point, of all that was measured.
    """

    saves_at: float | None
    loses_at: float | None
    at: float | None
    low: float
    high: float


def measured_crossing(check: Sequence[RunCheck]) -> Crossing | None:
    """Of the runs that check a profile's prediction; None where none of them was routed."""
    rows = sorted((row for row in check if row.llm_share is not None), key=lambda row: row.llm_share or 0.0)
    if not rows:
        return None
    shares = [row.llm_share or 0.0 for row in rows]
    middle = [row.measured_of_llm_alone for row in rows]
    first = next((k for k, ratio in enumerate(middle) if ratio >= 1), len(rows))
    saves_at = shares[first - 1] if first else None
    loses_at = shares[first] if first < len(rows) else None
    if saves_at is None or loses_at is None:
        return Crossing(saves_at, loses_at, None, shares[0], shares[-1])
    low, high = saves_at, loses_at
    fast = [row.lowest_of_llm_alone for row in rows]
    slow = [row.highest_of_llm_alone for row in rows]
    known_fast, known_slow = [x for x in fast if x is not None], [x for x in slow if x is not None]
    if len(known_fast) == len(known_slow) == len(rows):
        low, high = _crossed(shares, known_slow), _crossed(shares, known_fast)
    return Crossing(saves_at, loses_at, _crossed(shares, middle), low, high)


def _crossed(shares: Sequence[float], ratios: Sequence[float]) -> float:
    """The first share at which straight lines between the points reach 1; the nearer end where they do not."""
    if ratios[0] >= 1:
        return shares[0]
    for k in range(1, len(shares)):
        before, after = ratios[k - 1], ratios[k]
        if after >= 1:
            return shares[k - 1] + (shares[k] - shares[k - 1]) * (1 - before) / (after - before)
    return shares[-1]
