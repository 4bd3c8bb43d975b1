"""Chains of thought for rows that have none: sampled from the pair's own LLM, kept where their answer is right.

The authors ask a paid API for them. Rows are sampled in groups of fixed membership, one sample of each unsolved row at
a time, and a group's random numbers depend on its rows and the seed alone; so a run that was stopped, and then replays
the group it was in, finds what an uninterrupted one does. Knows nothing about files or the command line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import torch

from citer_core.errors import SettingError
from citer_core.models.batch import sampled_completions
from citer_core.models.pair import ModelPair
from citer_core.tasks.answers import check_answer
from citer_core.tasks.datasets import NumberedRow
from citer_core.types import DecodeSettings


@dataclass(frozen=True, slots=True)
class CotSettings:
    """How chains are sampled.

    Attributes:
        n_samples: at most so many per row; the first right one is kept.
        temperature: above 0, to 2.
        top_p: nucleus in (0, 1].
        seed: from 0.
        max_new_tokens: of a sample, end of text included; one that does not end within them is not kept.
        batch_size: rows per group.

    Raises:
        SettingError: a value outside its range.
    """

    n_samples: int = 4
    temperature: float = 0.8
    top_p: float = 0.95
    seed: int = 0
    max_new_tokens: int = 512
    batch_size: int = 32

    def __post_init__(self) -> None:
        DecodeSettings(  # the same ranges as everywhere
            max_new_tokens=self.max_new_tokens, temperature=self.temperature, top_p=self.top_p, seed=self.seed
        )
        if self.temperature == 0:
            raise SettingError("temperature is 0, so that all samples are alike: give a value above 0, at most 2.")
        if self.seed < 0:
            raise SettingError(f"seed is {self.seed}: give a whole number from 0.")
        for name, value in (("n_samples", self.n_samples), ("batch_size", self.batch_size)):
            if not 1 <= value <= 1024:
                raise SettingError(f"{name} is {value}: give a whole number from 1 to 1024.")


@dataclass(frozen=True, slots=True)
class CotOutcome:
    """What became of one row.

    Attributes:
        row: as it was read.
        cot: a chain with the right answer, stripped; None where there is none.
        n_tried: samples drawn for it.
        reason: why there is none, in words; empty where there is one.
    """

    row: NumberedRow
    cot: str | None
    n_tried: int
    reason: str = ""


def make_cots(
    pair: ModelPair, rows: Sequence[NumberedRow], settings: CotSettings, done: Collection[str] = ()
) -> Iterator[CotOutcome]:
    """Samples chains for `rows`.

    Args:
        pair: its LLM samples.
        rows: with a known answer, or there is nothing to compare a sample's with.
        settings: of sampling.
        done: ids of rows whose outcome is known from an earlier run with the same rows and settings.

    Yields:
        The outcome of every other row, as soon as it is known.

    Raises:
        SettingError: a group is more than the GPU's memory holds.
    """
    encoded = [pair.encode(row.problem.prompt) for row in rows]
    fitting = [i for i, ids in enumerate(encoded) if len(ids) + settings.max_new_tokens <= pair.max_context]
    for i in sorted(set(range(len(rows))) - set(fitting)):
        if rows[i].id not in done:
            room = pair.max_context - settings.max_new_tokens
            yield CotOutcome(rows[i], None, 0, f"its prompt has {len(encoded[i])} tokens, more than {max(room, 0)}")
    for start in range(0, len(fitting), settings.batch_size):
        group = fitting[start : start + settings.batch_size]
        if all(rows[i].id in done for i in group):
            continue
        for outcome in _sample_group(pair, [rows[i] for i in group], [encoded[i] for i in group], settings):
            if outcome.row.id not in done:
                yield outcome


def _sample_group(
    pair: ModelPair, rows: Sequence[NumberedRow], prompts: Sequence[list[int]], settings: CotSettings
) -> Iterator[CotOutcome]:
    unsolved = list(range(len(rows)))
    for attempt in range(1, settings.n_samples + 1):
        try:
            completions = sampled_completions(
                pair.local_llm,
                [prompts[i] for i in unsolved],
                eos_ids=pair.eos_ids,
                max_new_tokens=settings.max_new_tokens,
                temperature=settings.temperature,
                top_p=settings.top_p,
                seed=_seed_of(settings.seed, attempt, rows),
            )
        except torch.OutOfMemoryError as error:
            raise SettingError(
                f"The GPU's memory is full at --batch-size {settings.batch_size}: choose a smaller one, and another "
                "output file, because other groups draw other samples."
            ) from error
        solved: set[int] = set()
        for i, new_ids in zip(unsolved, completions, strict=True):
            cot = _right_chain(pair, rows[i], new_ids)
            if cot is not None:
                solved.add(i)
                yield CotOutcome(rows[i], cot, attempt)
        unsolved = [i for i in unsolved if i not in solved]
        if not unsolved:
            return
    for i in unsolved:
        yield CotOutcome(rows[i], None, settings.n_samples, f"no right answer in {settings.n_samples} samples")


def _right_chain(pair: ModelPair, row: NumberedRow, new_ids: list[int]) -> str | None:
    # A chain that was cut off may hold the right answer and still teach never to stop.
    if not new_ids or new_ids[-1] not in pair.eos_ids:
        return None
    text = str(pair.tokenizer.decode(new_ids, skip_special_tokens=True))
    return text.strip() if check_answer(text, row.problem).is_correct else None


def _seed_of(seed: int, attempt: int, rows: Sequence[NumberedRow]) -> int:
    names = "\n".join(row.id for row in rows)
    return int.from_bytes(hashlib.sha256(f"{seed}:{attempt}:{names}".encode()).digest()[:7])
