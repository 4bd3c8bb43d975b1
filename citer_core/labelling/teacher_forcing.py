"""`teacher_force`: both models read an example's ground truth, one pass each, and say what they would have written.

What labels, router training and the page's Labels tab are made of. An LLM on a server reads in one request what a
loaded one reads in one pass. Knows nothing about routers or rollouts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from citer_core.errors import DatasetError
from citer_core.models.greedy import greedy_tokens
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.remote_texts import ReadText, ask_to_read
from citer_core.models.server_client import Pending
from citer_core.routing.router import RouterFeatures
from citer_core.tasks.problems import Problem, problem_from_row
from citer_core.tasks.prompts import DataType, row_completion

BATCH_TOKENS = 4096  # positions read at once: enough to fill a processor


@dataclass(frozen=True, slots=True)
class Example:
    """A problem with its ground truth as token ids, end of text included.

    Without the end of text a router would never learn the decision to stop.
    """

    problem: Problem
    prompt_ids: list[int]
    truth_ids: list[int]


@dataclass(frozen=True, slots=True)
class TeacherForced:
    """What both models say at the T ground-truth positions of one example, each given the true tokens before it.

    Attributes:
        truth_ids: [T] int64, the true tokens.
        hidden: [T, H] float32, the SLM's state from which it would write each token; the first is at the prompt's end.
        slm_ids, llm_ids: [T] int64, each model's greedy token.
        slm_log_prob, llm_log_prob: [T] float32, what each model gives the true token, in nats.
        max_probability, margin, entropy: [T] float32, of the SLM's distribution; see `RouterFeatures`.
        case: [T] int8, 1: the SLM is right; 2: only the LLM is; 3: both are wrong.
        slm_logits, llm_logits: [T, V] in the models' dtype, only where they were asked for.
    """

    truth_ids: Tensor
    hidden: Tensor
    slm_ids: Tensor
    llm_ids: Tensor
    slm_log_prob: Tensor
    llm_log_prob: Tensor
    max_probability: Tensor
    margin: Tensor
    entropy: Tensor
    case: Tensor
    slm_logits: Tensor | None = None
    llm_logits: Tensor | None = None


def example_of(row: Mapping[str, Any], data_type: DataType, pair: ModelPair) -> Example:
    """Encodes a training row; its completion is `cot`, or `solution` where there is none.

    Raises:
        DatasetError: the row is not in the official form, or too long for the models.
    """
    problem = problem_from_row(row, data_type)
    return example_from_text(problem, row_completion(row, data_type), pair)


def example_from_text(problem: Problem, completion: str, pair: ModelPair) -> Example:
    """Encodes a problem with a ground-truth completion, which begins with the space that follows the prompt.

    Raises:
        DatasetError: prompt and completion do not fit into the models' context.
    """
    truth = pair.encode_completion(completion)
    example = Example(problem, pair.encode(problem.prompt), [*truth, pair.end_id])
    n_tokens = len(example.prompt_ids) + len(example.truth_ids)
    if n_tokens >= pair.max_context:  # the last true token must leave room for one more, or it could not be rolled out
        raise DatasetError(
            f"The row {problem.id or problem.question[:40]!r} has {n_tokens:,} tokens with its ground truth; this pair "
            f"reads fewer than {pair.max_context:,}. Leave it out or shorten it."
        )
    return example


def teacher_force(
    pair: ModelPair, examples: Sequence[Example], *, keep_logits: bool = False, batch_tokens: int = BATCH_TOKENS
) -> Iterator[TeacherForced]:
    """Reads every example with both models, several at once where they fit together.

    Args:
        pair: the two models.
        examples: in any order; those next to each other are batched.
        keep_logits: also give both models' logits, which are large.
        batch_tokens: positions per pass, padding included.

    Yields:
        One result per example, in order, on the CPU.

    Raises:
        PairError: logits of an LLM on a server are asked for.
        ServerError: the server is lost, or does not say what is needed.
    """
    for batch in _batches(examples, batch_tokens):
        texts = [example.prompt_ids + example.truth_ids[:-1] for example in batch]
        keep = [len(example.truth_ids) for example in batch]
        llm = _llm_reads(pair, batch, keep_logits=keep_logits)
        for example, (slm_logits, hidden), said in zip(batch, pair.slm.read(texts, keep), llm, strict=True):
            yield _compare(example, slm_logits, hidden, said, keep_logits=keep_logits)


def slm_choices(pair: ModelPair, examples: Sequence[Example]) -> Iterator[Tensor]:
    """[T] int64 of each example, in order: the SLM's greedy tokens given the true ones before them, on the CPU."""
    for batch in _batches(examples, BATCH_TOKENS):
        texts = [example.prompt_ids + example.truth_ids[:-1] for example in batch]
        for logits, _ in pair.slm.read(texts, [len(example.truth_ids) for example in batch]):
            yield greedy_tokens(logits).cpu()


def _llm_reads(pair: ModelPair, batch: Sequence[Example], *, keep_logits: bool) -> Iterator[ReadText]:
    """What the LLM says of each example; a server is asked at once and waited for when the answer is needed."""
    keep = [len(example.truth_ids) for example in batch]
    if isinstance(pair.llm, RemoteLM) and not keep_logits:
        return _answers(ask_to_read(pair.llm, [example.prompt_ids + example.truth_ids for example in batch], keep))
    found = pair.local_llm.read([example.prompt_ids + example.truth_ids[:-1] for example in batch], keep)
    return (_said(example, logits) for example, (logits, _) in zip(batch, found, strict=True))


def _answers(reading: Pending[list[ReadText]]) -> Iterator[ReadText]:
    yield from reading.wait()


@torch.inference_mode()
def _said(example: Example, logits: Tensor) -> ReadText:
    truth = torch.tensor(example.truth_ids, device=logits.device)
    log_probs = torch.log_softmax(logits.float(), dim=-1)
    return ReadText(greedy_tokens(logits).cpu(), log_probs.gather(1, truth[:, None])[:, 0].cpu(), logits)


@torch.inference_mode()
def _compare(
    example: Example, slm_logits: Tensor, hidden: Tensor, llm: ReadText, *, keep_logits: bool
) -> TeacherForced:
    truth = torch.tensor(example.truth_ids, device=slm_logits.device)
    features = RouterFeatures(hidden, slm_logits)
    slm_ids, truth_ids = greedy_tokens(slm_logits).cpu(), truth.cpu()
    case = torch.where(slm_ids == truth_ids, 1, torch.where(llm.first_ids == truth_ids, 2, 3))
    return TeacherForced(
        truth_ids=truth_ids,
        hidden=hidden.float().cpu(),
        slm_ids=slm_ids,
        llm_ids=llm.first_ids,
        slm_log_prob=features.log_probs.gather(1, truth[:, None])[:, 0].cpu(),
        llm_log_prob=llm.log_probs,
        max_probability=features.max_probability.cpu(),
        margin=features.margin.cpu(),
        entropy=features.entropy.cpu(),
        case=case.to(torch.int8),
        slm_logits=slm_logits.cpu() if keep_logits else None,
        llm_logits=llm.logits.cpu() if keep_logits and llm.logits is not None else None,
    )


def _batches(examples: Sequence[Example], batch_tokens: int) -> Iterator[list[Example]]:
    batch: list[Example] = []
    width = 0
    for example in examples:
        n_tokens = len(example.prompt_ids) + len(example.truth_ids) - 1
        if batch and max(width, n_tokens) * (len(batch) + 1) > batch_tokens:
            yield batch
            batch, width = [], 0
        batch.append(example)
        width = max(width, n_tokens)
    if batch:
        yield batch
