"""Chain-of-thought fine-tuning of one model with transformers' Trainer, in full or with LoRA.

The loss is on the completion and its end of text, never on the prompt, which is the one that inference uses. Weights
stay in float32 while `bfloat16` computes under autocast: a bfloat16 weight swallows updates of a usual learning rate.
With LoRA the frozen weights are in the chosen dtype and only the adapter is in float32.

    OUTPUT.training/checkpoint-N/    Trainer's, while it runs; the newest complete one is resumed
    OUTPUT.training/run.json         what the run is; another run is refused there (`run_folder`)
    OUTPUT/                          the result, an ordinary checkpoint, under its name only when it is complete

Knows nothing about data files or the command line. Several processes each call `finetune`; the first one writes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from citer_core.config import launch_rank
from citer_core.errors import DatasetError, MachineError, ModelFileError, SettingError
from citer_core.file_lock import only_writer
from citer_core.files import is_write_failure, why
from citer_core.models.checkpoint import DTYPES, load_checkpoint
from citer_core.models.config_file import context_length
from citer_core.models.hashes import FILES, NOTE, sums_of
from citer_core.models.prompt_form import PromptForm
from citer_core.models.revision import weights_revision
from citer_core.tasks.datasets import NumberedRow
from citer_core.tasks.prompts import PROMPT_VERSION, DataType, row_completion
from citer_core.training.run_folder import last_complete_checkpoint, open_work_dir

IGNORED = -100  # what the models' loss skips
PEFT_PIN = "peft==0.21.2"
KEPT = "The last checkpoint is kept: make room and run the same command again."


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is fine-tuned.

    Attributes:
        dtype: `float32` or `bfloat16`; of the computation and of the saved weights.
        n_epochs: passes over the rows; ignored where `max_steps` is given.
        max_steps: optimizer steps.
        batch_size: rows per process and forward pass.
        gradient_accumulation: forward passes per optimizer step.
        learning_rate: peak; linear warm-up over `warmup_share` of the steps, then linear decay to 0.
        warmup_share: in [0, 1).
        max_length: tokens of prompt, completion and end of text; longer rows are left out.
        lora_rank: of a low-rank adapter on every linear layer, merged into the saved weights; None trains all weights.
        save_steps: optimizer steps between two checkpoints.
        seed: of the order of the rows and of the adapter's first weights.

    Raises:
        SettingError: a value outside its range.
    """

    dtype: str = "float32"
    n_epochs: float = 3.0
    max_steps: int | None = None
    batch_size: int = 8
    gradient_accumulation: int = 1
    learning_rate: float = 1e-5
    warmup_share: float = 0.03
    max_length: int = 1024
    lora_rank: int | None = None
    save_steps: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "bfloat16"):
            raise SettingError(f'dtype is "{self.dtype}": train in float32 or bfloat16.')
        for name in ("batch_size", "gradient_accumulation", "max_length", "save_steps", "max_steps", "lora_rank"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingError(f"{name} is {value}: give a whole number from 1.")
        for name, ok, allowed in (
            ("n_epochs", 0 < self.n_epochs <= 1000, "above 0, to 1000"),
            ("learning_rate", 0 < self.learning_rate <= 1, "above 0, to 1"),
            ("warmup_share", 0 <= self.warmup_share < 1, "from 0, below 1"),
            ("seed", 0 <= self.seed < 2**32, "a whole number from 0, below 2**32"),
        ):
            if not ok:
                raise SettingError(f"{name} is {getattr(self, name)}: give a number {allowed}.")


@dataclass(frozen=True, slots=True)
class FinetuneResult:
    """What came out.

    Attributes:
        output: the checkpoint's folder.
        n_rows, n_too_long: rows trained on, and rows left out.
        n_steps: optimizer steps in total.
        losses: (step, mean loss since the last entry) in order, of the whole run.
    """

    output: Path
    n_rows: int
    n_too_long: int
    n_steps: int
    losses: tuple[tuple[int, float], ...]


def finetune(
    model_folder: Path,
    rows: Sequence[NumberedRow],
    data_type: DataType,
    output: Path,
    recipe: Recipe,
    *,
    tokenizer_folder: Path | None = None,
    chat: bool | None = None,
    device: str = "cpu",
    callbacks: Iterable[TrainerCallback] = (),
) -> FinetuneResult:
    """Fine-tunes a model, going on from where an earlier run with the same arguments stopped.

    Args:
        model_folder: a local transformers checkpoint.
        rows: with a completion each (`cot`, or `solution`).
        data_type: of the rows.
        output: folder of the result; must not exist.
        recipe: see there.
        tokenizer_folder: where the tokenizer is, if not in `model_folder`.
        chat: whether prompts go through the chat template, as they will in use; None does so where there is one.
        device: `cpu` or `cuda`. Which GPU a process takes is `accelerate launch`'s or CUDA_VISIBLE_DEVICES' business.
        callbacks: told about the progress.

    Raises:
        SettingError: a wrong device, LoRA without peft, or more than the GPU's memory holds.
        DatasetError: a row without a completion, or no row that fits `max_length`.
        ModelFileError: the model cannot be read, the output exists, or its training folder is another run's.
        MachineError: nothing can be written any more; the last checkpoint stays.
    """
    _check(output, device, recipe)
    texts = completions(rows, data_type)
    work_dir = output.with_name(output.name + ".training")
    weights_dtype = "float32" if recipe.lora_rank is None else recipe.dtype
    model, form, eos_id = load_checkpoint(
        model_folder, tokenizer_folder=tokenizer_folder, dtype=weights_dtype, chat=chat
    )
    encoded = [encode_row(row.problem.prompt, text, form, eos_id) for row, text in zip(rows, texts, strict=True)]
    limit = min(recipe.max_length, context_length(model.config))
    fitting = [row for row in encoded if len(row["input_ids"]) <= limit]
    if not fitting:
        raise DatasetError(f"None of the {len(rows)} rows fits {limit} tokens: raise --max-length.")
    arguments = _training_arguments(recipe, work_dir, device)
    identity = {
        "prompt_version": PROMPT_VERSION,
        "model_revision": weights_revision(model),
        "rows": hashlib.sha256(json.dumps(fitting).encode()).hexdigest()[:16],
        "n_processes": arguments.world_size,
        **asdict(recipe),
        **({"prompt_form": form.name} if form.chat else {}),
    }
    with ExitStack() as held:
        with arguments.main_process_first(desc="opening the training folder"):
            open_work_dir(work_dir, identity)
            if launch_rank() == 0:  # the others of one launch belong together
                held.enter_context(only_writer(work_dir / "run"))
        losses, n_steps = _train(model, form, eos_id, fitting, arguments, recipe, output, callbacks)
    return FinetuneResult(output, len(fitting), len(encoded) - len(fitting), n_steps, losses)


def _train(
    model: PreTrainedModel,
    form: PromptForm,
    eos_id: int,
    fitting: list[dict[str, list[int]]],
    arguments: TrainingArguments,
    recipe: Recipe,
    output: Path,
    callbacks: Iterable[TrainerCallback],
) -> tuple[tuple[tuple[int, float], ...], int]:
    """Trains and saves; gives the losses by step, and how many steps there were."""
    work_dir = Path(arguments.output_dir)
    if recipe.lora_rank is not None:
        model = _with_adapter(model, recipe)
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=fitting,
        data_collator=lambda batch: collate(batch, eos_id),
        callbacks=list(callbacks),
    )
    trainer.remove_callback(PrinterCallback)  # it prints to stdout, which is for results
    try:
        trainer.train(resume_from_checkpoint=last_complete_checkpoint(work_dir))
    except torch.OutOfMemoryError as error:
        raise SettingError(
            f"The GPU's memory is full at --batch-size {recipe.batch_size}: lower it and raise --gradient-accumulation "
            "by as much, or lower --max-length, or train an adapter with --lora-rank."
        ) from error
    except Exception as error:
        if not is_write_failure(error):
            raise
        raise MachineError(f"{work_dir} can no longer be written ({why(error)}). {KEPT}") from error
    if trainer.is_world_process_zero():
        _save(trainer.accelerator.unwrap_model(trainer.model), form.tokenizer, output, recipe)
        shutil.rmtree(work_dir)
    trainer.accelerator.wait_for_everyone()
    trainer.accelerator.end_training()
    losses = tuple((int(entry["step"]), float(entry["loss"])) for entry in trainer.state.log_history if "loss" in entry)
    return losses, trainer.state.global_step


def _check(output: Path, device: str, recipe: Recipe) -> None:
    if output.exists():
        raise ModelFileError(f"{output} exists: choose another --output, or remove it.")
    if device not in ("cpu", "cuda"):
        raise SettingError(
            f'device is "{device}": train on cpu or cuda. Choose among GPUs with CUDA_VISIBLE_DEVICES, and use several '
            "through `accelerate launch -m citer_core finetune ...`."
        )
    if device == "cuda" and not torch.cuda.is_available():
        raise SettingError("device is cuda, but torch sees no GPU here: train on cpu, or install torch for CUDA.")
    if recipe.lora_rank is not None and importlib.util.find_spec("peft") is None:
        raise SettingError(f"LoRA needs peft, which is not installed: run `pip install {PEFT_PIN}`, or train without.")


def _training_arguments(recipe: Recipe, work_dir: Path, device: str) -> TrainingArguments:
    arguments = TrainingArguments(
        output_dir=str(work_dir),
        use_cpu=device == "cpu",
        bf16=recipe.dtype == "bfloat16",
        num_train_epochs=recipe.n_epochs,
        max_steps=recipe.max_steps or -1,
        per_device_train_batch_size=recipe.batch_size,
        gradient_accumulation_steps=recipe.gradient_accumulation,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.warmup_share,  # below 1 it is a share
        lr_scheduler_type="linear",
        seed=recipe.seed,
        data_seed=recipe.seed,
        logging_steps=1 if recipe.max_steps is not None and recipe.max_steps <= 50 else 10,
        logging_first_step=True,
        save_strategy="steps",
        save_steps=recipe.save_steps,
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,  # its bar goes to stdout when it logs
        remove_unused_columns=False,
        dataloader_pin_memory=device == "cuda",
        ddp_find_unused_parameters=False,  # every weight that is trained has a gradient in every step
    )
    if arguments.n_gpu > 1:
        # Without a launcher Trainer would split each batch over all visible GPUs by threads; one is what was asked for.
        arguments._n_gpu = 1
    return arguments


def _with_adapter(model: PreTrainedModel, recipe: Recipe) -> Any:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(recipe.seed)
    assert recipe.lora_rank is not None
    config = LoraConfig(
        r=recipe.lora_rank, lora_alpha=2 * recipe.lora_rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    with warnings.catch_warnings():  # this version of peft asks transformers by a name that has become an old one
        warnings.filterwarnings("ignore", message=".*is_gradient_checkpointing", category=FutureWarning)
        return get_peft_model(model, config)


def _save(model: Any, tokenizer: PreTrainedTokenizerBase, output: Path, recipe: Recipe) -> None:
    if recipe.lora_rank is not None:
        model = model.merge_and_unload()
    partial = output.with_name(output.name + ".part")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        model.to(DTYPES[recipe.dtype]).save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        # Weights only: a person may well change how their model is prompted.
        sums = sums_of(partial, [path.name for path in partial.glob("*.safetensors")])
        (partial / NOTE).write_text(json.dumps({FILES: sums}, indent=2) + "\n", encoding="utf-8")
        partial.rename(output)
    except Exception as error:
        if not is_write_failure(error):
            raise
        shutil.rmtree(partial, ignore_errors=True)  # it takes the room that is needed
        raise MachineError(f"{output} cannot be written ({why(error)}). {KEPT}") from error


def completions(rows: Sequence[NumberedRow], data_type: DataType) -> list[str]:
    """What each row teaches: its `cot`, or its `solution`.

    Raises:
        DatasetError: a row has neither.
    """
    found: list[str] = []
    for row in rows:
        try:
            found.append(row_completion(row.row, data_type))
        except KeyError as error:
            raise DatasetError(
                f'Row {row.number} ("{row.id}") has no {error}, so there is nothing to learn from it: run `make-cot` '
                "on the data set first and give its output."
            ) from error
    return found


def encode_row(prompt: str, completion: str, form: PromptForm, eos_id: int) -> dict[str, list[int]]:
    """Token ids of a row and their labels: `IGNORED` on the prompt, the ids themselves up to and with `eos_id`."""
    prompt_ids = form.encode(prompt)
    completion_ids = [*form.encode_completion(completion), eos_id]
    return {"input_ids": prompt_ids + completion_ids, "labels": [IGNORED] * len(prompt_ids) + completion_ids}


def collate(rows: Sequence[Mapping[str, list[int]]], pad_id: int) -> dict[str, Tensor]:
    """Rows padded on the right to the longest: `input_ids`, `attention_mask` and `labels`, each [B, T] int64."""
    width = max(len(row["input_ids"]) for row in rows)
    columns = {"input_ids": pad_id, "attention_mask": 0, "labels": IGNORED}
    batch = {name: torch.full((len(rows), width), fill) for name, fill in columns.items()}
    for i, row in enumerate(rows):
        n = len(row["input_ids"])
        batch["input_ids"][i, :n] = torch.tensor(row["input_ids"])
        batch["attention_mask"][i, :n] = 1
        batch["labels"][i, :n] = torch.tensor(row["labels"])
    return batch


class Progress(TrainerCallback):  # type: ignore[misc]  # transformers' lazy imports hide the class
    """Told by Trainer what happens; silent in all processes but the first."""

    def __init__(self) -> None:
        self._bar: Any = None

    def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Draws the bar where the run is, which is not 0 when it resumes."""
        if not state.is_world_process_zero:
            return
        if state.global_step:
            tqdm.write(f"resuming at step {state.global_step} of {state.max_steps}", file=sys.stderr)
        # A bar in a log file is a page of half-drawn bars.
        quiet = not sys.stderr.isatty()
        self._bar = tqdm(total=state.max_steps, initial=state.global_step, unit="step", disable=quiet)

    def on_step_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Moves the bar by one optimizer step."""
        if self._bar is not None:
            self._bar.update(1)

    def on_log(self, _args: Any, state: Any, _control: Any, logs: Any = None, **_: Any) -> None:
        """Writes the mean loss since the last line."""
        if self._bar is not None and logs and "loss" in logs:
            line = f"step {state.global_step}/{state.max_steps} | loss {float(logs['loss']):.4f}"
            tqdm.write(line, file=sys.stderr)

    def on_train_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Closes the bar."""
        if self._bar is not None:
            self._bar.close()
