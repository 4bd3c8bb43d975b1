"""`pairs`: the pairs that have a name, with size, memory, licence and the routers that exist for them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from citer_core.cli.tables import text_table
from citer_core.models import store
from citer_core.models.presets import PRESETS, Preset

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

EPILOG = """Memory is estimated: weights and KV cache of a text of 2,048 tokens; about a tenth comes on top.
Any two models of one family make a pair too: --pair "SLM,LLM", each a folder, a hub id ("org/name") or a GGUF file
("org/name:file.gguf", or its path)."""
HEAD = ("pair", "parameters", "download", "memory, float32", "bfloat16", "bfloat16, LLM 4bit", "here", "routers")


def add_parser(subparsers: Subparsers) -> None:
    """Adds `pairs`, which has no arguments."""
    subparsers.add_parser(
        "pairs",
        help="list the pairs that have a name",
        description="Lists the pairs that have a name.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def run(_: argparse.Namespace) -> int:
    """Prints the table, and below it where the weights come from and under which licence."""
    from citer_core.routing.catalog import stored_router_names

    rows = [_row(preset, stored_router_names(preset.title)) for preset in PRESETS.values()]
    print(text_table(HEAD, rows))
    print()
    print(text_table(("pair", "model", "weights", "licence"), [row for p in PRESETS.values() for row in _sources(p)]))
    print(f"\n{EPILOG}")
    return 0


def _row(preset: Preset, routers: list[str]) -> list[str]:
    models = (preset.slm, preset.llm)
    n_here = sum(store.find(model.source) is not None for model in models)
    is_bundled = preset.slm.source == PRESETS["embedded"].slm.source
    return [
        preset.name,
        " / ".join(_count(model.spec.n_params) for model in models),
        "none" if is_bundled else store.size_in_words(preset.disk_bytes),
        store.size_in_words(preset.memory_bytes("float32")),
        store.size_in_words(preset.memory_bytes("bfloat16")),
        store.size_in_words(preset.memory_bytes("bfloat16", "4bit")),
        ("no", "one of two", "yes")[n_here],
        ", ".join(routers) or "those without training",
    ]


def _sources(preset: Preset) -> list[tuple[str, str, str, str]]:
    named = (("SLM", preset.slm), ("LLM", preset.llm))
    return [
        (preset.name, which, "bundled" if preset.name == "embedded" else str(model.source), model.licence)
        for which, model in named
    ]


def _count(n_params: int) -> str:
    return f"{n_params / 1e9:.2f} B" if n_params >= 1e8 else f"{n_params / 1e6:.2f} M"
