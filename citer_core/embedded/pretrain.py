"""Trains one model of the bundled pair, resumably: same seed and step, same batch, same weights.

The loop is our own because there is so little of it: the corpus is generated, not read, and the schedule must survive a
kill. Checkpoints are safetensors (weights and optimizer state) beside a JSON file that is written last.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from citer_core.embedded.corpus import held_out_rows, training_texts
from citer_core.embedded.tokenizer import train_tokenizer
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import problem_from_row
from citer_core.tasks.prompts import DataType, row_prompt

log = logging.getLogger(__name__)
# Sequences are padded to the next of these widths: a few, because each is compiled for, and chosen for the lengths that
# closed-book facts, multiple choice, short and long word problems have.
WIDTHS = (32, 64, 96, 128, 192, 256, 512)
MAX_TRAINED = 193  # tokens; the one text in a hundred that is longer is not worth a compilation of its own
IGNORED = -100
SAVE_EVERY, LOG_EVERY, VALIDATE_EVERY = 100, 20, 100  # steps
N_VALIDATION = 200  # problems of each format


@dataclass(frozen=True, slots=True)
class Recipe:
    """Size and schedule of one model of the pair."""

    hidden_size: int
    intermediate_size: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    learning_rate: float
    n_steps: int
    rows_per_step: int = 160
    warmup_steps: int = 60
    decay_share: float = 0.35
    seed: int = 7
    starts_matching: bool = False
    starts_from_first_edition: bool = False  # its weights, not fresh ones
    late_mc_share: float | None = None  # of the rows of the last `late_share` of the steps, multiple choice
    late_share: float = 0.0

    def mc_share(self, step: int) -> float | None:
        """The share of multiple choice in the rows of a step; None for the corpus's own."""
        return self.late_mc_share if step >= self.n_steps * (1 - self.late_share) else None


# Both go on from the first edition's weights, whose only wording is now the most usual one of many.
RECIPES = {
    "slm": Recipe(
        96,
        256,
        3,
        3,
        1,
        32,
        5e-3,
        n_steps=300,
        decay_share=0.0,
        starts_from_first_edition=True,
        late_mc_share=0.15,
        late_share=0.3334,
    ),
    "llm": Recipe(
        256, 640, 6, 4, 2, 64, 1e-3, n_steps=1600, rows_per_step=72, decay_share=0.32, starts_from_first_edition=True
    ),
}


def build_model(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    """A fresh float32 model of the recipe's size, initialized from its seed."""
    torch.manual_seed(recipe.seed)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden_size,
        intermediate_size=recipe.intermediate_size,
        num_hidden_layers=recipe.n_layers,
        num_attention_heads=recipe.n_heads,
        num_key_value_heads=recipe.n_kv_heads,
        head_dim=recipe.head_dim,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
    model = Qwen2ForCausalLM(config)
    if recipe.starts_matching:
        start_matching(model)
    return model


@torch.no_grad()
def start_matching(model: Qwen2ForCausalLM) -> None:
    """Makes every head attend to tokens like its own at first: its query and key matrices are equal.

    Finding an earlier mention of the same word is what multiple choice needs most, and from random weights that skill
    comes late and all at once (mimetic initialization, arXiv 2305.09828, has the idea).
    """
    head_dim = model.config.head_dim
    for layer in model.model.layers:
        query, key = layer.self_attn.q_proj.weight, layer.self_attn.k_proj.weight  # [heads * D, H], [kv_heads * D, H]
        group = query.shape[0] // key.shape[0]
        for j in range(key.shape[0] // head_dim):
            rows = torch.empty(head_dim, key.shape[1])
            nn.init.orthogonal_(rows)
            key[j * head_dim : (j + 1) * head_dim] = 1.2 * rows
            for i in range(j * group, (j + 1) * group):
                query[i * head_dim : (i + 1) * head_dim] = 1.2 * rows


def encode_text(prompt: str, completion: str, tokenizer: PreTrainedTokenizerFast) -> tuple[list[int], int]:
    """Token ids of prompt, completion and end of text, and the number of prompt tokens."""
    prompt_ids = tokenizer.encode(prompt)
    return [*prompt_ids, *tokenizer.encode(completion), tokenizer.eos_token_id], len(prompt_ids)


def collate(rows: Iterable[tuple[list[int], int]]) -> Iterator[tuple[Tensor, Tensor]]:
    """Groups encoded rows by padded length: input ids [B, T] and next-token targets [B, T], both int64.

    Targets are `IGNORED` in the prompt and behind the end. Rows are padded on the right, so causal attention needs no
    mask. A row without targets keeps a lone one company.
    """
    buckets: dict[int, list[tuple[list[int], int]]] = {}
    for ids, n_prompt in rows:
        width = next(width for width in WIDTHS if width >= len(ids) - 1)
        buckets.setdefault(width, []).append((ids, n_prompt))
    for width, members in sorted(buckets.items()):
        n_rows = max(2, len(members))  # a lone row would be compiled for by itself
        inputs = torch.zeros(n_rows, width, dtype=torch.long)
        targets = torch.full((n_rows, width), IGNORED)
        for i, (ids, n_prompt) in enumerate(members):
            inputs[i, : len(ids) - 1] = torch.tensor(ids[:-1])
            targets[i, n_prompt - 1 : len(ids) - 1] = torch.tensor(ids[n_prompt:])
        yield inputs, targets


def learning_rate_share(step: int, recipe: Recipe) -> float:
    """Warm-up, plateau, then linear decay to zero over the last `decay_share` of the steps (none where it is 0)."""
    warm = min(1.0, (step + 1) / recipe.warmup_steps)
    if recipe.decay_share == 0.0:
        return warm
    return min(warm, (recipe.n_steps - step) / (recipe.n_steps * recipe.decay_share))


def build_optimizers(model: nn.Module, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the blocks, AdamW for embeddings, norms and biases."""
    hidden = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    hidden_ids = {id(p) for p in hidden}
    rest = [p for p in model.parameters() if id(p) not in hidden_ids]
    return [
        torch.optim.Muon(hidden, lr=recipe.learning_rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


@torch.no_grad()
def greedy_accuracy(
    model: Qwen2ForCausalLM, tokenizer: PreTrainedTokenizerFast, data_type: DataType, n_rows: int
) -> float:
    """Share of validation problems that the model's greedy text answers right, whatever its wording."""
    rows = list(islice(held_out_rows(data_type, "validation"), n_rows))
    prompts = [tokenizer.encode(row_prompt(row, data_type)) for row in rows]
    width = max(map(len, prompts))
    pad = int(tokenizer.eos_token_id)
    inputs = torch.tensor([[pad] * (width - len(ids)) + ids for ids in prompts])
    mask = torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts])
    output = model.generate(input_ids=inputs, attention_mask=mask, max_new_tokens=MAX_TRAINED, do_sample=False)
    texts = tokenizer.batch_decode(output[:, width:], skip_special_tokens=True)
    right = sum(
        bool(check_answer(text, problem_from_row(row, data_type)).is_correct)
        for text, row in zip(texts, rows, strict=True)
    )
    return right / n_rows


def _save(folder: Path, model: nn.Module, optimizers: list[torch.optim.Optimizer], state: dict[str, float]) -> None:
    tensors = {f"model.{k}": v for k, v in model.state_dict().items() if k != "lm_head.weight"}
    for i, optimizer in enumerate(optimizers):
        for j, entry in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{i}.{j}.{k}": torch.as_tensor(v) for k, v in entry.items()}
    save_file({k: v.contiguous() for k, v in tensors.items()}, folder / "next.safetensors")
    (folder / "next.safetensors").replace(folder / f"step-{state['step']}.safetensors")
    (folder / "next.json").write_text(json.dumps(state))
    (folder / "next.json").replace(folder / "state.json")
    for old in folder.glob("step-*.safetensors"):
        if old.name != f"step-{state['step']}.safetensors":
            old.unlink()


def _load_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Puts stored weights, of whatever dtype, into the float32 model; the output matrix is the embedding's."""
    missing, unexpected = model.load_state_dict({k: v.float() for k, v in weights.items()}, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)


def _restore(folder: Path, model: nn.Module, optimizers: list[torch.optim.Optimizer]) -> dict[str, float]:
    if not (folder / "state.json").exists():
        return {"step": 0, "tokens": 0, "seconds": 0.0}
    state: dict[str, float] = json.loads((folder / "state.json").read_text())
    tensors = load_file(folder / f"step-{state['step']}.safetensors")
    weights = {k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")}
    _load_weights(model, weights)
    for i, optimizer in enumerate(optimizers):
        entries: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.items():
            if key.startswith(f"optimizer.{i}."):
                _, _, j, name = key.split(".")
                entries.setdefault(int(j), {})[name] = value
        optimizer.load_state_dict({"state": entries, "param_groups": optimizer.state_dict()["param_groups"]})
    return state


def tokenizer_for(folder: Path) -> PreTrainedTokenizerFast:
    """The pair's tokenizer in `folder`, trained there on 20,000 rows if it does not exist yet."""
    if (folder / "tokenizer.json").exists():
        return PreTrainedTokenizerFast.from_pretrained(folder)
    texts = training_texts(seed=0, step=0, n=20_000)
    return train_tokenizer((prompt + completion for prompt, completion in texts), folder)


def pretrain(
    recipe: Recipe,
    tokenizer: PreTrainedTokenizerFast,
    work_dir: Path,
    *,
    first_weights: Path | None = None,
    compiled: bool = True,
) -> Qwen2ForCausalLM:
    """Trains to `recipe.n_steps`, saving every `SAVE_EVERY` steps in `work_dir` and starting from what is saved there.

    Returns:
        The trained float32 model. `work_dir/log.jsonl` has loss, speed and validation accuracy by step.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    model = build_model(recipe, tokenizer)
    if first_weights is not None:
        _load_weights(model, load_file(first_weights))
    optimizers = build_optimizers(model, recipe)
    state = _restore(work_dir, model, optimizers)
    forward = torch.compile(model) if compiled else model
    while state["step"] < recipe.n_steps:
        step, start = int(state["step"]), time.perf_counter()
        texts = training_texts(recipe.seed, step, recipe.rows_per_step, mc_share=recipe.mc_share(step))
        encoded = (encode_text(*text, tokenizer) for text in texts)
        batches = list(collate(text for text in encoded if len(text[0]) <= MAX_TRAINED))
        n_targets = sum(int((targets != IGNORED).sum()) for _, targets in batches)
        total = 0.0
        for inputs, targets in batches:
            torch._dynamo.maybe_mark_dynamic(inputs, 0)  # one compilation per width, not one per number of rows
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = forward(input_ids=inputs, use_cache=False).logits
            loss = F.cross_entropy(
                logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED, reduction="sum"
            )
            (loss / n_targets).backward()
            total += float(loss.detach())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = recipe.learning_rate * learning_rate_share(step, recipe)
            optimizer.step()
            optimizer.zero_grad()
        state["step"] += 1
        state["tokens"] += sum(inputs.numel() for inputs, _ in batches)
        state["seconds"] += time.perf_counter() - start
        if state["step"] % LOG_EVERY == 0 or state["step"] == recipe.n_steps:
            entry = {**state, "loss": total / n_targets, "tokens_per_s": state["tokens"] / state["seconds"]}
            if state["step"] % VALIDATE_EVERY == 0 or state["step"] == recipe.n_steps:
                entry |= {f"accuracy_{t}": greedy_accuracy(model, tokenizer, t, N_VALIDATION) for t in ("math", "mc")}
            with (work_dir / "log.jsonl").open("a") as file:
                file.write(json.dumps(entry) + "\n")
            log.info("%s", entry)
        if state["step"] % SAVE_EVERY == 0 or state["step"] == recipe.n_steps:
            _save(work_dir, model, optimizers, state)
    return model
