"""Reads a stored profile and gives back what the formulas need. Knows nothing about how it was measured; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citer_core.errors import GateError, ProfileError
from citer_core.gate.fields import Choice, ListOf, Maybe, Real, Record, Text, Whole
from citer_core.gate.json_file import read_json
from citer_core.measuring.break_even import RoutedCosts
from citer_core.measuring.step_cost import step_cost_from_dict

SCHEMA, SCHEMA_VERSION = "citer-profile", 1
PARTS = ("date", "hardware", "command", "pair", "slm", "llm", "router", "agreement", "break_even", "check", "probe")
SHORTEST_S = 1e-9
_SECONDS, _SHARE, _WORDS, _RATE = Real(0.0, 1e6), Real(-1e6, 1e6), Text(2000), Real(0.0, 1e15)
_MODEL = Record(
    {
        "n_params": Whole(),
        "passes": ListOf(Record({"n_new": Whole(), "n_cached": Whole(), "seconds": _SECONDS}), most=10_000),
        "fit": Record(dict.fromkeys(("fixed_s", "per_token_s", "per_context_s", "error"), _SECONDS)),
        "pass_bytes": Whole(1),
        "achieved_bytes_per_s": _RATE,
        "copy_bytes_per_s": _RATE,
        "bound": Text(50),
        "reason": _WORDS,
    }
)
_PROFILE = Record(
    {
        **dict.fromkeys(("date", "hardware", "command", "pair", "device", "dtype"), _WORDS),
        "clock": Choice("thread", "wall"),
        "slm": _MODEL,
        "llm": _MODEL,
        "router": Record({"name": _WORDS, "n_params": Whole(), "seconds": _SECONDS}),
        "loop_s": _SECONDS,
        "switch_s": _SECONDS,
        "agreement": Record(
            {
                "n_tokens": Whole(),
                **dict.fromkeys(("slm_is_llm", "slm_is_truth", "llm_is_truth", "needed_share"), _SHARE),
            }
        ),
        "break_even": Record(
            {
                "n_context": Whole(0, 10**9),
                "time": _SHARE,
                "bytes": _SHARE,
                "by_context": ListOf(Record({"n_context": Whole(), "time": _SHARE, "bytes": _SHARE}), most=1000),
                "by_batch": ListOf(Record({"batch_size": Whole(), "time": _SHARE}), most=1000),
                "largest_batch": Whole(),
            }
        ),
        "check": ListOf(
            Record(
                {
                    "run": _WORDS,
                    "llm_share": Maybe(_SHARE),
                    "measured_tokens_per_s": _RATE,
                    "predicted_tokens_per_s": _RATE,
                    "gap": _SHARE,
                    "measured_of_llm_alone": _SHARE,
                    "predicted_of_llm_alone": _SHARE,
                }
            ),
            most=1000,
        ),
        "probe": Record(
            {
                "copy": ListOf(Record({"n_bytes": Whole(), "bytes_per_s": _RATE}), most=1000, least=1),
                "data_sheet_bytes_per_s": Maybe(_RATE),
            }
        ),
    }
)


def read_profile(path: Path) -> dict[str, Any]:
    """A profile from its file.

    Raises:
        ProfileError: there is no such file, or it is not a profile of this version.
    """
    again = "Make one with `python -m citer_core profile --output-file`."
    try:
        data = read_json(path, max_bytes=20_000_000)
    except GateError as error:
        raise ProfileError(f"{path} cannot be read as a profile ({error}). {again}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.get("schema_version") != SCHEMA_VERSION:
        raise ProfileError(f"{path} is not a profile of version {SCHEMA_VERSION}. {again}")
    missing = [part for part in PARTS if part not in data]
    if missing:
        raise ProfileError(f"{path} lacks {', '.join(missing)}: it was cut off. Make it again.")
    costs_of(data)
    try:
        _check_times(_PROFILE.read(data, ""), path)
    except GateError as error:
        raise ProfileError(f"{path} cannot be used: {error} {again}") from error
    return data


def costs_of(profile: Mapping[str, Any]) -> RoutedCosts:
    """The measured costs in a profile.

    Raises:
        ProfileError: they are not there or are no numbers.
    """
    try:
        return RoutedCosts(
            slm=step_cost_from_dict(profile["slm"]["fit"]),
            llm=step_cost_from_dict(profile["llm"]["fit"]),
            router_s=float(profile["router"]["seconds"]),
            loop_s=float(profile["loop_s"]),
            switch_s=float(profile["switch_s"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ProfileError(
            f"The profile's step costs cannot be read ({type(error).__name__}). Make it again."
        ) from error


def _check_times(profile: Mapping[str, Any], path: Path) -> None:
    """A pass that takes no time would be divided by."""
    for which in ("slm", "llm"):
        fit = profile[which]["fit"]
        if fit["fixed_s"] + fit["per_token_s"] < SHORTEST_S:
            raise ProfileError(f"{path} cannot be used: by {which}.fit a pass takes no time. Make it again.")
