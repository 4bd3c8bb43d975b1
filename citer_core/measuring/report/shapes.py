"""`ReportPlan`: how much of each part of a report is measured, and on which pairs: of the real sizes with random
weights, made on the device, because what a step takes does not depend on what they say.

So a machine without network measures models that were not brought there. How often two such models agree means nothing.
Knows nothing about what is measured; called by `bench`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel, PreTrainedTokenizerFast, Qwen2Config

from citer_core.cost import LLAMA31_8B, LLAMA31_70B, ModelSpec
from citer_core.measuring.profile_numbers import ProfilePlan
from citer_core.models.pair import ModelPair
from citer_core.models.presets import PRESETS
from citer_core.models.spec import model_bytes

SHARES = (0.0, 0.1, 0.2, 0.3, 1.0)
SEED = 0
ROOM = 0.85  # of a device's free memory that weights and one text may take; the rest is for passes, graphs and batches
MAX_CONTEXT = 8192
NAMED = ("qwen2-1.5b-7b", "qwen2.5-0.5b-7b")
# The published weights say how many numbers there are, and so how wide an inner layer is.
QWEN25_14B = ModelSpec("Qwen2.5-14B", 14_770_033_664, 48, 40, 8, 128, 152_064, 5120, False)
QWEN25_32B = ModelSpec("Qwen2.5-32B", 32_763_876_352, 64, 40, 8, 128, 152_064, 5120, False)
_TINY_SLM = ModelSpec("Qwen2 tiny A", 172_608, 2, 4, 2, 16, 1536, 64, True)
_TINY_LLM = ModelSpec("Qwen2 tiny B", 952_192, 4, 8, 2, 16, 1536, 128, False)
_TINY_LLAMA = ModelSpec("Llama tiny", 172_352, 2, 4, 2, 16, 1536, 64, True)


@dataclass(frozen=True, slots=True)
class PairShape:
    """A pair by its sizes alone; `name` is its key in the report."""

    name: str
    slm: ModelSpec
    llm: ModelSpec

    def n_bytes(self, dtype: str) -> int:
        """Estimated bytes of both models with a text of 2,048 tokens."""
        return model_bytes(self.slm, dtype) + model_bytes(self.llm, dtype)


TINY_SHAPES = (PairShape("tiny", _TINY_SLM, _TINY_LLM), PairShape("tiny-llama", _TINY_LLAMA, _TINY_LLM))


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """How much.

    Attributes:
        shapes: pairs with random weights; the first is the one that everything is measured on.
        dtype: of those.
        n_prompts, n_checked: prompts whose tokens are compared on the bundled pair, and new tokens of each.
        n_rounds: most rounds of a measurement; a step that runs out of its time does fewer.
        n_new, contexts: of the timed passes.
        n_warm_up: rounds of passes before they count: graphs are made meanwhile.
        n_prompt, n_written: tokens of the timed runs.
        shares: of their tokens that the LLM writes.
        batches: sequences at once.
        n_at_once: runs of visitors at once.
        copy_bytes: of the copy that bandwidth is measured by.
        matrix: rows of the product that arithmetic is measured by; 0 for the device's own.
        profile: of each pair that gets one.
    """

    shapes: tuple[PairShape, ...]
    dtype: str = "bfloat16"
    n_prompts: int = 100
    n_checked: int = 48
    n_rounds: int = 5
    n_new: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    contexts: tuple[int, ...] = (64, 256, 1024, 4096)
    n_warm_up: int = 7
    n_prompt: int = 64
    n_written: int = 96
    shares: tuple[float, ...] = SHARES
    batches: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    n_at_once: tuple[int, ...] = (1, 4, 16)
    copy_bytes: int = 2 << 30
    matrix: int = 0
    profile: ProfilePlan = ProfilePlan(n_rounds=7, n_runs=3)  # noqa: RUF009 - frozen


def tiny_plan() -> ReportPlan:
    """Every part on shapes that a processor computes in minutes, and none of whose numbers is worth keeping."""
    return ReportPlan(
        TINY_SHAPES,
        dtype="float32",
        n_prompts=4,
        n_checked=16,
        n_rounds=2,
        n_new=(1, 4),
        contexts=(64, 128),
        n_written=24,
        shares=(0.0, 0.3, 1.0),
        batches=(1, 4),
        n_at_once=(1, 4),
        copy_bytes=1 << 24,
        matrix=256,
        profile=ProfilePlan((1, 4), (32, 64), 2, n_problems=2, n_prompt=8, n_written=12, n_runs=1),
    )


def real_shapes(free_bytes: int, dtype: str) -> tuple[PairShape, ...]:
    """The pairs that fit, the most telling first: 1.5B/7B, 0.5B/7B, 8B and then 1.5B beside the largest LLM there.

    Args:
        free_bytes: of the device.
        dtype: of the weights, a key of `BYTES_PER_ELEMENT`.
    """
    qwen_1_5b, qwen_72b = PRESETS["qwen2-1.5b-72b"].slm.spec, PRESETS["qwen2-1.5b-72b"].llm.spec
    rows = [[_of_one_vocabulary(name, PRESETS[name].slm.spec, PRESETS[name].llm.spec)] for name in NAMED]
    for prefix, slm in (("llama3.1-8b", LLAMA31_8B), ("qwen2-1.5b", qwen_1_5b)):
        llms = {"72b": qwen_72b, "70b": LLAMA31_70B, "32b": QWEN25_32B, "14b": QWEN25_14B}
        rows.append([_of_one_vocabulary(f"{prefix}-{size}", slm, llm) for size, llm in llms.items()])
    fitting: dict[str, PairShape] = {}
    for row in rows:
        largest = next((shape for shape in row if shape.n_bytes(dtype) <= ROOM * free_bytes), None)
        if largest is not None:
            fitting[largest.name] = largest
    return tuple(fitting.values())


def _of_one_vocabulary(name: str, slm: ModelSpec, llm: ModelSpec) -> PairShape:
    """A pair whose LLM has as many rows for tokens as its SLM, as assisted generation wants it; the rest as it is."""
    n_rows = (1 if llm.tied_embeddings else 2) * (slm.vocab_size - llm.vocab_size)
    n_params = llm.n_params + n_rows * llm.hidden_size
    return PairShape(name, slm, dataclasses.replace(llm, vocab_size=slm.vocab_size, n_params=n_params))


def random_pair(shape: PairShape, device: str, dtype: str, *, seed: int = 0) -> ModelPair:
    """A pair of that shape; its tokenizer has a word for each number, `t0 t1 t2 ...`.

    Args:
        shape: sizes.
        device: where the weights are made.
        dtype: `float32` or `bfloat16`.
        seed: of the weights.
    """
    torch.manual_seed(seed)
    slm, llm = (random_model(spec, device, dtype) for spec in (shape.slm, shape.llm))
    tokenizer = number_tokenizer(min(shape.slm.vocab_size, shape.llm.vocab_size))
    return ModelPair.assemble(shape.name, slm, llm, tokenizer)


def random_model(spec: ModelSpec, device: str, dtype: str) -> PreTrainedModel:
    """A model of those sizes, in eval mode, with small normal weights."""
    is_llama = spec.name.startswith("Llama")
    config = (LlamaConfig if is_llama else Qwen2Config)(
        vocab_size=spec.vocab_size,
        hidden_size=spec.hidden_size,
        intermediate_size=intermediate_size(spec, biased=not is_llama),
        num_hidden_layers=spec.n_layers,
        num_attention_heads=spec.n_heads,
        num_key_value_heads=spec.n_kv_heads,
        head_dim=spec.head_dim,
        max_position_embeddings=MAX_CONTEXT,
        tie_word_embeddings=spec.tied_embeddings,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(
            config, dtype=getattr(torch, dtype), attn_implementation="sdpa", trust_remote_code=False
        )
    return model.eval().requires_grad_(False)


def intermediate_size(spec: ModelSpec, *, biased: bool) -> int:
    """Width of the inner layer of a block, from the count of all parameters.

    Args:
        spec: sizes.
        biased: whether query, key and value have one number more for each output, as Qwen2's have.
    """
    query, both = spec.n_heads * spec.head_dim, 2 * spec.n_kv_heads * spec.head_dim
    tables = (1 if spec.tied_embeddings else 2) * spec.vocab_size * spec.hidden_size
    attention = spec.hidden_size * (2 * query + both) + (query + both if biased else 0)
    block, rest = divmod(spec.n_params - tables - spec.hidden_size, spec.n_layers)
    size, more = divmod(block - attention - 2 * spec.hidden_size, 3 * spec.hidden_size)
    assert rest == more == 0, f"{spec.name}: no width of the inner layer gives so many parameters"
    return size


def number_tokenizer(n_tokens: int) -> PreTrainedTokenizerFast:
    """A tokenizer of so many words; the first of them ends a text."""
    backend = Tokenizer(WordLevel({f"t{number}": number for number in range(n_tokens)}, unk_token="t1"))  # noqa: S106
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="t0")  # noqa: S106
