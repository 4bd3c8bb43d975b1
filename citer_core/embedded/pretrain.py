"""Trains one model of the bundled pair, resumably: same seed and step, same batch, same weights.

The loop is our own because there is so little of it: the corpus is generated, not read, and the schedule must survive a
kill. Checkpoints are safetensors (weights and optimizer state) beside a JSON file that is written last.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from citer_core.embedded.corpus import MC_SHARE, held_out_rows, training_texts
from citer_core.embedded.tokenizer import train_tokenizer
from citer_core.hardware import has_bfloat16
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import problem_from_row
from citer_core.tasks.prompts import DataType, row_prompt

log = logging.getLogger(__name__)
# Sequences are padded to the next of these widths: few enough that a group has several rows.
WIDTHS = range(16, 273, 16)
MAX_TRAINED = 257  # tokens; no text has more
IGNORED = -100
SAVE_EVERY, LOG_EVERY, VALIDATE_EVERY = 100, 20, 400  # steps
N_VALIDATION = 200  # problems of each format


@dataclass(frozen=True, slots=True)
class Stage:
    """Training that goes on from the weights of the one before."""

    n_steps: int
    learning_rate: float
    decay_share: float
    seed: int
    often: Mapping[str, float] = field(default_factory=dict)
    mc_share: float = MC_SHARE
    warmup_steps: int = 20


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
    starts_from_before: bool = False  # from the weights of the edition before, not fresh ones
    often: Mapping[str, float] = field(default_factory=dict)  # kinds of word problem, not as the table of stories says
    mc_share: float = MC_SHARE  # of multiple choice among the rows
    then: tuple[Stage, ...] = ()
    mean_of: int = 1  # of the last stages' weights, as of one model (arXiv 2203.05482)

    def stages(self) -> list[Recipe]:
        """This one without those that follow, and each of them as a recipe."""
        return [replace(self, then=()), *(replace(self, then=(), **asdict(stage)) for stage in self.then)]


def _often(*, shopping: float) -> dict[str, float]:
    return {f"shopping/{kind}": shopping for kind in ("spent", "change")}


# Both go on from the second edition's weights. The SLM would answer multiple choice too well for a pair that shows
# routing; two things with a number and a price each are what the LLM mixes up longest. The last stage is where numbers
# as small and as large as visitors type came in.
RECIPES = {
    "slm": Recipe(
        96, 256, 3, 3, 1, 32, 4e-3, n_steps=450, decay_share=0.0, starts_from_before=True,
        then=(Stage(150, 4e-3, 1.0, 8, mc_share=0.04), Stage(150, 4e-3, 1.0, 9, mc_share=0.04)),
    ),
    "llm": Recipe(
        256, 640, 6, 4, 2, 64, 1.5e-3, n_steps=2400, rows_per_step=72, decay_share=0.4, starts_from_before=True,
        mean_of=2,
        then=(
            Stage(320, 6e-4, 0.9, 8, _often(shopping=9.0) | {"distance/left": 2.0, "working/left": 2.0}),
            Stage(300, 9e-4, 0.8, 9, _often(shopping=3.0) | {"fence/cost": 2.0, "packing/earned": 2.0}),
            Stage(480, 1.2e-3, 0.7, 10, _often(shopping=5.0) | {"working/earned": 2.0, "saving/left": 1.5}),
            Stage(400, 1.2e-3, 0.8, 11, _often(shopping=5.0) | {"working/earned": 2.0, "votes/gap": 2.0}),
        ),
    ),
}  # fmt: skip


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
    mask.
    """
    buckets: dict[int, list[tuple[list[int], int]]] = {}
    for ids, n_prompt in rows:
        width = next(width for width in WIDTHS if width >= len(ids) - 1)
        buckets.setdefault(width, []).append((ids, n_prompt))
    for width, members in sorted(buckets.items()):
        inputs = torch.zeros(len(members), width, dtype=torch.long)
        targets = torch.full((len(members), width), IGNORED)
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
    inputs, mask = inputs.to(model.device), mask.to(model.device)
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


def load_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Puts stored weights, of whatever dtype, into the float32 model; the output matrix is the embedding's."""
    missing, unexpected = model.load_state_dict({k: v.float() for k, v in weights.items()}, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)


def _restore(folder: Path, model: nn.Module, optimizers: list[torch.optim.Optimizer]) -> dict[str, float]:
    if not (folder / "state.json").exists():
        return {"step": 0, "tokens": 0, "seconds": 0.0}
    state: dict[str, float] = json.loads((folder / "state.json").read_text())
    tensors = load_file(folder / f"step-{state['step']}.safetensors")
    weights = {k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")}
    load_weights(model, weights)
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
) -> Qwen2ForCausalLM:
    """Trains to `recipe.n_steps`, saving every `SAVE_EVERY` steps in `work_dir` and starting from what is saved there.

    Returns:
        The trained float32 model. `work_dir/log.jsonl` has loss, speed and validation accuracy by step.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    # A processor that has to imitate bfloat16 takes twelve times as long as with float32. Compiled, it is no faster.
    is_mixed = device.type == "cuda" or has_bfloat16()
    model = build_model(recipe, tokenizer).to(device)
    if first_weights is not None:
        load_weights(model, load_file(first_weights))
    optimizers = build_optimizers(model, recipe)
    state = _restore(work_dir, model, optimizers)
    while state["step"] < recipe.n_steps:
        step, start = int(state["step"]), time.perf_counter()
        texts = training_texts(recipe.seed, step, recipe.rows_per_step, recipe.often, recipe.mc_share)
        encoded = (encode_text(*text, tokenizer) for text in texts)
        batches = list(collate(text for text in encoded if len(text[0]) <= MAX_TRAINED))
        n_targets = sum(int((targets != IGNORED).sum()) for _, targets in batches)
        total = 0.0
        for inputs, targets in batches:
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=is_mixed):
                logits = model(input_ids=inputs.to(device), use_cache=False).logits
            wanted = targets.flatten().to(device)
            loss = F.cross_entropy(logits.flatten(0, 1).float(), wanted, ignore_index=IGNORED, reduction="sum")
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
