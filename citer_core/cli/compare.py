"""`compare`: problems answered by the SLM alone, by routers, by the LLM alone and by speculative decoding, and kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from citer_core.assets import ASSETS
from citer_core.cli.model_arguments import add_model_arguments, load_engine
from citer_core.cli.tables import text_table
from citer_core.cli.terminal import say
from citer_core.cost import H100_SXM, Cost, CostModel, CostSummary
from citer_core.errors import SettingError
from citer_core.speculation import Drafting
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.comparison import Comparison
    from citer_core.engine import Engine
    from citer_core.trace import RoutingTrace

EPILOG = """PROBLEMS has the lines that `record` reads; of a line's settings, max_new_tokens counts here. All answers
are greedy. A router is a name with a tau, as in citer=0.93; without one its recommended tau is taken. What is there
already is left alone, so the same command resumes; a pair that was trained again is recorded anew.
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `compare` and its arguments."""
    usual = Drafting()
    parser = subparsers.add_parser(
        "compare",
        help="record one problem in every way: SLM, routed, LLM, speculative decoding",
        description="Answers problems in every way, side by side, and keeps that for the page's Compare tab.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("problems", type=Path, metavar="PROBLEMS", help="JSON Lines, one problem a line")
    parser.add_argument("--output-dir", type=Path, default=ASSETS / "comparisons", metavar="DIR", help="(%(default)s)")
    parser.add_argument(
        "--router",
        action="append",
        metavar="NAME[=TAU]",
        help="may be given again (the default router and max-probability)",
    )
    parser.add_argument("--max-new-tokens", type=int, default=256, metavar="N", help="of each answer (%(default)s)")
    parser.add_argument(
        "--draft-tokens", type=int, default=usual.n_tokens, metavar="N",
        help="the SLM drafts at most so many at a time (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--draft-confidence", type=float, default=usual.confidence, metavar="P",
        help="and stops behind a token to which it gives less (%(default)s)",
    )  # fmt: skip
    add_model_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Records what is missing and prints each comparison as a table.

    Raises:
        CiterError: wrong input, before anything is loaded where that is possible.
    """
    from citer_core.comparison import record_comparisons
    from citer_core.recording import read_plans

    drafting = Drafting(args.draft_tokens, args.draft_confidence)
    DecodeSettings(max_new_tokens=args.max_new_tokens)
    asked = [_router_and_tau(text) for text in args.router or ()]
    plans = read_plans(args.problems)
    engine = load_engine(args)
    routers = [(name, engine.default_threshold(name) if tau is None else tau) for name, tau in asked or _usual(engine)]
    work = record_comparisons(
        engine, plans, args.output_dir, routers=routers, max_new_tokens=args.max_new_tokens, drafting=drafting
    )
    for plan, comparison in tqdm(work, total=len(plans), unit="problem", disable=not sys.stderr.isatty()):
        say(f"\n{plan.file}: {plan.title}\n{_table(comparison)}")
    return 0


def _usual(engine: Engine) -> list[tuple[str, float | None]]:
    """The default router, and beside it the baseline that costs nothing to train."""
    baseline: list[tuple[str, float | None]] = [("max-probability", None)]
    return [(engine.default_router, None), *(entry for entry in baseline if entry[0] != engine.default_router)]


def _router_and_tau(text: str) -> tuple[str, float | None]:
    name, has_tau, tau = text.partition("=")
    if not has_tau:
        return name, None
    try:
        return name, DecodeSettings(threshold=float(tau)).threshold
    except ValueError:
        raise SettingError(f"--router is {text!r}: give a name, or a name with a tau as in citer=0.9.") from None


def _table(comparison: Comparison) -> str:
    rows = [_row(_name_of(run), len(run.events), _cost_of(run), _verdict(run.answer), "") for run in comparison.runs]
    if (drafted := comparison.speculative) is not None:
        accepted = f"{drafted.n_accepted} of {drafted.n_drafted} drafted kept, {len(drafted.passes)} passes"
        cost, verdict = drafted.cost(H100_SXM), _verdict(drafted.answer)
        rows.append(_row("speculative", len(drafted.token_ids), cost, verdict, accepted))
    return text_table(("who", "tokens", "GB moved", "TFLOP", "answer", ""), rows)


def _row(name: str, n_tokens: int, cost: Cost, verdict: str, more: str) -> tuple[str, ...]:
    return name, str(n_tokens), f"{cost.n_bytes / 1e9:.4g}", f"{cost.flops / 1e12:.4g}", verdict, more


def _name_of(run: RoutingTrace) -> str:
    tau = run.settings.threshold
    return {0.0: "SLM alone", 1.0: "LLM alone"}.get(tau, f"{run.router.name} at {tau:g}")


def _cost_of(run: RoutingTrace) -> Cost:
    """Estimated; a model alone has neither the other one nor a router beside it."""
    costs = CostSummary.of(CostModel(run.pair.slm, run.pair.llm, H100_SXM, run.router.n_params), run.events)
    return {0.0: costs.slm_only, 1.0: costs.llm_only}.get(run.settings.threshold, costs.routed)


def _verdict(answer: object) -> str:
    is_correct = getattr(answer, "is_correct", None)
    return "" if is_correct is None else "right" if is_correct else "wrong"
