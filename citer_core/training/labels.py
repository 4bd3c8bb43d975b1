"""Preference labels of iteration 1: which model should have written each ground-truth token.

State = prompt + ground-truth prefix, at every position of the ground truth, its end of text included (or the router
would never learn the decision to stop). The shortcut needs one teacher-forced pass per model and example:

    case 1  the SLM's greedy token is the true one                    -> prefer the SLM (label 1)
    case 2  it is not, but the LLM's greedy token is                  -> prefer the LLM (label 0)
    case 3  both are wrong: the SLM goes on alone from the true prefix -> label 1 iff its final answer is right

Source: CITER, arXiv 2502.01976, and the authors' published code for case 3.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

import citer_core
from citer_core.errors import DatasetError
from citer_core.models.batch import greedy_completions
from citer_core.models.pair import ModelPair
from citer_core.tasks.answers import check_answer
from citer_core.tasks.problems import Problem, problem_from_row
from citer_core.tasks.prompts import PROMPT_VERSION, DataType, row_completion

LABELS_SCHEMA_VERSION = 1
MAX_ROLLOUT_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Example:
    """A problem with its ground truth as token ids, end of text included."""

    problem: Problem
    prompt_ids: list[int]
    truth_ids: list[int]


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of N tokens of some examples.

    Attributes:
        hidden: [N, H] float32, the SLM's state at each token's position.
        case: [N] int8, 1 to 3.
        label: [N] int8, 1 to prefer the SLM, 0 the LLM.
        question: [N] int32, which example a token belongs to: splits go by question, never by token.
        max_probability: [N] float32, of the SLM's greedy token: the free baseline, on the same tokens.
    """

    hidden: Tensor
    case: Tensor
    label: Tensor
    question: Tensor
    max_probability: Tensor

    def save(self, path: Path, header: Mapping[str, str]) -> None:
        """Writes a shard; it appears under its name only when it is complete."""
        tensors = {name: getattr(self, name).contiguous() for name in self.__slots__}
        # One metadata entry, because safetensors writes several in no fixed order and equal shards must be equal files.
        metadata = {"citer": json.dumps(header, sort_keys=True)}
        save_file(tensors, path.with_suffix(".part"), metadata=metadata)
        path.with_suffix(".part").replace(path)

    @classmethod
    def load(cls, path: Path, header: Mapping[str, str]) -> Labels:
        """Reads a shard back.

        Raises:
            DatasetError: it is damaged, or was made under another header (pair, prompt or code of another version).
        """
        try:
            with safe_open(path, framework="pt") as file:
                found = json.loads((file.metadata() or {}).get("citer", "{}"))
                tensors = {name: file.get_tensor(name) for name in cls.__slots__}
        except (OSError, ValueError, SafetensorError) as error:
            raise DatasetError(
                f"The label shard {path.name} could not be read ({error}). Delete it and label again."
            ) from error
        for key, value in header.items():
            if found.get(key) != value:
                raise DatasetError(
                    f"The label shard {path.name} was made with {key} = {found.get(key)}, but now it is {value}. "
                    "Label into an empty folder."
                )
        return cls(**tensors)

    def prior_logits(self, group: Tensor) -> Tensor:
        """The log-odds of preferring the SLM in each token's group, [N] float32: what to know before looking.

        Args:
            group: [N] int, such as the format of each token's question. A group without both labels gets 0.
        """
        logits = torch.zeros(len(self.label))
        for g in group.unique().tolist():
            inside = group == g
            n_slm = int(self.label[inside].sum())
            n_llm = int(inside.sum()) - n_slm
            if n_slm and n_llm:
                logits[inside] = math.log(n_slm / n_llm)
        return logits

    @classmethod
    def concatenate(cls, parts: Sequence[Labels]) -> Labels:
        """All tokens of several shards; question numbers must already be distinct."""
        return cls(**{name: torch.cat([getattr(part, name) for part in parts]) for name in cls.__slots__})


def label_header(pair: ModelPair) -> dict[str, str]:
    """What a shard must agree on to be read together with others."""
    return {
        "schema": "citer-labels",
        "schema_version": str(LABELS_SCHEMA_VERSION),
        "pair_revision": pair.info.revision,
        "dtype": pair.info.dtype,
        "prompt_version": str(PROMPT_VERSION),
        "code_version": citer_core.__version__,
        "iteration": "1",
    }


def example_of(row: Mapping[str, Any], data_type: DataType, pair: ModelPair) -> Example:
    """Encodes a training row; its completion is `cot`, or `solution` where there is none."""
    problem = problem_from_row(row, data_type)
    truth = pair.tokenizer(row_completion(row, data_type), add_special_tokens=False)["input_ids"]
    return Example(problem, pair.encode(problem.prompt), [*truth, min(pair.eos_ids)])


@torch.inference_mode()
def label_examples(pair: ModelPair, examples: Sequence[Example], first_question: int = 0) -> Labels:
    """Labels every ground-truth token of `examples`; see the module's header for the three cases."""
    parts: list[Labels] = []
    rollouts: list[tuple[int, int]] = []
    for number, example in enumerate(examples):
        n_prompt = len(example.prompt_ids)
        ids = torch.tensor([example.prompt_ids + example.truth_ids[:-1]], device=pair.slm.device)
        truth = torch.tensor(example.truth_ids)
        slm_logits, hidden = pair.slm.forward(ids, pair.slm.new_cache(), last_only=False)
        llm_logits, _ = pair.llm.forward(ids, pair.llm.new_cache(), last_only=False)
        slm_logits = slm_logits[0, n_prompt - 1 :].float().cpu()  # [T, V], one row per ground-truth token
        slm_right = slm_logits.argmax(-1) == truth
        llm_right = llm_logits[0, n_prompt - 1 :].argmax(-1).cpu() == truth
        case = torch.where(slm_right, 1, torch.where(llm_right, 2, 3)).to(torch.int8)
        rollouts += [(number, position) for position in (case == 3).nonzero().flatten().tolist()]
        parts.append(
            Labels(
                hidden=hidden[0, n_prompt - 1 :].float().cpu(),
                case=case,
                label=(case == 1).to(torch.int8),
                question=torch.full_like(truth, first_question + number, dtype=torch.int32),
                max_probability=torch.softmax(slm_logits, -1).amax(-1),
            )
        )
    for number, position in _successful_rollouts(pair, examples, rollouts):
        parts[number].label[position] = 1
    return Labels.concatenate(parts)


def _successful_rollouts(
    pair: ModelPair, examples: Sequence[Example], states: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Those (example, position) from whose true prefix the SLM alone reaches the right answer."""
    prefixes = [examples[n].prompt_ids + examples[n].truth_ids[:position] for n, position in states]
    rollouts = greedy_completions(pair.slm, prefixes, eos_ids=pair.eos_ids, max_new_tokens=MAX_ROLLOUT_TOKENS)
    for i, new_ids in rollouts:
        number, position = states[i]
        example = examples[number]
        # Only the completion is searched for an answer: the prompt has a \boxed{} of its own.
        text = pair.tokenizer.decode(example.truth_ids[:position] + new_ids, skip_special_tokens=True)
        if check_answer(str(text), example.problem).is_correct:
            yield number, position


def label_dataset(
    pair: ModelPair, rows: Sequence[tuple[Mapping[str, Any], DataType]], folder: Path, shard_size: int = 100
) -> Iterator[Labels]:
    """Labels rows shard by shard into `folder`; shards that are there already are read, not computed.

    Yields:
        The labels of each shard in order. Question numbers are indices into `rows`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    header = {**label_header(pair), "rows": _rows_digest(rows)}
    for start in range(0, len(rows), shard_size):
        path = folder / f"shard-{start:06d}.safetensors"
        if not path.exists():
            examples = [example_of(row, data_type, pair) for row, data_type in rows[start : start + shard_size]]
            label_examples(pair, examples, first_question=start).save(path, header)
        yield Labels.load(path, header)


def _rows_digest(rows: Sequence[tuple[Mapping[str, Any], DataType]]) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]
