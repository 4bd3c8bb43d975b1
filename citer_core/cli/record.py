"""What the page plays without a model: `record` keeps runs, `record-labels` labels, `compare` one problem in every way.

Each leaves alone what is there already, so that the same command resumes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.assets import ASSETS
from citer_core.cli.command import command, option, switch, typed
from citer_core.cli.decoding_arguments import SETTINGS_OBJECT, given_settings, router_with_settings
from citer_core.cli.model_arguments import MODELS, ROUTER, load_engine, router_name
from citer_core.cli.terminal import bar, say, text_table
from citer_core.cost import H100_SXM, Cost, CostModel, CostSummary
from citer_core.decode_settings import LOOKING_BACK, in_words
from citer_core.errors import SettingError
from citer_core.speculation import Drafting
from citer_core.types import DecodeSettings, writer_alone

if TYPE_CHECKING:
    from citer_core.comparison import Comparison, Way
    from citer_core.trace import AnswerInfo, RoutingTrace


@command(
    "record",
    "record runs that the page plays without a model",
    "Runs problems, greedily where nothing else is said, and writes one trace for each, and an index.",
    option("problems PROBLEMS", "JSON Lines, one run a line", type=Path),
    option("--output-dir DIR", default=ASSETS / "traces"),
    ROUTER,
    option("--threshold TAU", "(the router's recommended tau)", type=float),
    SETTINGS_OBJECT,
    switch("--first", "list these runs before those of other pairs"),
    MODELS,
    epilog=r"""a line of PROBLEMS names one run:
  {"file": "cake.json", "title": "Cake", "subtitle": "Two steps", "data_type": "math", "question": "...", "answer": "7"}
data_type is math, mc (options follow the question, one "A. text" a line) or open; answer, threshold, max_new_tokens
and any other setting of `route` may be left out. Runs that are there already are left alone, so the same command
resumes.
""",
)
def record(args: argparse.Namespace) -> None:
    """Records what is missing.

    Raises:
        CiterError: wrong input, before anything is loaded.
    """
    from citer_core.recording import read_plans, record

    settings = given_settings(args)
    DecodeSettings(**settings)
    plans = read_plans(args.problems)
    engine = load_engine(args, args.router)
    runs = record(engine, plans, args.output_dir, router=router_name(args.router), settings=settings, first=args.first)
    for plan, trace in bar(runs, len(plans), "run"):
        verdict = _verdict(trace.answer)
        told = f"{trace.n_tokens} tokens, {trace.llm_token_share:.0%} by the LLM"
        say(f"{plan.file}: {told}{verdict and ', '}{verdict}")


@command(
    "record-labels",
    "record the labels that the page's view Labels shows without a model",
    "Reads solved problems with both models, labels every token, and keeps that with the confidences of routers.",
    option("rows ROWS", "math, mc or a JSON Lines file; one or more", nargs="+"),
    option("--output-dir DIR", default=ASSETS / "labelled"),
    option(
        "--router NAME",
        "asked at every token; may be given again (the first trained ones and max-probability)",
        action="append",
    ),
    switch("--outcome", "also label by outcome: both tokens are tried wherever the models differ"),
    option("--labels FOLDER", "take the labels that `label` made of ROWS, a file", type=Path),
    MODELS,
    epilog="""\
ROWS is math or mc, the bundled set of that format, or a JSON Lines file of at most 200 problems with their
solutions, in the official formats; both branches of its tokens can be rolled out on the page if it is in
assets/datasets. What is there already, of the same pair and routers, is left alone, and the same command resumes.
With --labels the first 200 rows are shown with the labels of a folder that `label` made, which are not made again.
""",
)
def record_labels(args: argparse.Namespace) -> None:
    """Records what is missing and says what each recording has.

    Raises:
        CiterError: wrong input, before anything is loaded.
    """
    from citer_core.ui.labels.label_folder import read_label_folder
    from citer_core.ui.labels.recorded_labels import record_labels, rows_called, rows_in_file
    from citer_core.ui.labels.rows import SET_NAMES  # gradio's room, of which only this needs something

    if args.labels and (len(args.rows) > 1 or args.outcome or args.rows[0] in SET_NAMES):
        raise SettingError("--labels: give the one file that was labelled, without --outcome.")
    called = [] if args.labels else args.rows
    sources = {rows: rows_called(rows) if rows in SET_NAMES else rows_in_file(Path(rows)) for rows in called}
    engine = load_engine(args)
    given = read_label_folder(args.labels, Path(args.rows[0]), engine.pair) if args.labels else None
    for rows, source in sources.items() if given is None else [(args.rows[0], given.source)]:
        place = Path(rows)
        is_ours = place.parent.resolve() == (ASSETS / "datasets").resolve()
        name = f"assets/datasets/{place.name}" if is_ours else place.name
        folder = args.labels and args.labels.name
        work = record_labels(
            engine, rows, source, args.output_dir, routers=args.router or (), given=given,
            by_outcome=given.by_outcome if given else args.outcome,
            command=typed(args, "rows", "router", "outcome", "labels", "pair", "dtype", rows=name, labels=folder),
        )  # fmt: skip
        for _, entry in bar(work, len(source.rows), "problem"):
            if entry is not None:
                say(f"{entry.file}: {entry.title}, {entry.n_tokens:,} tokens, read by {entry.pair}")


@command(
    "compare",
    "record one problem in every way: SLM, routed, LLM, speculative decoding",
    "Answers problems in every way, side by side, and keeps that for the page's Compare tab.",
    option("problems PROBLEMS", "JSON Lines, one problem a line", type=Path),
    option("--output-dir DIR", default=ASSETS / "comparisons"),
    option(
        "--router NAME[=TAU]",
        "with other settings behind commas; may be given again (the default router, and citer-outcome with and without "
        "look-back; max-probability where there is none)",
        type=router_with_settings,
        action="append",
    ),
    option("--max-new-tokens N", "of each answer", 256),
    option("--draft-tokens N", "the SLM drafts at most so many at a time", Drafting().n_tokens),
    option("--draft-confidence P", "and stops behind a token to which it gives less", Drafting().confidence),
    MODELS,
    epilog="""PROBLEMS has the lines that `record` reads; of a line's settings, max_new_tokens counts here. All answers
are greedy. A router is a name with a tau, as in citer=0.93; without one its recommended tau is taken. Behind commas it
may have settings of its own, as in citer-outcome=0,doubt_budget=0.35,take_back=0.2. What is there already is left
alone, so the same command resumes; a pair that was trained again is recorded anew.
""",
)
def compare(args: argparse.Namespace) -> None:
    """Records what is missing and prints each comparison as a table.

    Raises:
        CiterError: wrong input, before anything is loaded where that is possible.
    """
    from citer_core.comparison import record_comparisons, usual_routers
    from citer_core.recording import read_plans

    drafting = Drafting(args.draft_tokens, args.draft_confidence)
    DecodeSettings(max_new_tokens=args.max_new_tokens)
    plans = read_plans(args.problems)
    engine = load_engine(args)
    routers: list[Way] = [
        (name, {"threshold": engine.default_threshold(name) if tau is None else tau, **dict(others)})
        for name, tau, others in args.router or ()
    ]
    routers = routers or usual_routers(engine)
    work = record_comparisons(
        engine, plans, args.output_dir, routers=routers, max_new_tokens=args.max_new_tokens, drafting=drafting
    )
    for plan, comparison in bar(work, len(plans), "problem"):
        say(f"\n{plan.file}: {plan.title}\n{_table(comparison)}")


def _table(comparison: Comparison) -> str:
    found = [(_name_of(run), len(run.events), _cost_of(run), run.answer, _looks_of(run)) for run in comparison.runs]
    if (drafted := comparison.speculative) is not None:
        accepted = f"{drafted.n_accepted} of {drafted.n_drafted} drafted kept, {len(drafted.passes)} passes"
        found.append(("speculative", len(drafted.token_ids), drafted.cost(H100_SXM), drafted.answer, accepted))
    rows = [
        (name, str(n_tokens), f"{cost.n_bytes / 1e9:.4g}", f"{cost.flops / 1e12:.4g}", _verdict(answer), more)
        for name, n_tokens, cost, answer, more in found
    ]
    return text_table(("who", "tokens", "GB moved", "TFLOP", "answer", ""), rows)


def _name_of(run: RoutingTrace) -> str:
    alone = writer_alone(run.settings)
    own = in_words((name, value) for name, value in run.settings.newer().items() if name in LOOKING_BACK)
    return f"{alone.upper()} alone" if alone else " ".join([f"{run.router.name} at {run.settings.threshold:g}", *own])


def _looks_of(run: RoutingTrace) -> str:
    return f"{run.n_looks} looks, {run.n_discarded} tokens taken back" if run.settings.take_back else ""


def _cost_of(run: RoutingTrace) -> Cost:
    """Estimated; a model alone has neither the other one nor a router beside it."""
    costs = CostSummary.of(CostModel(run.pair.slm, run.pair.llm, H100_SXM, run.router.n_params), run.events)
    return {"slm": costs.slm_only, "llm": costs.llm_only, None: costs.routed}[writer_alone(run.settings)]


def _verdict(answer: AnswerInfo | None) -> str:
    is_correct = None if answer is None else answer.is_correct
    return "" if is_correct is None else "right" if is_correct else "wrong"
