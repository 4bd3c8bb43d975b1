"""Reads a stored profile. Knows nothing about how it was measured; no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from citer_core.errors import GateError, ProfileError
from citer_core.gate.fields import MAX_NUMBER, Choice, Kind, ListOf, MapOf, Maybe, Real, Record, Text, Whole
from citer_core.gate.json_file import read_json
from citer_core.measuring.bound import Bound
from citer_core.measuring.profile_numbers import (
    SCHEMA,
    SCHEMA_VERSION,
    Agreement,
    BatchShare,
    BreakEven,
    CopySpeed,
    ModelProfile,
    Probe,
    ProductLine,
    Profile,
    RouterTime,
    RunCheck,
    SharesAt,
)
from citer_core.measuring.profile_plan import ProfilePlan
from citer_core.measuring.step_cost import Clock, PassTime, StepCost

T = TypeVar("T")
PARTS = ("date", "hardware", "command", "pair", "slm", "llm", "router", "agreement", "break_even", "check", "probe")
SHORTEST_S = 1e-9


@dataclass(frozen=True, slots=True)
class _Made(Kind[T], Generic[T]):
    """An object with these fields, as one of ours."""

    make: Callable[..., T]
    fields: Record

    @property
    def wanted(self) -> str:
        return self.fields.wanted

    def take(self, value: object) -> T:
        return self.make(**self.fields.take(value))


@dataclass(frozen=True, slots=True)
class _TupleOf(Kind[tuple[T, ...]], Generic[T]):
    """A list that nobody can change."""

    kind: Kind[T]
    most: int = 1000
    least: int = 0

    @property
    def wanted(self) -> str:
        return ListOf(self.kind, self.most, self.least).wanted

    def take(self, value: object) -> tuple[T, ...]:
        return tuple(ListOf(self.kind, self.most, self.least).take(value))


def _made(make: Callable[..., T], required: Mapping[str, Kind[Any]], **optional: Kind[Any]) -> _Made[T]:
    return _Made(make, Record(required, optional))


_SECONDS, _SHARE, _WORDS, _RATE = Real(0.0, 1e6), Real(-1e6, 1e6), Text(2000), Real(0.0, 1e15)
_COUNTS = _TupleOf(Whole())
_PLAN = _made(
    ProfilePlan,
    {
        **dict.fromkeys(("n_new", "contexts"), _COUNTS),
        **dict.fromkeys(("n_rounds", "n_problems", "n_prompt", "n_written", "n_runs"), Whole()),
        "shares": _TupleOf(_SHARE),
        "seed": Whole(-MAX_NUMBER),
    },
)
_PRODUCT = _made(ProductLine, {"kind": Text(50), "rows": Whole(), "way": Text(50), "gb_per_s": MapOf(_RATE, most=50)})
_PROBE = _made(
    Probe,
    {
        "copy": _TupleOf(_made(CopySpeed, {"n_bytes": Whole(), "bytes_per_s": _RATE}), least=1),
        "peak_flops": Real(0.0, 1e18),
        "data_sheet_bytes_per_s": Maybe(_RATE),
        "threads": Whole(),
    },
    products=MapOf(_TupleOf(_PRODUCT), most=10),
)
_MODEL = _made(
    ModelProfile,
    {
        "name": _WORDS,
        "n_params": Whole(),
        "passes": _TupleOf(_made(PassTime, {"n_new": Whole(), "n_cached": Whole(), "seconds": _SECONDS}), most=10_000),
        "fit": _made(StepCost, dict.fromkeys(("fixed_s", "per_token_s", "per_context_s", "error"), _SECONDS)),
        "pass_bytes": Whole(1),
        "achieved_bytes_per_s": _RATE,
        "copy_bytes_per_s": _RATE,
        "bound": Choice(*get_args(Bound)),
        "reason": _WORDS,
        **dict.fromkeys(("bandwidth_share", "compute_share", "growth"), _SHARE),
    },
)
_AGREEMENT = _made(
    Agreement,
    {
        "n_examples": Whole(),
        "n_tokens": Whole(),
        **dict.fromkeys(("slm_is_llm", "slm_is_truth", "llm_is_truth", "needed_share"), _SHARE),
        "data": _WORDS,
    },
)
_AT = {"time": _SHARE, "bytes": _SHARE}
_BREAK_EVEN = _made(
    BreakEven,
    {
        "n_context": Whole(0, 10**9),
        **_AT,
        "by_context": _TupleOf(_made(SharesAt, {"n_context": Whole(), **_AT})),
        "by_batch": _TupleOf(_made(BatchShare, {"batch_size": Whole(), "time": _SHARE})),
        "largest_batch": Maybe(Whole()),
    },
)
_CHECK = _made(
    RunCheck,
    {
        "run": _WORDS,
        "llm_share": Maybe(_SHARE),
        **dict.fromkeys(("measured_tokens_per_s", "predicted_tokens_per_s"), _RATE),
        **dict.fromkeys(("measured_of_llm_alone", "predicted_of_llm_alone", "gap"), _SHARE),
    },
    **dict.fromkeys(("lowest_of_llm_alone", "highest_of_llm_alone"), Maybe(_SHARE)),
)
_PROFILE = _made(
    Profile,
    {
        **dict.fromkeys(("date", "hardware", "command", "pair", "pair_revision", "dtype", "device"), _WORDS),
        "clock": Choice(*get_args(Clock)),
        "plan": _PLAN,
        "probe": _PROBE,
        "slm": _MODEL,
        "llm": _MODEL,
        "router": _made(RouterTime, {"name": _WORDS, "n_params": Whole(), "seconds": _SECONDS}),
        "loop_s": _SECONDS,
        "switch_s": _SECONDS,
        "agreement": Maybe(_AGREEMENT),
        "break_even": _BREAK_EVEN,
        "check": _TupleOf(_CHECK),
    },
)


def read_profile(path: Path) -> Profile:
    """A profile from its file.

    Raises:
        ProfileError: there is no such file, or it is not a profile of this version.
    """
    again = "Make one with `python -m citer_core profile --output-file`."
    try:
        data = read_json(path, max_bytes=20_000_000)
    except GateError as error:
        raise ProfileError(f"{path} cannot be read as a profile ({error}). {again}") from error
    return check_profile(data, str(path))


def check_profile(data: object, path: str) -> Profile:
    """A profile from the JSON value that a file holds.

    Args:
        data: the value.
        path: where it was found, for messages.

    Raises:
        ProfileError: it is not a profile of this version.
    """
    again = "Make one with `python -m citer_core profile --output-file`."
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.get("schema_version") != SCHEMA_VERSION:
        raise ProfileError(f"{path} is not a profile of version {SCHEMA_VERSION}. {again}")
    missing = [part for part in PARTS if part not in data]
    if missing:
        raise ProfileError(f"{path} lacks {', '.join(missing)}: it was cut off. Make it again.")
    try:
        profile = _PROFILE.read(data, "")
    except GateError as error:
        raise ProfileError(f"{path} cannot be used: {error} {again}") from error
    _check_times(profile, path)
    return profile


def _check_times(profile: Profile, path: str) -> None:
    """A pass that takes no time would be divided by."""
    for which, fit in (("slm", profile.slm.fit), ("llm", profile.llm.fit)):
        if fit.fixed_s + fit.per_token_s < SHORTEST_S:
            raise ProfileError(f"{path} cannot be used: by {which}.fit a pass takes no time. Make it again.")
