"""`finetune`: teaches one model to answer in chains of thought, resumable; progress goes to stderr.

Under `accelerate launch` this runs once per GPU: every process reads the same rows, the first one speaks and writes.
Everything that can be wrong with the input is found before a model is loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from citer_core.assets import ASSETS
from citer_core.cli.command import command, group, option, switch
from citer_core.cli.dataset_arguments import TRAINING_DATA, training_rows
from citer_core.cli.terminal import say
from citer_core.config import launch_rank
from citer_core.gate.dataclass_kind import filled

if TYPE_CHECKING:
    from citer_core.training.finetune import FinetuneResult


@command(
    "finetune",
    "fine-tune one model on chains of thought",
    "Fine-tunes one model on chains of thought, in full or with LoRA.",
    option("--model FOLDER", 'a local checkpoint, or "embedded": the bundled SLM', required=True),
    option("--output FOLDER", "folder of the result; must not exist yet", type=Path, required=True),
    TRAINING_DATA,
    switch("--no-chat", "train on plain prompts, even where there is a chat template"),
    group(
        "training",
        option("--device", "cpu or cuda", "cpu"),
        option("--dtype", default="float32", choices=("float32", "bfloat16")),
        option("--epochs N", default=3.0, dest="n_epochs"),
        option("--max-steps N", "optimizer steps, instead of --epochs", type=int),
        option("--batch-size N", "rows per GPU at once", 8),
        option("--gradient-accumulation N", "batches a step", 1),
        option("--learning-rate RATE", default=1e-5),
        option("--warmup-share SHARE", "share of the steps that warms up", 0.03),
        option("--max-length N", "longer rows are left out", 1024),
        option("--lora-rank R", "train a low-rank adapter and merge it (needs peft)", type=int),
        option("--save-steps N", "steps between checkpoints", 200),
        option("--seed", default=0),
    ),
    epilog="""examples:
  python -m citer_core finetune --model SLM_FOLDER --dataset-path cqa-cot.jsonl --data-type mc \\
      --device cuda --dtype bfloat16 --output slm-cqa
  accelerate launch --num_processes 4 -m citer_core finetune --model LLM_FOLDER --dataset gsm8k --lora-rank 16 \\
      --device cuda --dtype bfloat16 --output llm-gsm8k

The same command resumes a run that was stopped. The result is a checkpoint for --pair "SLM_FOLDER,LLM_FOLDER"; that of
--model embedded goes with --pair FOLDER,embedded.
""",
)
def finetune(args: argparse.Namespace) -> None:
    """Fine-tunes.

    Raises:
        CiterError: wrong input, before anything is loaded; or a result that cannot be written.
    """
    from citer_core.training.finetune import Progress, Recipe, finetune

    tell = _speaker()
    recipe = filled(Recipe, args)
    rows = training_rows(args, tell)
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
    tell(_totals(result))


def _speaker() -> Callable[[str], None]:
    """Prints in the first process, nothing in the others."""
    return say if launch_rank() == 0 else lambda _: None


def _totals(result: FinetuneResult) -> str:
    parts = [f"{result.output}: {result.n_rows} rows, {result.n_steps} steps"]
    if result.n_too_long:
        parts.append(f"{result.n_too_long} rows left out, longer than --max-length")
    if result.losses:
        parts.append(f"loss {result.losses[0][1]:.3f} -> {result.losses[-1][1]:.3f}")
    return " | ".join(parts)
