"""What a router's card may hold, as a module for the browser, which opens routers that a person has in a file.

python -m citer_core.routing.card_js      # writes assets/engine/card_table.js; a test says when

Knows nothing of a card but its fields.
"""

from __future__ import annotations

from citer_core.assets import ASSETS
from citer_core.routing.router_card import CARD, CARD_SCHEMA_VERSION
from citer_core.trace_schema_js import table_of, tables_text

MODULE = ASSETS / "engine" / "card_table.js"
_HEADER = """/**
 * What each field of a router's card may hold. Data only, made by `python -m citer_core.routing.card_js`: change
 * `citer_core/routing/router_card.py`, not this file.
 */
"""


def module_text() -> str:
    """The whole module."""
    return tables_text(_HEADER, {"CARD_SCHEMA_VERSION": CARD_SCHEMA_VERSION, "CARD_TABLE": table_of(CARD)}, "../run")


if __name__ == "__main__":
    MODULE.write_text(module_text(), encoding="utf-8")
