"""What takes long is tried on a sample here, and as a whole among the slow tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[Any], every: int) -> list[Any]:
    """Parameters of a test: the first of `every` is tried here, all others are slow. A tuple is several parameters."""
    return [value if k % every == 0 else _slow(value) for k, value in enumerate(values)]


def few_or_all(few: Any, whole: Any) -> list[Any]:
    """Parameters of a test: a few are tried here, the whole is slow."""
    return [few, _slow(whole)]


def _slow(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
