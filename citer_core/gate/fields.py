"""Kinds of values and their ranges: each reads a plain JSON value into a checked one, or says what is allowed.

A document's form is a table of these. Nothing here recurses deeper than its table, allocates by a number that it reads,
or prints a value beyond `excerpt`. Fields that a record does not name are left out of what it gives back: older
programs can read newer files, and nothing unchecked gets past the gate. Knows no document.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from citer_core.errors import GateError
from citer_core.gate.excerpt import clean, excerpt

T = TypeVar("T")
MAX_NUMBER = 10**15 - 1  # doubles hold every whole number up to here, so both languages read the same one
MAX_TEXT = 100_000
MISSING = object()  # what a record reads where a field is not there


class Refusal(Exception):  # noqa: N818  an error only inside this module, where paths are put together
    """A value that a kind does not take; containers add where it stood on the way out."""

    def __init__(self, value: object, wanted: str) -> None:
        super().__init__(wanted)
        self.value = value
        self.wanted = wanted
        self.path = ""

    def inside(self, step: str) -> None:
        """Puts `.name` or `[3]` before the path."""
        self.path = step + self.path


class Kind(Generic[T]):
    """One kind of value. A new kind implements `take` and `wanted`."""

    __slots__ = ()

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What is allowed, to follow "it must be"."""

    @abstractmethod
    def take(self, value: object) -> T:
        """The checked value; raises `Refusal`. Containers call it; everybody else calls `read`."""

    def read(self, value: object, where: str) -> T:
        """The checked value.

        Args:
            value: as `parse_json` or gradio gives it.
            where: what to call it in a message, such as `trace` or `threshold`.

        Raises:
            GateError: it is of another kind or outside its range; says where, an excerpt, and what is allowed.
        """
        try:
            return self.take(value)
        except Refusal as refusal:
            place = f"{where}{refusal.path}" if where else refusal.path.removeprefix(".") or "this document"
            found = "missing" if refusal.value is MISSING else excerpt(refusal.value)
            raise GateError(f"{place} is {found}; it must be {refusal.wanted}.") from None


@dataclass(frozen=True, slots=True)
class Text(Kind[str]):
    """A text that can be written as UTF-8.

    Attributes:
        max_chars, min_chars: its length, in code points.
        alphabet: the only characters in it; "" allows all.
    """

    max_chars: int = MAX_TEXT
    min_chars: int = 0
    alphabet: str = ""

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        length = f"{self.min_chars:,} to {self.max_chars:,}" if self.min_chars else f"at most {self.max_chars:,}"
        if self.min_chars == self.max_chars:
            length = f"{self.max_chars:,}"
        return f"a text of {length} characters" + (f" out of {self.alphabet}" if self.alphabet else "")

    def take(self, value: object) -> str:
        """See `Kind`."""
        if not isinstance(value, str) or not self.min_chars <= len(value) <= self.max_chars:
            raise Refusal(value, self.wanted)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Refusal(value, f"{self.wanted}, without half characters") from None
        if self.alphabet and not set(self.alphabet).issuperset(value):
            raise Refusal(value, self.wanted)
        return value


@dataclass(frozen=True, slots=True)
class FileName(Kind[str]):
    """The name of a file in a folder that is known, with this ending; no path, and nothing that cannot be shown."""

    ending: str = ""

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return "a plain name" + (f" that ends in {self.ending}" if self.ending else "")

    def take(self, value: object) -> str:
        """See `Kind`."""
        name = Text(200, 1).take(value)
        if Path(name).name != name or name != clean(name) or not name.endswith(self.ending):
            raise Refusal(value, self.wanted)
        return name


@dataclass(frozen=True, slots=True)
class Whole(Kind[int]):
    """A whole number from `low` to `high`, no boolean; 5.0 is 5, since JavaScript knows no difference."""

    low: int = 0
    high: int = MAX_NUMBER

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return f"a whole number from {self.low:,} to {self.high:,}"

    def take(self, value: object) -> int:
        """See `Kind`."""
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if (is_whole or (isinstance(value, float) and value.is_integer())) and self.low <= value <= self.high:  # type: ignore[operator]
            return int(value)  # type: ignore[call-overload, no-any-return]
        raise Refusal(value, self.wanted)


@dataclass(frozen=True, slots=True)
class Real(Kind[float]):
    """A finite number from `low` to `high`, or above `low` where it is `open_low`; no boolean.

    Given back as it was written, 1 and not 1.0, so that a document keeps its bytes.
    """

    low: float = 0.0
    high: float = float(MAX_NUMBER)
    open_low: bool = False

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        low, high = (f"{bound:,.15g}" for bound in (self.low, self.high))
        return f"a number above {low}, at most {high}" if self.open_low else f"a number from {low} to {high}"

    def take(self, value: object) -> float:
        """See `Kind`."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refusal(value, self.wanted)
        # A comparison, because an int beyond 1e308 cannot become a float; NaN fails it too.
        if not self.low <= value <= self.high or (self.open_low and value == self.low) or not math.isfinite(value):
            raise Refusal(value, self.wanted)
        return value


@dataclass(frozen=True, slots=True)
class Flag(Kind[bool]):
    """True or false, and no number or text for them."""

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return "true or false"

    def take(self, value: object) -> bool:
        """See `Kind`."""
        if not isinstance(value, bool):
            raise Refusal(value, self.wanted)
        return value


@dataclass(frozen=True, slots=True, init=False)
class Choice(Kind[str]):
    """One of a few texts."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return " or ".join(f'"{name}"' for name in self.names)

    def take(self, value: object) -> str:
        """See `Kind`."""
        if not isinstance(value, str) or value not in self.names:
            raise Refusal(value, self.wanted)
        return value


@dataclass(frozen=True, slots=True)
class Maybe(Kind[T | None], Generic[T]):
    """Nothing (null), or a value of another kind."""

    kind: Kind[T]

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return f"{self.kind.wanted}, or nothing"

    def take(self, value: object) -> T | None:
        """See `Kind`."""
        if value is None:
            return None
        try:
            return self.kind.take(value)
        except Refusal as refusal:
            if not refusal.path:
                refusal.wanted += ", or nothing"
            raise


@dataclass(frozen=True, slots=True)
class ListOf(Kind[list[T]], Generic[T]):
    """A list of `least` to `most` values of one kind."""

    kind: Kind[T]
    most: int
    least: int = 0

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return f"a list of {f'{self.least:,} to' if self.least else 'at most'} {self.most:,} entries"

    def take(self, value: object) -> list[T]:
        """See `Kind`."""
        if not isinstance(value, list | tuple) or not self.least <= len(value) <= self.most:
            raise Refusal(value, self.wanted)
        index, found, take = 0, [], self.kind.take
        try:
            for index, entry in enumerate(value):  # noqa: B007  the path needs it
                found.append(take(entry))
        except Refusal as refusal:
            refusal.inside(f"[{index}]")
            raise
        return found


@dataclass(frozen=True, slots=True, init=False)
class Row(Kind[tuple[Any, ...]]):
    """A list of a fixed length, each entry of its own kind."""

    kinds: tuple[Kind[Any], ...]

    def __init__(self, *kinds: Kind[Any]) -> None:
        object.__setattr__(self, "kinds", kinds)

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return f"a list of {len(self.kinds)} entries"

    def take(self, value: object) -> tuple[Any, ...]:
        """See `Kind`."""
        if not isinstance(value, list | tuple) or len(value) != len(self.kinds):
            raise Refusal(value, self.wanted)
        index, found = 0, []
        try:
            for index, kind in enumerate(self.kinds):
                found.append(kind.take(value[index]))
        except Refusal as refusal:
            refusal.inside(f"[{index}]")
            raise
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Record(Kind[dict[str, Any]]):
    """An object with named fields; what it does not name is left out.

    Attributes:
        required: fields that must be there.
        optional: fields that may be missing; they are missing from the result then.
    """

    required: Mapping[str, Kind[Any]]
    optional: Mapping[str, Kind[Any]] = field(default_factory=dict)

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return "an object with " + ", ".join(self.required or self.optional)

    def take(self, value: object) -> dict[str, Any]:
        """See `Kind`."""
        if not isinstance(value, Mapping):
            raise Refusal(value, self.wanted)
        name, found = "", {}
        try:
            for name, kind in self.required.items():
                if name not in value:
                    raise Refusal(MISSING, kind.wanted)
                found[name] = kind.take(value[name])
            for name, kind in self.optional.items():
                if name in value:
                    found[name] = kind.take(value[name])
        except Refusal as refusal:
            refusal.inside(f".{name}")
            raise
        return found


_NAME = Text(100, 1)


@dataclass(frozen=True, slots=True)
class MapOf(Kind[dict[str, T]], Generic[T]):
    """An object with any names, of 1 to 100 characters each and at most `most` of them, and values of one kind."""

    kind: Kind[T]
    most: int

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return f"an object with at most {self.most:,} short names"

    def take(self, value: object) -> dict[str, T]:
        """See `Kind`."""
        if not isinstance(value, Mapping) or len(value) > self.most:
            raise Refusal(value, self.wanted)
        found: dict[str, T] = {}
        for name, entry in value.items():
            try:
                found[_NAME.take(name)] = self.kind.take(entry)
            except Refusal as refusal:
                # By its number, as a name could be anything.
                refusal.inside(f"[{len(found)}]")
                raise
        return found
