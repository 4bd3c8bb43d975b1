"""The bundled pair's corpus: an endless seeded stream of training rows, and held-out rows that it can never contain.

A row is held out by the hash of its prompt, not by luck: training skips every such row, the held-out sets take nothing
else. Knows nothing about models or tokens.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from citer_core.embedded import arithmetic, multiple_choice, stories
from citer_core.tasks.prompts import DataType, row_completion, row_prompt

Row = dict[str, Any]
# Shares of the rows of a step. Beside the two formats there are three drills, each for what takes a small model longest
# and each short: facts asked closed-book, finding a named option, and arithmetic without a story.
RECALL_SHARE, LOOKUP_SHARE, ARITHMETIC_SHARE, MC_SHARE = 0.06, 0.02, 0.16, 0.24


# The generator as it was before the first router was trained on it; a test compares.
FROZEN = {
    "date": "2026-11-28",
    "seed": 7,
    "fingerprint": "9e89b51ee234f3dbbbb4b45158f195c0a280590b97abaa318faf6132b8dd6b31",
}
N_FINGERPRINT = 400


def fingerprint() -> str:
    """SHA-256 over training texts and held-out rows of each format: which generator it is."""
    digest = hashlib.sha256()
    for text in training_texts(7, 0, N_FINGERPRINT):
        digest.update("".join(text).encode())
    for data_type in ("math", "mc"):
        for row in islice(held_out_rows(data_type, "test"), N_FINGERPRINT):
            digest.update(json.dumps(row, sort_keys=True).encode())
    return digest.hexdigest()


def is_held_out(row: Row, data_type: DataType) -> bool:
    """Whether the row belongs to the one thirty-second of all prompts that training never sees."""
    return hashlib.sha256(row_prompt(row, data_type).encode()).digest()[0] < 8


def _draw(rng: random.Random, often: Mapping[str, float], mc_share: float) -> tuple[str, str] | None:
    """A training text as (prompt, completion); None where the draw is a held-out problem."""
    kind = rng.random()
    if kind < RECALL_SHARE:
        return multiple_choice.sample_recall(rng)
    if kind < RECALL_SHARE + ARITHMETIC_SHARE:
        return arithmetic.sample_drill(rng)
    data_type: DataType = "mc"
    if kind < RECALL_SHARE + ARITHMETIC_SHARE + LOOKUP_SHARE:
        row = multiple_choice.sample_lookup(rng)
    elif kind < RECALL_SHARE + ARITHMETIC_SHARE + LOOKUP_SHARE + mc_share:
        row = multiple_choice.sample(rng)
    else:
        row, data_type = stories.sample(rng, often=often), "math"
    return None if is_held_out(row, data_type) else (row_prompt(row, data_type), row_completion(row, data_type))


def training_texts(
    seed: int, step: int, n: int, often: Mapping[str, float] | None = None, mc_share: float = MC_SHARE
) -> list[tuple[str, str]]:
    """The `n` texts of training step `step`, each (prompt, completion).

    A function of its arguments alone, so that a resumed run sees the same. `often` is how often kinds of word problem
    are drawn, where not as often as the table of stories says; `mc_share` the share of multiple choice among the texts,
    at the cost of word problems.
    """
    rng = random.Random(f"train:{seed}:{step}")
    texts: list[tuple[str, str]] = []
    while len(texts) < n:
        if (text := _draw(rng, often or {}, mc_share)) is not None:
            texts.append(text)
    return texts


def held_out_rows(data_type: DataType, name: str) -> Iterator[Row]:
    """An endless stream of distinct held-out rows of one format; `name` ("test", "router", ...) picks the stream.

    Streams of different names may share a row, though that is rare: who trains on one and tests on another must skip
    rows by `row["id"]`, which is the hash of the prompt.
    """
    rng = random.Random(f"held-out:{data_type}:{name}")
    sample = multiple_choice.sample if data_type == "mc" else stories.sample
    seen: set[str] = set()
    while True:
        row = sample(rng)
        if is_held_out(row, data_type):
            digest = hashlib.sha256(row_prompt(row, data_type).encode()).hexdigest()[:16]
            if digest not in seen:
                seen.add(digest)
                yield {"id": f"{data_type}-{digest}", **row}
