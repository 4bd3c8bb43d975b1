"""`load`: puts users on an LLM server and sets what they get beside what was predicted from the server's own passes.

`capacity`: how many devices a number of users needs, by the queueing model on a stored profile; needs no models.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.assets import ASSETS
from citer_core.cli.command import Allowed, command, option, switch, typed, whole_from
from citer_core.cli.model_arguments import MODELS, SERVER, load_engine
from citer_core.cli.report_file import report_file
from citer_core.cli.terminal import say, text_table
from citer_core.errors import SettingError
from citer_core.gate.dataclass_kind import filled
from citer_core.measuring import capacity as estimate
from citer_core.measuring.profile_numbers import read_profile

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.measuring.server_load import KnownText

STORED = ASSETS / "benchmarks" / "profile.json"
USERS = (1, 2, 4, 8, 16)
HEAD = ("users", "tokens/s each", "median round", "call p50 ms", "call p95 ms", "random: tokens/s", "p50 ms", "p95 ms")
LLM_SHARE = option("--llm-share S", "share of LLM tokens", 0.2)
CHECKED = "An estimate on paper. How far it is from a load on a real server: assets/learn/scaling.md."


@command(
    "capacity",
    "how many devices for how many users, estimated",
    "SLM replicas, LLM devices and latency for a load, from the step costs of a profile; an estimate.",
    option("--users N", "texts written at the same time", type=int, required=True),
    option("--tokens-per-s R", "for each user", 10.0),
    LLM_SHARE,
    option("--context N", "tokens of each text", 256, dest="n_context"),
    option("--max-batch N", "texts in one pass", 256),
    option("--block-size N", "the LLM server's, whose cache forgets parts", 1),
    option("--profile FILE", "that `profile --output-file` wrote (the bundled pair's)", type=Path),
    switch("--json", "print JSON instead of words"),
)
def capacity(args: argparse.Namespace) -> None:
    """Computes and prints.

    Raises:
        CiterError: an impossible demand, or a profile that cannot be read.
    """
    demand = filled(estimate.Demand, args)
    profile = read_profile(args.profile or STORED)
    costs = profile.costs
    routed, alone = estimate.routed_deployment(costs, demand), estimate.llm_only_deployment(costs, demand)
    if args.json:
        result = {"demand": asdict(demand), "routed": asdict(routed), "llm_only": asdict(alone)}
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
        return
    head = ("estimated", "SLM replicas", "LLM devices", "LLM busy", "calls in a pass", "ms a token", "p95 ms")
    rows = [deployment_row(f"routed, {demand.llm_share:.0%} LLM", routed), deployment_row("LLM alone", alone)]
    sys.stdout.write(
        f"{demand.users:,} users at {demand.tokens_per_s:g} tokens/s, {demand.n_context} tokens of context, step costs "
        f"of {profile.pair} on {profile.hardware} ({profile.date})\n\n{text_table(head, rows)}\n\n{CHECKED}\n"
    )


def deployment_row(name: str, found: estimate.Deployment) -> tuple[str, ...]:
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


@command(
    "load",
    "measure an LLM server under several users, beside what the queueing model predicts",
    "Measures what a pass of the server takes, predicts what users will get, then lets them write. The users write "
    "known texts; the SLM's time is waited for, as a profile says.",
    option("--users N", default=list(USERS), type=int, nargs="+"),
    LLM_SHARE,
    option("--seconds T", "seconds for each load", 10.0, allowed=Allowed(lambda s: s > 0, "a number above 0")),
    option("--rounds N", "rounds, of which the best is shown", 5, allowed=whole_from(1)),
    option("--profile FILE", "that the SLM's time is from (the bundled pair's)", type=Path),
    option("--note TEXT", "what the server runs on, to be stored and printed"),
    option("--output-file OUT", "store the result here as JSON", type=Path),
    MODELS,
    SERVER,
)
def load(args: argparse.Namespace) -> None:
    """Calibrates, predicts, measures, prints and stores.

    Raises:
        CiterError: wrong arguments, no server, or one that is lost.
    """
    if args.llm_url is None:
        raise SettingError("load needs a server: give --llm-url, e.g. --llm-url http://host:8000/v1.")
    costs = read_profile(args.profile or STORED).costs
    slm_s = costs.slm.seconds(1, 128) + costs.router_s + costs.loop_s
    loads = [estimate.Load(users, args.llm_share, slm_s) for users in args.users]
    with report_file(args.output_file) as store:
        result = _measure(args, load_engine(args), loads)
        store(result)
        sys.stdout.write(f"{_words(result)}\n")  # also where it could not be stored


def _measure(args: argparse.Namespace, engine: Engine, loads: list[estimate.Load]) -> dict[str, Any]:
    from citer_core.hardware import hardware_in_words
    from citer_core.measuring.server_load import fit_service, fit_single_pass, measured_load, pass_times
    from citer_core.models.remote_lm import RemoteLM

    shown = ("llm_url", "llm_share", "seconds", "rounds")
    server, texts = engine.pair.llm, _texts(engine)
    assert isinstance(server, RemoteLM), "there is a URL"
    say("calibrating: calls alone, and several at once")
    times = pass_times(server, texts, USERS)
    service, single = fit_service(times), fit_single_pass(times)
    # All predictions stand before the first user asks.
    predicted = {
        load.users: (estimate.closed_loop(service, load), estimate.random_arrivals(single, load)) for load in loads
    }
    for users, (expected, _) in predicted.items():
        say(f"{users} users: {expected.tokens_per_s:.1f} tokens/s each predicted")
    found: dict[int, list[tuple[estimate.LoadPoint, int]]] = {load.users: [] for load in loads}
    for number in range(args.rounds):
        for load in loads:
            point, n_calls = measured_load(
                server, texts, load, seconds=args.seconds, warm_s=min(2.0, args.seconds / 5), seed=number
            )
            found[load.users].append((point, n_calls))
            say(f"round {number + 1}, {load.users} users: {point.tokens_per_s:.1f} tokens/s each measured")
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "hardware": hardware_in_words(),
        "command": typed(args, *shown, always=shown, llm_url="URL"),
        "note": args.note or "",
        "pair": engine.pair.info.name,
        "llm": engine.pair.info.llm.name,
        "llm_share": args.llm_share,
        "slm_s": loads[0].slm_s,
        "passes": [{"n_calls": time.n_new, "seconds": time.seconds} for time in times],
        "service": asdict(service),
        "loads": [_summary(users, *predicted[users], rounds) for users, rounds in found.items()],
    }


def _summary(
    users: int, closed: estimate.LoadPoint, at_random: estimate.LoadPoint, rounds: list[tuple[estimate.LoadPoint, int]]
) -> dict[str, Any]:
    """The prediction beside the least disturbed round: other work on the machine only slows users down."""
    best, n_calls = max(rounds, key=lambda found: found[0].tokens_per_s)
    return {
        "users": users,
        "predicted": asdict(closed),
        "predicted_random_arrivals": asdict(at_random),
        "measured": asdict(best),
        "n_calls": n_calls,
        "median_tokens_per_s": statistics.median(point.tokens_per_s for point, _ in rounds),
    }


def _words(result: dict[str, Any]) -> str:
    """The result for a person."""
    service, where = result["service"], result["note"] or result["hardware"]
    passes = ", ".join(f"{p['n_calls']}: {1000 * p['seconds']:.1f}" for p in result["passes"])
    return "\n\n".join(
        (
            f"A pass takes {service_words(service)} (calls asked at once: ms until all are answered; {passes}).",
            text_table(HEAD, load_rows(result)),
            f"Predicted / measured in the least disturbed round, {result['llm_share']:.0%} LLM tokens; the last three "
            f"columns are predicted as if calls came at random. {result['date']}, {where}.",
        )
    )


def service_words(service: dict[str, float]) -> str:
    """What a pass takes, in ms."""
    fixed, per_call, delay = (1000 * service[name] for name in ("fixed_s", "per_call_s", "delay_s"))
    return f"{fixed:.1f} ms + {per_call:.1f} ms for each call, and a call {delay:.1f} ms outside of passes"


def load_rows(result: dict[str, Any]) -> list[tuple[str, ...]]:
    """The cells of each load: predicted / measured, in tokens/s and ms."""
    rows: list[tuple[str, ...]] = []
    for load in result["loads"]:
        closed, at_random, got = (
            estimate.LoadPoint(**load[name]) for name in ("predicted", "predicted_random_arrivals", "measured")
        )
        rows.append(
            (
                str(load["users"]),
                f"{closed.tokens_per_s:.0f} / {got.tokens_per_s:.0f}",
                f"{load['median_tokens_per_s']:.0f}",
                f"{1000 * closed.p50_s:.0f} / {1000 * got.p50_s:.0f}",
                f"{1000 * closed.p95_s:.0f} / {1000 * got.p95_s:.0f}",
                f"{at_random.tokens_per_s:.0f}",
                f"{1000 * at_random.p50_s:.0f}",
                f"{1000 * at_random.p95_s:.0f}",
            )
        )
    return rows


def _texts(engine: Engine) -> list[KnownText]:
    """The bundled problems and their solutions in the pair's tokens: texts of the length that a run writes."""
    from citer_core.measuring.server_load import KnownText
    from citer_core.tasks.datasets import bundled_rows
    from citer_core.tasks.prompts import row_completion

    found = []
    for row in bundled_rows("math"):
        prompt = engine.pair.encode(row.problem.prompt)
        found.append(KnownText((*prompt, *engine.pair.encode_completion(row_completion(row.row, "math"))), len(prompt)))
    return found
