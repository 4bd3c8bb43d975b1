"""`pairs`: the pairs that have a name, with size, memory, licence and the routers that exist for them.

`fetch`: downloads a pair's weights, with progress and resume; nothing else in the project downloads any.
"""

from __future__ import annotations

import argparse

from citer_core.cli.command import command, option
from citer_core.cli.terminal import say, text_table
from citer_core.models import store
from citer_core.models.presets import PRESETS, Preset, parse_pair
from citer_core.models.sources import FolderSource

EPILOG = """Memory is estimated: weights and KV cache of a text of 2,048 tokens; about a tenth comes on top.
Any two models of one family make a pair too: --pair "SLM,LLM", each a folder, a hub id ("org/name") or a GGUF file
("org/name:file.gguf", or its path)."""
HEAD = ("pair", "parameters", "download", "memory, float32", "bfloat16", "bfloat16, LLM 4bit", "here", "routers")


@command("pairs", "list the pairs that have a name", "Lists the pairs that have a name.", epilog=EPILOG)
def pairs(_: argparse.Namespace) -> None:
    """Prints the table, and below it where the weights come from and under which licence."""
    from citer_core.routing.catalog import stored_router_names

    rows = [_row(preset, stored_router_names(preset.title)) for preset in PRESETS.values()]
    print(text_table(HEAD, rows))
    print()
    print(text_table(("pair", "model", "weights", "licence"), [row for p in PRESETS.values() for row in _sources(p)]))
    print(f"\n{EPILOG}")


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


@command(
    "fetch",
    "download a pair's weights",
    "Downloads a pair's weights and checks them.",
    option("pair PAIR", 'a name that `pairs` lists, or "SLM,LLM"'),
    epilog="""examples:
  python -m citer_core fetch qwen2.5-coder-0.5b-1.5b
  python -m citer_core fetch "Qwen/Qwen2.5-0.5B-Instruct,Qwen/Qwen2.5-3B-Instruct"

The same command resumes a download that was stopped. Weights go into ~/.cache/citer/models (CITER_CACHE sets another
folder than ~/.cache/citer); what the hub's own cache has is used from there. A GGUF file of a pair that `pairs` lists
may also be put into that folder by hand, under its name.""",
)
def fetch(args: argparse.Namespace) -> None:
    """Fetches both models.

    Raises:
        CiterError: an unknown pair, no network, no access, no space, or a file that is not the expected one.
    """
    choice = parse_pair(args.pair)
    for source in dict.fromkeys((choice.slm, choice.llm)):
        if isinstance(source, FolderSource) and source.tokenizer is not None:
            say(f"{source.short_name}: comes with this project")
            continue
        store.fetch(source, say)
