"""Are the tokens on this device the right ones? The bundled pair in float32, against references that share no code.

The SLM or the LLM alone must write what `generate` of transformers writes. What a script of hand-offs wrote is read
once by each model as a whole, without any cache: every token must be its writer's first choice there. Two tokens whose
logits differ by less than rounding are a tie, which either way of computing may break as it likes; ties are counted
apart. Called by `steps`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from citer_core.labelling.teacher_forcing import example_of, teacher_force
from citer_core.measuring.pipeline_benchmark import generate
from citer_core.measuring.report.bench import Case, Turn
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import load_pair
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.probe import probe
from citer_core.tasks.datasets import NumberedRow, bundled_rows

TIE = 1e-3  # of the greatest logit: a difference that the rounding of float32 can make
NEAR = 1e-3  # by which numbers of two devices may differ
SHARE = 0.3  # of tokens by the LLM in the scripts
BATCH_SIZE = 16


@dataclass(slots=True)
class Tally:
    """How many texts were compared, and what came of it."""

    n_texts: int = 0
    n_tokens: int = 0
    n_equal: int = 0
    n_ties: int = 0
    n_wrong: int = 0

    def add(self, n_tokens: int, *, is_equal: bool, is_tie: bool) -> None:
        """One text."""
        self.n_texts += 1
        self.n_tokens += n_tokens
        self.n_equal += is_equal
        self.n_ties += not is_equal and is_tie
        self.n_wrong += not is_equal and not is_tie

    def compare(self, lm: LanguageModel, prompt: Sequence[int], ours: list[int], theirs: list[int]) -> None:
        """Two texts by one writer: a tie where its logits of both tokens at which they part are near each other."""
        apart = _first_difference(ours, theirs)
        is_tie = False
        if apart is not None:
            logits = _logits(lm, [*prompt, *ours[:apart]])[-1]
            is_tie = _is_near(logits, ours[apart]) and _is_near(logits, theirs[apart])
        self.add(len(ours), is_equal=ours == theirs, is_tie=is_tie)


def check_tokens(case: Case, turn: Turn) -> dict[str, Any]:
    """Each model alone (tau = 0 and tau = 1) and a script of hand-offs, decoded in one way."""
    pair, router, settings = case.pair, case.router, case.settings
    tallies = {"slm": Tally(), "llm": Tally(), "script": Tally()}
    for prompt in turn.each(_prompts(case)):
        for which, lm, threshold in (("slm", pair.slm, 0.0), ("llm", pair.local_llm, 1.0)):
            alone = dataclasses.replace(settings, threshold=threshold)
            ours = [event.token_id for event in decode(pair, router, prompt, alone)]
            theirs = generate(lm, prompt, settings.max_new_tokens, eos_ids=sorted(pair.eos_ids))
            tallies[which].compare(lm, prompt, ours, theirs)
        ids, writers = _scripted(case, prompt)
        # Every token against its writer's first choice, read without a cache.
        whole = [*prompt, *ids[:-1]]
        read = {lm: _logits(lm, whole)[len(prompt) - 1 :] for lm in (pair.slm, pair.local_llm)}
        logits = [read[writer][place] for place, writer in enumerate(writers)]
        is_equal = all(int(row.argmax()) == token for row, token in zip(logits, ids, strict=True))
        is_tie = all(_is_near(row, token) for row, token in zip(logits, ids, strict=True))
        tallies["script"].add(len(ids), is_equal=is_equal, is_tie=is_tie)
    return {
        "is_replayed": [pair.slm.is_replayed, pair.local_llm.is_replayed],
        "is_fused": [pair.slm.is_fused, pair.local_llm.is_fused],
        **_verdict(tallies),
    }


def check_batches(case: Case, turn: Turn) -> dict[str, Any]:
    """Prompts together write what each writes alone."""
    pair, prompts, tally = case.pair, _prompts(case), Tally()
    for start in turn.each(range(0, len(prompts), 2 * BATCH_SIZE)):
        group = prompts[start : start + 2 * BATCH_SIZE]
        for done in decode_batch(pair, case.script(SHARE), group, case.settings, batch_size=BATCH_SIZE):
            prompt, ids = group[done.index], list(done.token_ids)
            alone, writers = _scripted(case, prompt)
            tally.compare(writers[_first_difference(ids, alone) or 0], prompt, ids, alone)
    return {"batch_size": BATCH_SIZE, **_verdict({"batched": tally})}


def check_readings(case: Case, turn: Turn) -> dict[str, Any]:
    """What `probe` and the labels say on this device, beside the same on the processor."""
    pairs = case.pair, load_pair(device="cpu")
    n_texts = n_tokens = n_labels_apart = 0
    gaps: list[float] = []
    for row in turn.each(_rows(case)):
        examples = [example_of(row.row, row.problem.data_type, pair) for pair in pairs]
        forced = [next(iter(teacher_force(pair, [one]))) for pair, one in zip(pairs, examples, strict=True)]
        n_texts += 1
        n_tokens += len(examples[0].truth_ids)
        n_labels_apart += int((forced[0].case.cpu() != forced[1].case.cpu()).sum())
        told = [probe(pair, examples[0].prompt_ids, examples[0].truth_ids) for pair in pairs]
        gaps += [
            max(abs(ours.kl - theirs.kl), abs(ours.slm_entropy - theirs.slm_entropy))
            for ours, theirs in zip(*told, strict=True)
        ]
    n_far = sum(gap > NEAR for gap in gaps)
    return {
        "n_texts": n_texts,
        "n_tokens": n_tokens,
        "n_probed": len(gaps),
        "n_probed_apart": n_far,
        "largest_difference": max(gaps, default=0.0),
        "n_labels": n_tokens,
        "n_labels_apart": n_labels_apart,
        "is_right": n_far == 0 and n_labels_apart <= n_tokens * NEAR,
    }


def _verdict(tallies: dict[str, Tally]) -> dict[str, Any]:
    return {
        "compared": {name: dataclasses.asdict(tally) for name, tally in tallies.items()},
        "is_right": all(tally.n_wrong == 0 and tally.n_texts > 0 for tally in tallies.values()),
    }


def _rows(case: Case) -> list[NumberedRow]:
    half = (case.plan.n_prompts + 1) // 2
    return [row for both in zip(bundled_rows("math"), bundled_rows("mc"), strict=False) for row in both][: 2 * half]


def _prompts(case: Case) -> list[list[int]]:
    return [case.pair.encode(row.problem.prompt) for row in _rows(case)]


def _scripted(case: Case, prompt: Sequence[int]) -> tuple[list[int], list[LanguageModel]]:
    """Tokens that were written by a script, and who wrote each."""
    pair = case.pair
    events = list(decode(pair, case.script(SHARE), prompt, case.settings))
    writers = [pair.slm if event.source == "slm" else pair.local_llm for event in events]
    return [event.token_id for event in events], writers


@torch.inference_mode()
def _logits(lm: LanguageModel, ids: Sequence[int]) -> Tensor:
    """[T, V] float32 of the model's own forward, without a cache."""
    output = lm.model(input_ids=torch.tensor([list(ids)], device=lm.device), use_cache=False)
    logits: Tensor = output.logits[0, :, : lm.vocab_size].float()
    return logits


def _first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    return next((n for n, both in enumerate(zip(ours, theirs, strict=False)) if both[0] != both[1]), None)


def _is_near(logits: Tensor, token: int) -> bool:
    """Whether a token is the first choice by these logits [V], but for rounding."""
    best = float(logits.max())
    return best - float(logits[token]) <= TIE * max(1.0, abs(best))
