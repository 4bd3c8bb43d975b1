"""`merge-labels`: the shards of several folders become one; holes and duplicates are refused."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.cli.terminal import say

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Adds `merge-labels` and its arguments."""
    parser = subparsers.add_parser(
        "merge-labels",
        help="put the shards of several label folders into one",
        description="Merges folders that `label --shard` wrote on several machines.",
        allow_abbrev=False,
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="what to merge")
    parser.add_argument("--output-dir", type=Path, required=True, metavar="DIR", help="where to")


def run(args: argparse.Namespace) -> int:
    """Merges.

    Raises:
        DatasetError: the folders do not make one whole.
    """
    from citer_core.labelling.label_folders import merge_labels

    say(f"{merge_labels(args.folders, args.output_dir)} parts are in {args.output_dir}")
    return 0
