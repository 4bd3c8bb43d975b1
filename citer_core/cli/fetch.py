"""`fetch`: downloads a pair's weights, with progress and resume; nothing else in the project downloads any."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from citer_core.cli.terminal import escape_controls
from citer_core.models import store
from citer_core.models.presets import parse_pair
from citer_core.models.sources import FolderSource

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

EPILOG = """examples:
  python -m citer_core fetch qwen2.5-coder-0.5b-1.5b
  python -m citer_core fetch "Qwen/Qwen2.5-0.5B-Instruct,Qwen/Qwen2.5-3B-Instruct"

The same command resumes a download that was stopped. Weights go into ~/.cache/citer/models (CITER_CACHE sets another
folder than ~/.cache/citer); what the hub's own cache has is used from there. A GGUF file of a pair that `pairs` lists
may also be put into that folder by hand, under its name."""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `fetch` and its argument."""
    parser = subparsers.add_parser(
        "fetch",
        help="download a pair's weights",
        description="Downloads a pair's weights and checks them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("pair", metavar="PAIR", help='a name that `pairs` lists, or "SLM,LLM"')


def run(args: argparse.Namespace) -> int:
    """Fetches both models.

    Raises:
        CiterError: an unknown pair, no network, no access, no space, or a file that is not the expected one.
    """
    choice = parse_pair(args.pair)
    for source in dict.fromkeys((choice.slm, choice.llm)):
        if isinstance(source, FolderSource) and source.tokenizer is not None:
            _say(f"{source.short_name}: comes with this project")
            continue
        store.fetch(source, _say)
    return 0


def _say(line: str) -> None:
    print(escape_controls(line), file=sys.stderr, flush=True)
