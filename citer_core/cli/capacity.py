"""`capacity`: how many devices a number of users needs, by the queueing model on a stored profile; needs no models."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.assets import ASSETS
from citer_core.cli.tables import text_table
from citer_core.measuring.capacity import Demand, Deployment, llm_only_deployment, routed_deployment
from citer_core.measuring.profile_numbers import read_profile

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers

STORED = ASSETS / "benchmarks" / "profile.json"
CHECKED = "An estimate on paper. How far it is from a load on a real server: assets/learn/scaling.md."


def add_parser(subparsers: Subparsers) -> None:
    """Adds `capacity` and its arguments."""
    parser = subparsers.add_parser(
        "capacity",
        help="how many devices for how many users, estimated",
        description="SLM replicas, LLM devices and latency for a load, from the step costs of a profile; an estimate.",
        allow_abbrev=False,
    )
    parser.add_argument("--users", type=int, required=True, metavar="N", help="texts written at the same time")
    parser.add_argument("--tokens-per-s", type=float, default=10.0, metavar="R", help="for each user (%(default)s)")
    parser.add_argument("--llm-share", type=float, default=0.2, metavar="S", help="share of LLM tokens (%(default)s)")
    parser.add_argument("--context", type=int, default=256, metavar="N", help="tokens of each text (%(default)s)")
    parser.add_argument("--max-batch", type=int, default=256, metavar="N", help="texts in one pass (%(default)s)")
    parser.add_argument(
        "--block-size",
        type=int,
        default=1,
        metavar="N",
        help="the LLM server's, whose cache forgets parts (%(default)s)",
    )
    parser.add_argument(
        "--profile", type=Path, metavar="FILE", help="that `profile --output-file` wrote (the bundled pair's)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of words")


def run(args: argparse.Namespace) -> int:
    """Computes and prints.

    Raises:
        CiterError: an impossible demand, or a profile that cannot be read.
    """
    demand = Demand(args.users, args.tokens_per_s, args.llm_share, args.context, args.max_batch, args.block_size)
    profile = read_profile(args.profile or STORED)
    costs = profile.costs
    routed, alone = routed_deployment(costs, demand), llm_only_deployment(costs, demand)
    if args.json:
        result = {"demand": asdict(demand), "routed": asdict(routed), "llm_only": asdict(alone)}
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
        return 0
    head = ("estimated", "SLM replicas", "LLM devices", "LLM busy", "calls in a pass", "ms a token", "p95 ms")
    rows = [deployment_row(f"routed, {demand.llm_share:.0%} LLM", routed), deployment_row("LLM alone", alone)]
    sys.stdout.write(
        f"{demand.users:,} users at {demand.tokens_per_s:g} tokens/s, {demand.n_context} tokens of context, step costs "
        f"of {profile.pair} on {profile.hardware} ({profile.date})\n\n{text_table(head, rows)}\n\n{CHECKED}\n"
    )
    return 0


def deployment_row(name: str, found: Deployment) -> tuple[str, ...]:
    """The cells of one line: devices, how busy they are, times in ms."""
    return (
        name,
        f"{found.slm_replicas:,}",
        f"{found.llm_gpus:,}",
        f"{found.llm_busy:.0%}",
        f"{found.llm_batch:.1f}",
        f"{1000 * found.token_s:.1f}",
        f"{1000 * found.p95_s:.1f}",
    )
