"""`train-router`: a router of any kind from a folder of labels; needs no models.

`iterate`: label, train, relabel, train, K rounds in one command, with a table.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.command import BETWEEN_0_AND_1, command, option, switch, typed, whole_from
from citer_core.cli.dataset_arguments import LABELLING, TIES, check_rollouts, label_rows, problems_with_answers
from citer_core.cli.model_arguments import MODELS, SERVER, load_engine, show_what_takes_long
from citer_core.cli.terminal import number, say, text_table
from citer_core.errors import DatasetError, MachineError, SettingError
from citer_core.file_lock import only_writer
from citer_core.files import need_folder
from citer_core.gate.dataclass_kind import filled
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.prompts import row_prompt

if TYPE_CHECKING:
    from citer_core.routing.stored import StoredRouter
    from citer_core.tasks.problems import Problem
    from citer_core.tasks.prompts import DataType

SHOWN_TAUS = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95)
KINDS = (
    "citer", "citer-plus", "citer-outcome", "citer-outcome-mlp", "citer-s-a", "citer-s-b", "co-llm", "query-level"
)  # fmt: skip
# The labels that a kind learns; the others take either.
LABELS_OF = {
    **dict.fromkeys(("citer", "citer-plus"), "published"),
    **dict.fromkeys(("citer-outcome", "citer-outcome-mlp"), "outcome"),
}


@command(
    "train-router",
    "train a router on labels",
    "Trains a router: split by question, early stopping, the best checkpoint kept, a card written.",
    option("--labels DIR", "folders that `label` wrote, of one pair", type=Path, nargs="+", required=True),
    option("--kind", default="citer", choices=KINDS),
    option("--name NAME", "name of the router and its two files (the kind)"),
    option("--output-dir DIR", "for NAME.json, NAME.safetensors", type=Path, required=True),
    option("--learning-rates LR", "one or more; all are tried", [3e-4, 1e-3], type=float, nargs="+"),
    option("--batch-size N", "tokens per step", 512),
    option("--epochs N", "most epochs", 100),
    option("--patience N", "epochs without progress", 5),
    option("--share", "LLM tokens that the card's recommended tau aims at", 0.2, allowed=BETWEEN_0_AND_1),
    TIES,
    switch("--bfloat16", "store matrices in bfloat16: half the file"),
    option("--seed", default=0),
    epilog="""kinds:
  citer        the published MLP on the SLM's hidden state
  citer-plus   the same, with the SLM's own uncertainty beside the state
  citer-outcome      labels by outcome (label --labels outcome), with the architecture of citer-plus
  citer-outcome-mlp  the same with the published MLP
  citer-s-a    ablation: case 3 left out
  citer-s-b    ablation: prefer the SLM iff its token is the true one
  co-llm       deferral by marginal likelihood on the frozen models
  query-level  one decision per question (label with --ask-slm)

example:
  python -m citer_core train-router --labels labels --kind citer-plus --output-dir routers
  python -m citer_core train-router --labels gsm8k-labels cqa-labels --output-dir routers
""",
)
def train_router(args: argparse.Namespace) -> None:
    """Trains and writes.

    Raises:
        CiterError: the labels cannot be read, or are not enough; or the folder cannot be written.
    """
    from citer_core.labelling.label_files import load_label_folders
    from citer_core.labelling.labels import Ties
    from citer_core.training.publish_router import train_and_describe
    from citer_core.training.router_training import RouterRecipe

    if args.name is not None and (not args.name or Path(args.name).name != args.name):
        raise SettingError(f"--name is {args.name!r}: give a plain file name; --output-dir says where.")
    show_what_takes_long("citer_core.training")
    recipe = RouterRecipe(tuple(args.learning_rates), args.batch_size, args.epochs, args.patience, seed=args.seed)
    ties = ("both_fail", "both_right") if LABELS_OF.get(args.kind) == "outcome" else ()
    asked = typed(
        args,
        *("labels", "kind", "share", "learning_rates", "batch_size", "epochs", "patience", "seed", *ties, "bfloat16"),
        always=("kind", "share", *ties),
        labels=[folder.absolute().name for folder in args.labels],
    )
    headers, labels, rows = load_label_folders(args.labels)
    need_folder(args.output_dir)
    with only_writer(args.output_dir / (args.name or args.kind)):
        router = train_and_describe(
            headers,
            labels,
            rows,
            args.kind,
            recipe,
            args.share,
            command=asked,
            name=args.name,
            ties=filled(Ties, args),
        )
        if args.bfloat16:
            router = router.rounded()
        _save(router, args.output_dir)
    report = router.card["training"]
    say(
        f"{router.name}: AUC {number(report['auc'])} on {report['n_questions']['validation']} validation questions "
        f"(max-probability {number(report['auc_max_probability'])}), ECE {report['ece']:.4f}, tau "
        f"{router.default_threshold:g} for about {args.share:.0%} LLM tokens; written to {args.output_dir}"
    )
    say("LLM tokens by tau: " + ", ".join(f"{tau} {router.share_at(tau):.1%}" for tau in SHOWN_TAUS))


def _save(router: StoredRouter, folder: Path) -> None:
    """Into its folder, or where there is room: it may have taken hours."""
    try:
        router.save(folder)
    except MachineError as error:
        try:
            kept = Path(tempfile.mkdtemp(prefix="citer-rescued-"))
            router.save(kept)
        except (OSError, MachineError):
            raise error from None
        raise MachineError(f"{error} The router is kept in {kept}.") from error


@command(
    "iterate",
    "label, train, relabel, train: K rounds in one command",
    "Runs rounds of CITER. Round 1 labels with rollouts by the SLM (by outcome: the LLM), each later one under the "
    "router before.",
    *LABELLING,
    TIES,
    option("--output-dir DIR", "the same command resumes it", type=Path, required=True),
    option("--rounds K", default=2, dest="n_rounds", allowed=whole_from(1)),
    option("--kind", "kind of the router", "citer", choices=KINDS),
    option("--learning-rates LR", "all are tried", [1e-3], type=float, nargs="+"),
    option("--epochs N", "most epochs", 40),
    option("--share", "LLM tokens that each round's tau aims at", 0.2, allowed=BETWEEN_0_AND_1),
    option("--test-path FILE", "problems to measure each round on (the bundled ones)", type=Path),
    option("--test-limit N", "test problems of each format", 200, allowed=whole_from(1)),
    MODELS,
    SERVER,
    epilog="""example:
  python -m citer_core iterate --generated 2000 --rounds 3 --output-dir rounds
  python -m citer_core iterate --generated 2000 --labels outcome --kind citer-outcome --output-dir outcome-rounds
""",
)
def iterate(args: argparse.Namespace) -> None:
    """Runs the rounds and prints the table.

    Raises:
        CiterError: wrong input, before anything is loaded; or a folder that holds something else.
    """
    from citer_core.labelling.labels import Ties
    from citer_core.training.iterate import IterateSettings, iterate
    from citer_core.training.router_training import RouterRecipe

    check_rollouts(args)
    if LABELS_OF.get(args.kind, args.labels) != args.labels:
        raise SettingError(f"--kind {args.kind} learns other labels: give --labels {LABELS_OF[args.kind]}.")
    recipe = RouterRecipe(tuple(args.learning_rates), 1024, args.epochs, seed=args.seed)
    settings = filled(IterateSettings, args, recipe=recipe, ties=filled(Ties, args))
    rows = label_rows(args, say)
    problems = _problems(args)
    trained_on = {row_prompt(row, data_type) for row, data_type in rows}
    n_shared = sum(problem.prompt in trained_on for some in problems.values() for problem in some)
    if n_shared:
        raise DatasetError(
            f"{n_shared} problems that rounds are measured on are trained on: give others as --test-path."
        )
    pair = load_engine(args).pair
    reports = []
    for report in iterate(pair, rows, args.output_dir, settings, problems, say):
        reports.append(report)
        say(f"round {report['round']}: AUC {number(report['auc'])}, loss {report['validation_loss']:.5f}")
    print(text_table(*_table(reports)))


def _problems(args: argparse.Namespace) -> Mapping[str, Sequence[Problem]]:
    if args.test_path is not None:
        return {args.test_path.stem: problems_with_answers(args.test_path, args.data_type or "math", args.test_limit)}
    formats: tuple[DataType, ...] = ("math", "mc")
    return {t: [row.problem for row in bundled_rows(t)][: args.test_limit] for t in formats}


def _table(reports: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    names = list(reports[0]["points"])
    head = ["round", "case 3", "prefer SLM", "flips", "loss", "AUC", "ECE", "tau"]
    head += [f"{name} {what}" for name in names for what in ("right", "LLM", "bytes")]
    rows = []
    for report in reports:
        flips = report["n_label_flips"]
        row = [
            str(report["round"]),
            f"{report['n_case_3']}",
            f"{report.get('n_prefer_slm', report['n_case_3_prefer_slm'])}/{report['n_rolled_out']}",
            "" if flips is None else str(flips),
            f"{report['validation_loss']:.5f}",
            number(report["auc"]),
            f"{report['ece']:.4f}",
            f"{report['threshold']:.3f}",
        ]
        for point in (report["points"][name] for name in names):
            shares = (point["accuracy"]["share"], point["llm_token_share"], point["bytes_share"])
            row += [f"{share:.1%}" for share in shares]
        rows.append(row)
    return head, rows
