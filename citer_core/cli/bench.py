"""`bench`: measures decode speed of a pair on this machine and prints it as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citer_core.cli.main import Subparsers


def add_parser(subparsers: Subparsers) -> None:
    """Adds `bench` and its arguments."""
    parser = subparsers.add_parser(
        "bench",
        help="measure decode speed on this machine",
        description="Routed decoding beside plain generate and the loop without cache reuse, in one run; prints JSON.",
        allow_abbrev=False,
    )
    parser.add_argument("--pair", default="embedded", metavar="NAME", help="(%(default)s)")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="(%(default)s)")
    parser.add_argument("--device", default="cpu", help="as torch names it, e.g. cuda (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="(%(default)s)")
    parser.add_argument("--output-file", type=Path, metavar="OUT", help="store the result here as well")


def run(args: argparse.Namespace) -> int:
    """Measures and prints."""
    from citer_core.engine import Engine
    from citer_core.evaluation.benchmark import decode_benchmark

    engine = Engine.load(args.pair, device=args.device, dtype=args.dtype)
    result = decode_benchmark(engine.pair, engine.router(), n_rounds=args.rounds)
    text = json.dumps(result, indent=2) + "\n"
    sys.stdout.write(text)
    if args.output_file is not None:
        args.output_file.parent.mkdir(parents=True, exist_ok=True)
        args.output_file.write_text(text, encoding="utf-8")
    return 0
