"""`train-router`: a router of any kind from a folder of labels; needs no models."""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.cli.label_arguments import add_tie_arguments, ties_of
from citer_core.cli.tables import number
from citer_core.cli.terminal import say
from citer_core.errors import MachineError, SettingError
from citer_core.file_lock import only_writer
from citer_core.files import need_folder

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.routing.stored import StoredRouter

DEFAULTS: dict[str, Any] = {
    "learning_rates": [3e-4, 1e-3],
    "batch_size": 512,
    "epochs": 100,
    "patience": 5,
    "seed": 0,
}
SHOWN_TAUS = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95)
KINDS = (
    "citer", "citer-plus", "citer-outcome", "citer-outcome-mlp", "citer-s-a", "citer-s-b", "co-llm", "query-level"
)  # fmt: skip
# The labels that a kind learns; the others take either.
LABELS_OF = {
    **dict.fromkeys(("citer", "citer-plus"), "published"),
    **dict.fromkeys(("citer-outcome", "citer-outcome-mlp"), "outcome"),
}
EPILOG = """kinds:
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
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `train-router` and its arguments."""
    parser = subparsers.add_parser(
        "train-router",
        help="train a router on labels",
        description="Trains a router: split by question, early stopping, the best checkpoint kept, a card written.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--labels", type=Path, nargs="+", required=True, metavar="DIR", help="folders that `label` wrote, of one pair"
    )
    parser.add_argument("--kind", choices=KINDS, default="citer", help="(%(default)s)")
    parser.add_argument("--name", metavar="NAME", help="name of the router and its two files (the kind)")
    parser.add_argument("--output-dir", type=Path, required=True, metavar="DIR", help="for NAME.json, NAME.safetensors")
    parser.add_argument(
        "--learning-rates",
        type=float,
        nargs="+",
        metavar="LR",
        help="one or more; all are tried (%(default)s)",
    )
    parser.add_argument("--batch-size", type=int, metavar="N", help="tokens per step (%(default)s)")
    parser.add_argument("--epochs", type=int, metavar="N", help="most epochs (%(default)s)")
    parser.add_argument("--patience", type=int, metavar="N", help="epochs without progress (%(default)s)")
    parser.add_argument(
        "--share", type=float, default=0.2, help="LLM tokens that the card's recommended tau aims at (%(default)s)"
    )
    add_tie_arguments(parser)
    parser.add_argument("--bfloat16", action="store_true", help="store matrices in bfloat16: half the file")
    parser.add_argument("--seed", type=int, help="(%(default)s)")
    parser.set_defaults(**DEFAULTS)


def run(args: argparse.Namespace) -> int:
    """Trains and writes.

    Raises:
        CiterError: the labels cannot be read, or are not enough; or the folder cannot be written.
    """
    from citer_core.labelling.label_folders import load_label_folders
    from citer_core.training.publish_router import train_and_describe
    from citer_core.training.router_training import RouterRecipe

    if not 0 < args.share < 1:
        raise SettingError(f"--share is {args.share}: give a number between 0 and 1.")
    if args.name is not None and (not args.name or Path(args.name).name != args.name):
        raise SettingError(f"--name is {args.name!r}: give a plain file name; --output-dir says where.")
    logging.getLogger("citer_core.training").setLevel(logging.INFO)
    recipe = RouterRecipe(tuple(args.learning_rates), args.batch_size, args.epochs, args.patience, seed=args.seed)
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
            command=_command(args),
            name=args.name,
            ties=ties_of(args),
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
    return 0


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


def _command(args: argparse.Namespace) -> str:
    """What makes this router again, without the places of files."""
    words = ["python -m citer_core train-router --labels", *(folder.absolute().name for folder in args.labels)]
    words += ["--kind", args.kind, "--share", f"{args.share:g}"]
    for option, default in DEFAULTS.items():
        value = getattr(args, option)
        if value != default:
            numbers = value if isinstance(value, list) else [value]
            words += ["--" + option.replace("_", "-"), *(f"{number:g}" for number in numbers)]
    if LABELS_OF.get(args.kind) == "outcome":
        words += ["--both-fail", args.both_fail, "--both-right", args.both_right]
    return " ".join([*words, *(["--bfloat16"] if args.bfloat16 else [])])
