"""`evaluate`: accuracy and cost of routers over a sweep of tau, or at matched shares of LLM tokens; resumable.

Its table prices the rows for the pair that ran, or for another; "n/a" is what rows of older versions do not say.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.command import Allowed, command, group, one_of, option, switch
from citer_core.cli.dataset_arguments import (
    DATA_TYPE,
    DATASET,
    DATASET_PATH,
    batch_size,
    limit,
    problems_with_answers,
    split_arguments,
    use_named_dataset,
)
from citer_core.cli.decoding_arguments import decoding_limits, router_with_settings
from citer_core.cli.model_arguments import MODELS, ROUTER_HELP, SERVER, load_engine, model_identity, router_name
from citer_core.cli.terminal import bar, format_bytes, say, text_table
from citer_core.cost import mlp_router_params
from citer_core.decode_settings import Others, in_words
from citer_core.errors import DatasetError, GateError, SettingError
from citer_core.gate.fields import Whole
from citer_core.models.presets import PRESETS
from citer_core.row_file import NUMBER, RowFile
from citer_core.tasks.problem_set import ProblemSet, problems_digest
from citer_core.tasks.prompts import PROMPT_VERSION
from citer_core.workload import Price, Workload

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.evaluation.run_book import KeptRun, RunBook
    from citer_core.tasks.problems import Problem
    from citer_core.trace import PairInfo

EPILOG = """At a matched share, tau is found for each router on the problems of --tuning-path and tested on others.
"of LLM-only" is the share of what the LLM alone would have cost for the same text, "of its answers" for its own; those
are measured with always-llm where no other point is at tau = 1. --price-as needs no new runs.

examples:
  python -m citer_core evaluate --dataset-path assets/datasets/math.jsonl --data-type math --output-file sweep.jsonl
  python -m citer_core evaluate --dataset-path test.jsonl --output-file sweep.jsonl --price-as qwen2-1.5b-72b
  python -m citer_core evaluate --dataset-path test.jsonl --tuning-path tuning.jsonl --shares 0.1 0.2 0.3 0.4 \\
      --routers citer citer-plus max-probability random --output-file matched.jsonl
  python -m citer_core evaluate --dataset-path test.jsonl --points always-slm=0 always-llm=1 citer=0.8 \\
      max-probability=0,doubt_budget=3,take_back=0.2 --output-file points.jsonl
"""

ALL_TAUS = [i / 10 for i in range(11)]
FROM_0_TO_1 = Allowed(lambda number: 0 <= number <= 1, "numbers from 0 to 1")
LLM_ALONE = "always-llm"
# Points from which they go side by side. The first few come to too little in common: on the bundled pair a text takes
# twice as long that way, and of six points half of the texts are new.
SIDE_BY_SIDE = 8
ANSWERS = ".answers.jsonl"  # beside the output while points are measured: what each answer came to
SHARE_TOLERANCE, N_STEPS = 0.01, 12  # of a search for a tau
UNKNOWN = "n/a"
_PARAMS = Whole()
Row = Mapping[str, Any]
Point = tuple[str, str, float, Others]  # router, "tau" or "share", and which

# What the table reads of rows that an earlier run wrote.
ROW_KINDS = {
    "router": str,
    "accuracy": dict,
    **dict.fromkeys(("threshold", "llm_token_share", "n_bytes", "bytes_share", "flops", "measured_s"), NUMBER),
}


@command(
    "evaluate",
    "accuracy and cost over a sweep of tau",
    "Measures routers on problems with known answers, greedily, several problems at once.",
    group(
        "data",
        one_of(DATASET_PATH, DATASET, required=True),
        *split_arguments("test"),
        DATA_TYPE,
        limit("problems"),
        option("--tuning-path FILE", "other problems, which --shares finds tau on", type=Path),
    ),
    option("--output-file OUT", "one row per point; resumable", type=Path, required=True),
    option("--routers NAME", f"each is {ROUTER_HELP} (all of the pair's)", nargs="+"),
    one_of(
        option("--thresholds TAU", "(0, 0.1, ..., 1)", nargs="+", allowed=FROM_0_TO_1),
        option(
            "--points NAME[=TAU]",
            "only these, instead of --routers; a router may be named more than once, with other settings behind commas",
            type=router_with_settings,
            nargs="+",
        ),
        option("--shares S", "LLM tokens to match, each 0 to 1", nargs="+", allowed=FROM_0_TO_1),
    ),
    switch("--without-llm-alone", "do not measure the LLM's own answers, if they are no point"),
    option("--price-as PAIR", "costs of the table for another pair that has a name", choices=sorted(PRESETS)),
    option("--max-new-tokens N", default=256),
    batch_size("problems at once"),
    MODELS,
    SERVER,
    epilog=EPILOG,
)
def evaluate(args: argparse.Namespace) -> None:
    """Measures every point that the output does not hold yet, and prints the table.

    Raises:
        CiterError: wrong input, before anything is loaded.
    """
    decoding_limits(args)
    asked = _routers(args)
    if args.shares is not None and args.tuning_path is None:
        raise SettingError("--shares needs --tuning-path: problems that tau is found on, none of those measured.")
    use_named_dataset(args, "test", say)
    problems = problems_with_answers(args.dataset_path, args.data_type, args.limit)
    tuning = problems_with_answers(args.tuning_path, args.data_type, args.limit) if args.shares is not None else []
    shared = {p.prompt for p in problems} & {p.prompt for p in tuning}
    if shared:
        raise DatasetError(f"{len(shared)} problems are in the data set and in --tuning-path: tune on others.")
    with RowFile(args.output_file, _identity(args, problems, tuning), ROW_KINDS) as output:
        engine = load_engine(args, *asked)
        names = [router_name(r) or r for r in asked] or list(engine.router_names)
        output.bind(
            {
                "pair_revision": engine.pair_info.revision,
                "routers": {name: engine.router(name).revision for name in names},
            }
        )
        what = "share" if args.shares else "tau"
        goals = args.shares or args.thresholds or ALL_TAUS
        points: list[Point] = [
            (name, "tau", engine.default_threshold(name) if tau is None else tau, more)
            for name, tau, more in ((router_name(given) or given, *own) for given, *own in args.points or ())
        ]
        points = points or [(name, what, goal, ()) for name in names for goal in goals]
        if not args.without_llm_alone and not any((what, goal) == ("tau", 1) for _, what, goal, _ in points):
            points.append((LLM_ALONE, "tau", 1.0, ()))
        measured = [point for point in points if _point_id(*point) not in output.rows]
        for point, row in _measure(args, engine, measured, problems, tuning):
            output.append({"id": _point_id(*point), "router": point[0], **row})
        print(text_table(*_table(list(output.rows.values()), engine.pair_info, args.price_as)))


def _routers(args: argparse.Namespace) -> list[str]:
    """The routers that were named, as they were given.

    Raises:
        SettingError: two of one name; or they are named in two ways.
    """
    if args.points is not None and args.routers is not None:
        raise SettingError("--points names its routers: leave out --routers.")
    asked = list(dict.fromkeys(router for router, *_ in args.points or ())) or args.routers or []
    names = [router_name(router) for router in asked]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SettingError(f'--routers has "{twice[0]}" twice, and rows go by that name: rename the files of one.')
    return asked


def _identity(args: argparse.Namespace, problems: Sequence[Problem], tuning: Sequence[Problem]) -> dict[str, Any]:
    return {
        "command": "evaluate",
        "data_type": args.data_type,
        "problems": problems_digest(problems),
        "tuning": problems_digest(tuning) if args.shares else None,
        "prompt_version": PROMPT_VERSION,
        **model_identity(args),
        "max_new_tokens": args.max_new_tokens,
    }


def _point_id(name: str, what: str, goal: float, others: Others) -> str:
    return " ".join([f"{name} {what} {goal:g}", *in_words(others)])


def _measure(
    args: argparse.Namespace,
    engine: Engine,
    points: Sequence[Point],
    problems: Sequence[Problem],
    tuning: Sequence[Problem],
) -> Iterator[tuple[Point, dict[str, Any]]]:
    """Each point with its row, as it is known. A share is made a tau on `tuning` first."""
    if not points:
        return
    from citer_core.evaluation.run_book import RunBook, threshold_for

    test, tuned_on = (
        ProblemSet(f"{name} {problems_digest(some)}", args.data_type, tuple(some))
        for name, some in (("test", problems), ("tuning", tuning))
    )
    path = args.output_file.with_name(args.output_file.name + ANSWERS)
    shares_texts = len(points) >= SIDE_BY_SIDE
    with RunBook(
        engine, path, **decoding_limits(args), identity=model_identity(args), shares_texts=shares_texts
    ) as book:
        taus = [
            threshold_for(book, name, tuned_on, goal, SHARE_TOLERANCE, N_STEPS) if what == "share" else goal
            for name, what, goal, _ in points
        ]
        wanted = [(name, tau, others) for (name, _, _, others), tau in zip(points, taus, strict=True)]
        with bar(None, len(problems) * len(points), "answer") as answers:

            def tell(numbers: range, n_points: int) -> None:
                answers.set_postfix_str("{} {:g}".format(*wanted[n_points - 1][:2]))
                answers.update(len(wanted) * numbers.start + n_points * len(numbers) - answers.n)

            if shares_texts:
                book.fill(test, wanted, tell)
            for n_points, (point, (name, tau, others)) in enumerate(zip(points, wanted, strict=True), 1):
                runs = book.runs(name, test, tau, others)
                if not shares_texts:
                    tell(range(len(problems)), n_points)
                yield point, _row(book, point, tau, runs)
        book.discard()


def _row(book: RunBook, point: Point, tau: float, runs: Sequence[KeptRun]) -> dict[str, Any]:
    from citer_core.evaluation.metrics import pack
    from citer_core.evaluation.run_book import point_of
    from citer_core.hardware import hardware_in_words

    name, what, goal, others = point
    found = point_of(book.engine, name, tau, runs)
    return {
        **({"share_wanted": goal} if what == "share" else {}),
        **({"settings": dict(others)} if others else {}),
        **found.to_dict(),
        "right": pack(found.right),
        "cut_share": round(found.n_cut / found.accuracy.n, 4),
        "gb_per_token": float(f"{found.n_bytes / found.n_tokens / 1e9:.4g}"),
        "router_params": book.engine.router(name).n_params,
        "work": found.workload.to_dict(),
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
    }


def _table(rows: Sequence[Row], pair: PairInfo, price_as: str | None = None) -> tuple[list[str], list[list[str]]]:
    """Heading and lines.

    Args:
        rows: of the output file.
        pair: that ran.
        price_as: a name of `PRESETS`; None prices the pair that ran.

    Raises:
        DatasetError: a row says what no row says.
    """
    prices = [_price(row, pair, price_as) for row in rows]
    own = next((p for row, p in zip(rows, prices, strict=True) if row["threshold"] >= 1 and p is not None), None)
    est = "est." if price_as is None else f"est., as {PRESETS[price_as].title}"
    head = ["router", "tau", "right", "95% interval", "cut", "LLM tokens", "LLM passes", f"bytes ({est})", "GB/token"]
    head.append("of LLM-only")
    lines = [_line(row, price, own) for row, price in zip(rows, prices, strict=True)]
    return [*head, "of its answers", "TFLOP (est.)", "s"], lines


def _price(row: Row, pair: PairInfo, price_as: str | None) -> Price | None:
    """What a row's work costs; None where the row does not say what work there was, and another pair is asked for."""
    if "work" not in row:
        own_share = row["bytes_share"]
        return (
            Price(row["n_bytes"], row["flops"], row["n_bytes"] / own_share) if price_as is None and own_share else None
        )
    try:
        workload, n_params = Workload.read(row["work"]), _PARAMS.read(row.get("router_params"), "router_params")
    except GateError as error:
        raise DatasetError(f"The row {str(row['id'])[:60]!r} is damaged: remove it to have it run again.") from error
    if price_as is None:
        return workload.price(pair.slm, pair.llm, n_params)
    slm, llm = PRESETS[price_as].slm.spec, PRESETS[price_as].llm.spec
    # A router that has weights has those of the published one there.
    return workload.price(slm, llm, n_params and mlp_router_params(slm.hidden_size))


def _line(row: Row, price: Price | None, own: Price | None) -> list[str]:
    low, high = row["accuracy"]["interval_95"]
    line = [
        row["router"],
        " ".join([f"{row['threshold']:.4g}", *in_words(row.get("settings", {}).items())]),
        f"{row['accuracy']['share']:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{row['cut_share']:.1%}" if "cut_share" in row else UNKNOWN,
        f"{row['llm_token_share']:.1%}",
        f"{row['work']['llm']['n_passes'] / row['n_tokens']:.1%}" if "work" in row else UNKNOWN,
    ]
    seconds = f"{row['measured_s']:.1f}"
    if price is None:
        return [*line, *[UNKNOWN] * 5, seconds]
    return [
        *line,
        format_bytes(price.n_bytes),
        f"{price.n_bytes / row['n_tokens'] / 1e9:.3g}",
        f"{price.n_bytes / price.llm_only_bytes:.1%}",
        f"{price.n_bytes / own.llm_only_bytes:.1%}" if own is not None else UNKNOWN,
        f"{price.flops / 1e12:.3g}",
        seconds,
    ]
