"""`finetune`: teaches one model to answer in chains of thought, resumable; progress goes to stderr.

Under `accelerate launch` this runs once per GPU: every process reads the same rows, the first one speaks and writes.
Everything that can be wrong with the input is found before a model is loaded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.assets import ASSETS
from citer_core.cli.dataset_arguments import add_training_dataset_arguments, training_rows
from citer_core.cli.terminal import escape_controls
from citer_core.config import launch_rank

if TYPE_CHECKING:
    from citer_core.cli.command import Subparsers
    from citer_core.training.finetune import FinetuneResult

EPILOG = """examples:
  python -m citer_core finetune --model SLM_FOLDER --dataset-path cqa-cot.jsonl --data-type mc \\
      --device cuda --dtype bfloat16 --output slm-cqa
  accelerate launch --num_processes 4 -m citer_core finetune --model LLM_FOLDER --dataset gsm8k --lora-rank 16 \\
      --device cuda --dtype bfloat16 --output llm-gsm8k

The same command resumes a run that was stopped. The result is a checkpoint for --pair "SLM_FOLDER,LLM_FOLDER"; that of
--model embedded goes with --pair FOLDER,embedded.
"""


def add_parser(subparsers: Subparsers) -> None:
    """Adds `finetune` and its arguments."""
    parser = subparsers.add_parser(
        "finetune",
        help="fine-tune one model on chains of thought",
        description="Fine-tunes one model on chains of thought, in full or with LoRA.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--model", required=True, metavar="FOLDER", help='a local checkpoint, or "embedded": the bundled SLM'
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="folder of the result; must not exist yet"
    )
    add_training_dataset_arguments(parser)
    parser.add_argument(
        "--no-chat", action="store_true", help="train on plain prompts, even where there is a chat template"
    )
    size = parser.add_argument_group("training")
    size.add_argument("--device", default="cpu", help="cpu or cuda (%(default)s)")
    size.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32", help="(%(default)s)")
    size.add_argument("--epochs", type=float, default=3.0, metavar="N", help="(%(default)s)")
    size.add_argument("--max-steps", type=int, metavar="N", help="optimizer steps, instead of --epochs")
    size.add_argument("--batch-size", type=int, default=8, metavar="N", help="rows per GPU at once (%(default)s)")
    size.add_argument("--gradient-accumulation", type=int, default=1, metavar="N", help="batches a step (%(default)s)")
    size.add_argument("--learning-rate", type=float, default=1e-5, metavar="RATE", help="(%(default)s)")
    size.add_argument(
        "--warmup-share",
        type=float,
        default=0.03,
        metavar="SHARE",
        help="share of the steps that warms up (%(default)s)",
    )
    size.add_argument(
        "--max-length", type=int, default=1024, metavar="N", help="longer rows are left out (%(default)s)"
    )
    size.add_argument("--lora-rank", type=int, metavar="R", help="train a low-rank adapter and merge it (needs peft)")
    size.add_argument(
        "--save-steps", type=int, default=200, metavar="N", help="steps between checkpoints (%(default)s)"
    )
    size.add_argument("--seed", type=int, default=0, help="(%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Fine-tunes.

    Raises:
        CiterError: wrong input, before anything is loaded; or a result that cannot be written.
    """
    from citer_core.cli.progress import Progress
    from citer_core.training.finetune import Recipe, finetune

    say = _speaker()
    recipe = Recipe(
        dtype=args.dtype,
        n_epochs=args.epochs,
        max_steps=args.max_steps,
        batch_size=args.batch_size,
        gradient_accumulation=args.gradient_accumulation,
        learning_rate=args.learning_rate,
        warmup_share=args.warmup_share,
        max_length=args.max_length,
        lora_rank=args.lora_rank,
        save_steps=args.save_steps,
        seed=args.seed,
    )
    rows = training_rows(args, say)
    embedded = args.model == "embedded"
    result = finetune(
        ASSETS / "models" / "slm" if embedded else Path(args.model).expanduser(),
        rows,
        args.data_type,
        args.output,
        recipe,
        tokenizer_folder=ASSETS / "models" / "tokenizer" if embedded else None,
        chat=False if args.no_chat else None,
        device=args.device,
        callbacks=[Progress()],
    )
    say(_totals(result))
    return 0


def _speaker() -> Callable[[str], None]:
    """Prints in the first process, nothing in the others."""
    if launch_rank() != 0:
        return lambda _: None
    return lambda line: print(escape_controls(line), file=sys.stderr, flush=True)


def _totals(result: FinetuneResult) -> str:
    parts = [f"{result.output}: {result.n_rows} rows, {result.n_steps} steps"]
    if result.n_too_long:
        parts.append(f"{result.n_too_long} rows left out, longer than --max-length")
    if result.losses:
        parts.append(f"loss {result.losses[0][1]:.3f} -> {result.losses[-1][1]:.3f}")
    return " | ".join(parts)
