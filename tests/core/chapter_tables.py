"""How tests read a chapter's tables and the stored cards that they are compared with."""

from __future__ import annotations

import json

from citer_core.assets import ASSETS


def part(text, name):
    """What stands between the two marks of a table."""
    return text.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0]


def card(path):
    return json.loads((ASSETS / path).read_text(encoding="utf-8"))
