"""Reads a stored profile and gives back what the formulas need. Knows nothing about how it was measured; no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citer_core.errors import ProfileError
from citer_core.evaluation.break_even import RoutedCosts
from citer_core.evaluation.step_cost import step_cost_from_dict

SCHEMA, SCHEMA_VERSION = "citer-profile", 1
PARTS = ("date", "hardware", "command", "pair", "slm", "llm", "router", "agreement", "break_even", "check", "probe")


def read_profile(path: Path) -> dict[str, Any]:
    """A profile from its file.

    Raises:
        ProfileError: there is no such file, or it is not a profile of this version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProfileError(
            f"{path} cannot be read as a profile ({error}). Make one with `python -m citer_core profile --output-file`."
        ) from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.get("schema_version") != SCHEMA_VERSION:
        raise ProfileError(
            f"{path} is not a profile of version {SCHEMA_VERSION}. Make one with `python -m citer_core profile "
            "--output-file`."
        )
    missing = [part for part in PARTS if part not in data]
    if missing:
        raise ProfileError(f"{path} lacks {', '.join(missing)}: it was cut off. Make it again.")
    costs_of(data)
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
        raise ProfileError(f"The profile's step costs cannot be read ({error!r}). Make it again.") from error
