"""`kind_of`: the kind of value that a dataclass or a named tuple is read from, by its fields' types. Knows no document.

So a document and what it becomes have one table. A number says its range: `Annotated[float, Real(0.0, 1.0)]`. What may
be None and is None by default may be missing, and so may what is marked `MAY_MISS`, which has its default then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from citer_core.gate.fields import Choice, Flag, Kind, ListOf, MapOf, Maybe, Record, Row, Text, Whole

T = TypeVar("T")
MOST_CHARS, MOST_ENTRIES, MOST_NAMES = 2000, 10_000, 50
MAY_MISS = "may be missing"
PLAIN: dict[Any, Kind[Any]] = {str: Text(MOST_CHARS), int: Whole(), bool: Flag()}


@dataclass(frozen=True, slots=True)
class Made(Kind[T], Generic[T]):
    """What another kind reads, as one of ours: an object with these fields, a row, a list that cannot be changed."""

    make: Callable[..., T]
    of: Kind[Any]

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return self.of.wanted

    def take(self, value: object) -> T:
        """See `Kind`."""
        found = self.of.take(value)
        return self.make(**found) if isinstance(found, dict) else self.make(found)


@dataclass(frozen=True, slots=True)
class Entries:
    """Beside the type of a tuple: how many entries there may be."""

    most: int
    least: int = 0


AtLeast = partial(Entries, MOST_ENTRIES)


def filled(kind: Callable[..., T], source: object, **more: Any) -> T:
    """A dataclass whose fields are the source's attributes of the same names, and `more`."""
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # a dataclass is callable
    return kind(**{name: getattr(source, name) for name in names if hasattr(source, name)} | more)


def kind_of(hint: Any, entries: Entries = Entries(MOST_ENTRIES)) -> Kind[Any]:
    """The kind of a type: of a text, whole number, truth, choice, dataclass, of tuples and mappings of these, or
    nothing.

    Args:
        hint: the type.
        entries: of a tuple.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        note = inner[1]
        return note if isinstance(note, Kind) else kind_of(inner[0], note if isinstance(note, Entries) else entries)
    if origin in (Union, UnionType):
        return Maybe(kind_of(inner[0]))
    if origin is Literal:
        return Choice(*inner)
    if origin is tuple:
        return Made(tuple, ListOf(kind_of(inner[0]), entries.most, entries.least))
    if origin is Mapping:
        return MapOf(kind_of(inner[1]), MOST_NAMES)
    if hint in PLAIN:
        return PLAIN[hint]
    hints = get_type_hints(hint, include_extras=True)
    required = {name: kind_of(of) for name, of in hints.items()}
    if issubclass(hint, tuple):
        return Made(hint._make, Row(*required.values()))
    missing = [
        one.name for one in dataclasses.fields(hint) if one.default is None or MAY_MISS in get_args(hints[one.name])
    ]
    optional = {name: required.pop(name) for name in missing}
    return Made(hint, Record(required, optional))


def record_of(hint: Any) -> Record:
    """The fields of a dataclass, each by its kind, for who puts some of them into a table of their own."""
    made = kind_of(hint)
    assert isinstance(made, Made) and isinstance(made.of, Record), "a dataclass"
    return made.of
