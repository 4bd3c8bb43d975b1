"""Decode speed on this machine: the routed loop beside its alternatives, all in one run.

Absolute numbers of a shared machine wander, so every contender takes its turn in every round and medians of rounds are
compared. Knows nothing about tasks.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig

from citer_core.cost import H100_SXM, CostModel, CostSummary
from citer_core.measuring.pipeline_benchmark import about
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.models.reader import Reader
from citer_core.routing.decode import decode
from citer_core.routing.router import Router, RouterFeatures
from citer_core.types import DecodeSettings, TokenEvent

SLM_ALONE = "SLM alone, transformers generate"
LLM_ALONE = "LLM alone, transformers generate"
LLM_PASSES = "LLM alone, the routed loop's passes"
ASSISTED = "LLM, drafts by the SLM, transformers assisted generation"
REPREFILL = "routed at 30%, LLM re-prefilled at every call"
MOST_POSITIONS = 1 << 16


class PatternRouter(Router):
    """Runs a real router for its time and then follows a pattern: LLM tokens spread evenly at a given share."""

    def __init__(self, inner: Router, llm_share: float) -> None:
        self.name, self.label, self.revision, self.n_params = inner.name, inner.label, inner.revision, inner.n_params
        self.is_static = inner.is_static
        self._inner = inner
        due = (torch.arange(MOST_POSITIONS + 1, dtype=torch.float64) * llm_share).floor().diff() > 0
        self._confidences = (~due).float()

    def confidence(self, features: RouterFeatures) -> Tensor:
        """0 where the evenly spread pattern asks for the LLM, else 1."""
        self._inner.confidence(features)
        assert features.position is not None
        if self._confidences.device != features.position.device:
            self._confidences = self._confidences.to(features.position.device)
        return self._confidences.index_select(0, features.position)


def decode_benchmark(
    pair: ModelPair,
    router: Router,
    prompt: Sequence[int],
    *,
    n_new: int = 150,
    n_rounds: int = 7,
    on_round: Callable[[int, dict[str, Any] | None], None] = lambda *_: None,
) -> dict[str, Any]:
    """Measures tokens per second of each contender.

    Args:
        pair: the pair; its end-of-text ids are ignored, so that every contender writes `n_new` tokens.
        router: the router whose time is to be counted.
        prompt: token ids, at least one; a real question, because assisted generation lives on what is easy to guess.
        n_new: tokens of the completion.
        n_rounds: rounds after one that is not counted, at least 1.
        on_round: told the number of each round that is over, 0 first, and what all that count came to.

    Returns:
        Per contender the median tokens/s over the rounds and, for the routed ones, the share of time outside the two
        models and the router, and the speed-up over the same LLM passes alone, measured and as estimated from bytes
        moved; with date, hardware and settings.
    """
    endless = dataclasses.replace(pair, eos_ids=frozenset())
    settings = DecodeSettings(threshold=0.5, max_new_tokens=n_new)

    def routed(share: float, *, reuse: bool = True) -> Callable[[], list[TokenEvent]]:
        pattern = PatternRouter(router, share)  # one for all rounds: replayed passes belong to a router
        return lambda: list(decode(endless, pattern, prompt, settings, reuse_llm_cache=reuse))

    contenders: dict[str, Callable[[], list[TokenEvent] | None]] = {
        SLM_ALONE: lambda: generate_alone(pair.slm, prompt, n_new),
        LLM_ALONE: lambda: generate_alone(pair.local_llm, prompt, n_new),
        LLM_PASSES: lambda: passes_alone(pair.local_llm, prompt, n_new),
        ASSISTED: lambda: generate_alone(pair.local_llm, prompt, n_new, assistant=pair.slm),
        "routed at 0%": routed(0.0),
        "routed at 10%": routed(0.1),
        "routed at 30%": routed(0.3),
        REPREFILL: routed(0.3, reuse=False),
        "routed at 100%": routed(1.0),
    }
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    outside: dict[str, list[float]] = {name: [] for name in contenders}
    by_bytes: dict[str, float] = {}
    cost_model = CostModel(pair.info.slm, pair.info.llm, H100_SXM, router.n_params)  # bytes are those of any device

    def result(n_measured: int) -> dict[str, Any]:
        rows: dict[str, dict[str, float | None]] = {
            name: {
                "tokens_per_s": round(statistics.median(values), 1),
                "outside_share": round(statistics.median(outside[name]), 4) if outside[name] else None,
            }
            for name, values in speeds.items()
        }
        for name, estimate in by_bytes.items():
            rows[name] |= {
                "speedup_over_llm_passes": _ratio(speeds[name], speeds[LLM_PASSES]),
                "speedup_estimated_from_bytes": estimate,
            }
        return about(pair, "python -m citer_core bench") | {
            "router": router.name,
            "n_prompt": len(prompt),
            "n_new": n_new,
            "n_rounds": n_measured,
            "contenders": rows,
            "speedup_over_reprefill_at_30": _ratio(speeds["routed at 30%"], speeds[REPREFILL]),
            "routed_at_0_over_generate": _ratio(speeds["routed at 0%"], speeds[SLM_ALONE]),
        }

    for round_number in range(n_rounds + 1):
        for name, contender in contenders.items():
            start = time.perf_counter()
            events = contender()
            seconds = time.perf_counter() - start
            if round_number == 0:
                continue
            speeds[name].append(n_new / seconds)
            if events is not None:
                inside = sum(e.slm_s + e.router_s + e.llm_s for e in events)
                outside[name].append(1 - inside / seconds)
                by_bytes[name] = round(1 / CostSummary.of(cost_model, events).bytes_share_of_llm_only, 2)
        on_round(round_number, result(round_number) if round_number else None)
    return result(n_rounds)


def generate_alone(
    lm: LanguageModel, prompt: Sequence[int], n_new: int, *, assistant: LanguageModel | None = None
) -> None:
    """Greedy decoding by transformers' `generate`, with drafts of an assistant where one is given."""
    ids = torch.tensor([list(prompt)], device=lm.device)
    # An end of text that is no token: nothing ends before n_new, and no logits processor has to see to it.
    nothing = lm.model.config.vocab_size
    config = GenerationConfig(do_sample=False, max_new_tokens=n_new, eos_token_id=nothing, pad_token_id=0)
    lm.model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        generation_config=config,
        assistant_model=assistant.model if assistant else None,
    )


def passes_alone(lm: LanguageModel, prompt: Sequence[int], n_new: int) -> None:
    """Greedy decoding with nothing but our own forward passes: what the LLM costs inside the routed loop."""
    with torch.inference_mode(), lm.seat(len(prompt) + n_new) as seat:
        if seat is not None:
            seat.read(prompt)
            for _ in range(n_new - 1):
                seat.feed([int(seat.logits.argmax())])
            return
    ids = list(prompt)
    reader = Reader(lm)
    with torch.inference_mode():
        for _ in range(n_new):
            ids.append(int(reader.read([ids]).logits.argmax()))


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median of the ratios round by round."""
    return round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 2)
