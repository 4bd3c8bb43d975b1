"""Documents changed at random: values replaced or taken away, texts and bytes garbled. Standard library only; seeded.

For the fuzz targets and for the damaged traces that both languages read.
"""

from __future__ import annotations

import copy
import random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 0.5, 1.0, 2, 5, 4096, 2**31, 10**15, 2**53, 2**64, 10**400, 1e99, -0.0, 1e-300,
    float("nan"), "", "x", "slm", "\ud800", "🎉", "x" * 1001, [], {}, [[]], [1, "a", 0.5], [[1, "a", 0.5]],
    {"path": "x"}, {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
)  # fmt: skip
_HARD_PIECES = (
    "[" * 70, "{" * 70, "9" * 50, "9" * 5000, "1e400", "NaN", "-Infinity", '"', "\\", "\\ud800", "\x00", "\u202e",
    "\ufeff", "}", "]", ",", ":", "null", "true", "-", ".", "\n", "*" * 300, "'", "é", "🎉", "</script>", "\\u0000",
)  # fmt: skip


def changed(document: Any, chance: random.Random, n_changes: int = 1) -> Any:
    """A copy with values replaced by odd ones, or fields taken away."""
    document = copy.deepcopy(document)
    for _ in range(n_changes):
        place = document
        while isinstance(place, dict | list) and place:
            key = chance.choice(list(place)) if isinstance(place, dict) else chance.randrange(len(place))
            if isinstance(place[key], dict | list) and place[key] and chance.random() < 0.8:
                place = place[key]
                continue
            if isinstance(place, dict) and chance.random() < 0.15 and len(place) > 1:
                del place[key]
            else:
                place[key] = copy.deepcopy(chance.choice(ODD))
            break
    return document


def garbled(text: str, chance: random.Random) -> str:
    """A text with pieces cut, doubled, swapped or put in, one to three times."""
    for _ in range(chance.randint(1, 3)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice((0, 1, 1, 5, 50, 1000)))
        piece = chance.choice(("", chance.choice(_HARD_PIECES), text[start:end] * 2, text[start:end][::-1]))
        text = text[:start] + piece + text[end:]
    return text


def spoiled(content: bytes, chance: random.Random) -> bytes:
    """Bytes with one to four places flipped, zeroed, cut off, taken out or stuffed."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(max(1, len(data)))
        piece = chance.choice((b"\xff\xfe", b"[" * 5000, b"9" * 5000, b"\x00", b'"', b"\n", b"}"))
        flipped = bytes(byte ^ 1 << chance.randrange(8) for byte in data[at : at + 1])
        end, instead = chance.choice(
            ((at + 1, flipped), (at + 8, bytes(8)), (len(data), b""), (at + chance.randint(1, 40), b""), (at, piece))
        )
        data[at:end] = instead
    return bytes(data)


def any_json(chance: random.Random, depth: int = 3) -> Any:
    """Any JSON value, lists and objects at most `depth` inside each other."""
    kind = chance.random()
    if depth and kind < 0.25:
        return [any_json(chance, depth - 1) for _ in range(chance.randint(0, 4))]
    if depth and kind < 0.5:
        return {chance.choice(_NAMES): any_json(chance, depth - 1) for _ in range(chance.randint(0, 4))}
    return chance.choice(
        (*ODD, chance.randint(-(10**20), 10**20), chance.uniform(-1e9, 1e9), chance.choice(_HARD_PIECES))
    )


_NAMES = (
    "schema", "events", "pair", "trace", "text", "path", "run", "__proto__", "", "é", "problem", "choices", "label",
)  # fmt: skip
