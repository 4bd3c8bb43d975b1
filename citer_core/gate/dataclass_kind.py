"""`kind_of`: the kind of value that a dataclass is read from, by the types of its fields. Knows no document.

So a document and what it becomes have one table. A number says its range: `Annotated[float, Real(0.0, 1.0)]`. What may
be None and is None by default may be missing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from citer_core.gate.fields import Choice, Kind, ListOf, MapOf, Maybe, Record, Text, Whole

T = TypeVar("T")
MOST_CHARS, MOST_ENTRIES, MOST_NAMES = 2000, 10_000, 50


@dataclass(frozen=True, slots=True)
class ObjectOf(Kind[T], Generic[T]):
    """An object with these fields, as one of ours."""

    make: Callable[..., T]
    fields: Record

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return self.fields.wanted

    def take(self, value: object) -> T:
        """See `Kind`."""
        return self.make(**self.fields.take(value))


@dataclass(frozen=True, slots=True)
class TupleOf(Kind[tuple[T, ...]], Generic[T]):
    """A list that cannot be changed."""

    entries: ListOf[T]

    @property
    def wanted(self) -> str:
        """See `Kind`."""
        return self.entries.wanted

    def take(self, value: object) -> tuple[T, ...]:
        """See `Kind`."""
        return tuple(self.entries.take(value))


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Beside the type of a tuple: how many entries there must be."""

    least: int


def kind_of(hint: Any, least: int = 0) -> Kind[Any]:
    """The kind of a type: of a text, whole number, choice, dataclass, of tuples and mappings of these, or nothing.

    Args:
        hint: the type.
        least: entries of a tuple.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        note = inner[1]
        return kind_of(inner[0], note.least) if isinstance(note, AtLeast) else note
    if origin in (Union, UnionType):
        return Maybe(kind_of(inner[0]))
    if origin is Literal:
        return Choice(*inner)
    if origin is tuple:
        return TupleOf(ListOf(kind_of(inner[0]), MOST_ENTRIES, least))
    if origin is Mapping:
        return MapOf(kind_of(inner[1]), MOST_NAMES)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        kinds = {name: kind_of(of) for name, of in get_type_hints(hint, include_extras=True).items()}
        optional = {field.name: kinds.pop(field.name) for field in dataclasses.fields(hint) if field.default is None}
        return ObjectOf(hint, Record(kinds, optional))
    plain: dict[Any, Kind[Any]] = {str: Text(MOST_CHARS), int: Whole()}
    return plain[hint]
