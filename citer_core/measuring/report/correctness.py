"""Are the tokens on this device the right ones? The bundled pair in float32, against references that share no code.

The SLM or the LLM alone must write what `generate` of transformers writes. What a script of hand-offs wrote is read
once by each model as a whole, without any cache: every token must be its writer's first choice there. Two tokens whose
logits differ by less than rounding are a tie, which either way of computing may break as it likes; ties are counted
apart. Called by `order`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from citer_core.labelling.teacher_forcing import example_of, teacher_force
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.report.paths import DecodePath, paths_for
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair, load_pair
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.probe import probe
from citer_core.tasks.datasets import NumberedRow, bundled_rows
from citer_core.types import DecodeSettings, Source

TIE = 1e-3  # of the greatest logit: a difference that the rounding of float32 can make
NEAR = 1e-3  # by which numbers of two devices may differ
SHARE = 0.3  # of tokens by the LLM in the scripts


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


def check_tokens(bench: Bench, path: DecodePath, turn: Turn) -> dict[str, Any]:
    """Each model alone (tau = 0 and tau = 1) and a script of hand-offs, decoded in one way."""
    pair = bench.bundled(path)
    prompts = _prompts(bench, pair)
    router = bench.router(pair)
    tallies = {"slm": Tally(), "llm": Tally(), "script": Tally()}
    for number, prompt in enumerate(prompts):
        if number and turn.is_over():
            break
        for which, threshold in (("slm", 0.0), ("llm", 1.0)):
            lm = pair.slm if which == "slm" else pair.local_llm
            settings = DecodeSettings(threshold=threshold, max_new_tokens=bench.plan.n_checked)
            ours = [event.token_id for event in decode(pair, router, prompt, settings)]
            _compare(tallies[which], lm, prompt, ours, _generated(lm, prompt, pair.eos_ids, bench.plan.n_checked))
        _compare_script(tallies["script"], pair, prompt, *_scripted(bench, pair, prompt))
    return {
        "path": path.name,
        "note": path.note,
        "is_replayed": [pair.slm.is_replayed, pair.local_llm.is_replayed],
        "is_fused": [pair.slm.is_fused, pair.local_llm.is_fused],
        **_verdict(tallies),
    }


def check_batches(bench: Bench, turn: Turn) -> dict[str, Any]:
    """Prompts together write what each writes alone."""
    pair = bench.bundled(paths_for(str(bench.device))[0])
    prompts = _prompts(bench, pair)
    settings, size = DecodeSettings(threshold=0.5, max_new_tokens=bench.plan.n_checked), 16
    tally = Tally()
    for start in range(0, len(prompts), 2 * size):
        if start and turn.is_over():
            break
        group = prompts[start : start + 2 * size]
        router = bench.spread(pair, SHARE, bench.plan.n_checked)
        for done in decode_batch(pair, router, group, settings, batch_size=size):
            prompt, ids = group[done.index], list(done.token_ids)
            alone, sources = _scripted(bench, pair, prompt)
            apart = _first_difference(ids, alone)
            writer = pair.slm if apart is None or sources[apart] == "slm" else pair.local_llm
            _compare(tally, writer, prompt, ids, alone)
    return {"batch_size": size, **_verdict({"batched": tally})}


def check_readings(bench: Bench, turn: Turn) -> dict[str, Any]:
    """What `probe` and the labels say on this device, beside the same on the processor."""
    pair, here = bench.bundled(paths_for(str(bench.device))[0]), load_pair(device="cpu")
    n_tokens = n_probed = n_far = n_labels = n_labels_apart = n_texts = 0
    worst = 0.0
    for row in _rows(bench):
        if n_texts and turn.is_over():
            break
        n_texts += 1
        one, other = (example_of(row.row, row.problem.data_type, which) for which in (pair, here))
        forced = [next(iter(teacher_force(which, [example]))) for which, example in ((pair, one), (here, other))]
        n_tokens += len(one.truth_ids)
        n_labels += len(one.truth_ids)
        n_labels_apart += int((forced[0].case.cpu() != forced[1].case.cpu()).sum())
        told = [list(probe(which, one.prompt_ids, one.truth_ids)) for which in (pair, here)]
        for ours, theirs in zip(*told, strict=True):
            n_probed += 1
            gap = max(abs(ours.kl - theirs.kl), abs(ours.slm_entropy - theirs.slm_entropy))
            worst = max(worst, gap)
            n_far += gap > NEAR
    return {
        "n_texts": n_texts,
        "n_tokens": n_tokens,
        "n_probed": n_probed,
        "n_probed_apart": n_far,
        "largest_difference": worst,
        "n_labels": n_labels,
        "n_labels_apart": n_labels_apart,
        "is_right": n_far == 0 and n_labels_apart <= n_labels * NEAR,
    }


def _verdict(tallies: dict[str, Tally]) -> dict[str, Any]:
    return {
        "compared": {name: dataclasses.asdict(tally) for name, tally in tallies.items()},
        "is_right": all(tally.n_wrong == 0 and tally.n_texts > 0 for tally in tallies.values()),
    }


def _rows(bench: Bench) -> list[NumberedRow]:
    half = (bench.plan.n_prompts + 1) // 2
    return [row for both in zip(bundled_rows("math"), bundled_rows("mc"), strict=False) for row in both][: 2 * half]


def _prompts(bench: Bench, pair: ModelPair) -> list[list[int]]:
    return [pair.encode(row.problem.prompt) for row in _rows(bench)]


def _scripted(bench: Bench, pair: ModelPair, prompt: Sequence[int]) -> tuple[list[int], list[Source]]:
    settings = DecodeSettings(threshold=0.5, max_new_tokens=bench.plan.n_checked)
    events = list(decode(pair, bench.spread(pair, SHARE, bench.plan.n_checked), prompt, settings))
    return [event.token_id for event in events], [event.source for event in events]


def _generated(lm: LanguageModel, prompt: Sequence[int], eos_ids: frozenset[int], n_new: int) -> list[int]:
    ids = torch.tensor([list(prompt)], device=lm.device)
    mask = torch.ones_like(ids)
    output = lm.model.generate(
        ids, attention_mask=mask, do_sample=False, max_new_tokens=n_new, eos_token_id=sorted(eos_ids), pad_token_id=0
    )
    return [int(token) for token in output[0, len(prompt) :]]


@torch.inference_mode()
def _logits(lm: LanguageModel, ids: Sequence[int]) -> Tensor:
    """[T, V] float32 of the model's own forward, without a cache."""
    output = lm.model(input_ids=torch.tensor([list(ids)], device=lm.device), use_cache=False)
    logits: Tensor = output.logits[0, :, : lm.vocab_size].float()
    return logits


def _compare(tally: Tally, lm: LanguageModel, prompt: Sequence[int], ours: list[int], theirs: list[int]) -> None:
    apart = _first_difference(ours, theirs)
    is_tie = apart is not None and _is_tie(lm, prompt, ours, theirs, apart)
    tally.add(len(ours), is_equal=ours == theirs, is_tie=is_tie)


def _first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    return next((n for n, both in enumerate(zip(ours, theirs, strict=False)) if both[0] != both[1]), None)


def _is_tie(lm: LanguageModel, prompt: Sequence[int], ours: list[int], theirs: list[int], apart: int) -> bool:
    """Whether two texts part at a token where the writer's logits of both are the same but for rounding."""
    logits = _logits(lm, [*prompt, *ours[:apart]])[-1]
    one, other, best = (float(logits[token]) for token in (ours[apart], theirs[apart], int(logits.argmax())))
    return best - min(one, other) <= TIE * max(1.0, abs(best))


def _compare_script(
    tally: Tally, pair: ModelPair, prompt: Sequence[int], ids: list[int], sources: list[Source]
) -> None:
    """Every token against its writer's first choice, read without a cache."""
    whole = [*prompt, *ids[:-1]]
    first = {"slm": _logits(pair.slm, whole), "llm": _logits(pair.local_llm, whole)}
    is_equal = is_near = True
    for place, (token, source) in enumerate(zip(ids, sources, strict=True), start=len(prompt) - 1):
        row = first[source][place]
        best = float(row.max())
        if int(row.argmax()) != token:
            is_equal = False
            is_near = is_near and best - float(row[token]) <= TIE * max(1.0, abs(best))
    tally.add(len(ids), is_equal=is_equal, is_tie=is_near)
