"""Hypothesis strategies for damaged files: bits flipped, bytes cut off or doubled, JSON values exchanged."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [
            0,
            -1,
            1,
            7,
            10**9,
            2**31,
            2**63,
            10**15,
            10**30,
            10**400,
            0.5,
            -0.0,
            1e-300,
            1e300,
            float("nan"),
            float("inf"),
        ]
    ),
    st.floats(),
    st.integers(),
    st.text(max_size=20),
    st.sampled_from(["", "\x00", "\ud800", "../../etc/passwd", "\u202e", "x" * 10_000, "a\nb", "NaN", "1e400"]),
    st.sampled_from([[], {}, [[]], [None], {"": None}, [1] * 100, json.loads("[" * 80 + "]" * 80)]).map(copy.deepcopy),
)


@st.composite
def damaged_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with one to four places damaged."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.sampled_from(["flip", "cut", "insert", "drop", "zero"]))
        if kind == "flip" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del data[place:]
        elif kind == "insert":
            data[place:place] = draw(
                st.sampled_from([b"\xff\xfe", b"[" * 5000, b"9" * 5000, b"\x00", b'"', b"\n", b"}"])
            )
        elif kind == "drop":
            del data[place : place + draw(st.integers(1, 40))]
        else:
            data[place : place + 8] = bytes(8)
    return bytes(data)


@st.composite
def damaged_json(draw: st.DrawFn, document: Any) -> bytes:
    """The document with one or two values exchanged, left out or added, as UTF-8."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 2))):
        changed = _exchange(draw, changed)
    # Written as Python writes it, NaN and lone surrogates included: others write those too.
    return json.dumps(changed, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


def _exchange(draw: st.DrawFn, document: Any) -> Any:
    parent, key = None, None
    node = document
    while isinstance(node, dict | list) and node and (parent is None or draw(st.integers(0, 3)) > 0):
        keys = sorted(node) if isinstance(node, dict) else range(len(node))
        parent, key = node, draw(st.sampled_from(keys))
        node = node[key]
    if parent is None:
        return draw(ODD_VALUES)
    kind = draw(st.sampled_from(["change", "change", "change", "drop", "add"]))
    if kind == "drop":
        del parent[key]
    elif kind == "change":
        parent[key] = draw(ODD_VALUES)
    elif isinstance(parent, dict):
        parent[draw(st.text(max_size=8))] = draw(ODD_VALUES)
    else:
        parent.append(draw(ODD_VALUES))
    return document


def damaged(content: bytes, *, lines: bool = False) -> st.SearchStrategy[bytes]:
    """Either kind of damage to a JSON or, line by line, JSON Lines file; only the first kind to others."""
    try:
        document = [json.loads(line) for line in content.splitlines()] if lines else json.loads(content)
    except ValueError:
        return damaged_bytes(content)
    if not lines:
        return damaged_bytes(content) | damaged_json(document)
    rest = [json.dumps(line).encode() for line in document[1:]]
    return damaged_bytes(content) | damaged_json(document[0]).map(lambda line: b"\n".join([line, *rest]))
