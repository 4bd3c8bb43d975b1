"""Decode speed on this machine: the routed loop beside its alternatives, all in one run.

Absolute numbers of a shared machine wander, so every contender takes its turn in every round and medians of rounds are
compared. Knows nothing about tasks.
"""

from __future__ import annotations

import dataclasses
import datetime
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from citer_core.engine import hardware_in_words
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode
from citer_core.routing.router import Router, RouterFeatures
from citer_core.types import DecodeSettings, TokenEvent

REPREFILL_TARGET = "routed at 30%, LLM re-prefilled at every call"


class PatternRouter(Router):
    """Runs a real router for its time and then follows a pattern: LLM tokens spread evenly at a given share."""

    def __init__(self, inner: Router, llm_share: float) -> None:
        self.name, self.label, self.revision, self.n_params = inner.name, inner.label, inner.revision, inner.n_params
        self._inner = inner
        self._llm_share = llm_share
        self._n = 0

    def confidence(self, features: RouterFeatures) -> Tensor:
        """0 where the evenly spread pattern asks for the LLM, else 1."""
        self._inner.confidence(features)
        self._n += 1
        due = int(self._n * self._llm_share) > int((self._n - 1) * self._llm_share)
        return torch.tensor([0.0 if due else 1.0])


def decode_benchmark(
    pair: ModelPair, router: Router, *, n_prompt: int = 60, n_new: int = 150, n_rounds: int = 7
) -> dict[str, Any]:
    """Measures tokens per second of each contender.

    Args:
        pair: the pair; its end-of-text ids are ignored, so that every contender writes `n_new` tokens.
        router: the router whose time is to be counted.
        n_prompt, n_new: tokens of the prompt and of the completion.
        n_rounds: rounds after one that is not counted.

    Returns:
        Per contender the median tokens/s over the rounds and, for the routed ones, the share of time outside the two
        models and the router; with date, hardware and settings.
    """
    endless = dataclasses.replace(pair, eos_ids=frozenset())
    prompt = [(7 + 13 * i) % pair.vocab_size for i in range(n_prompt)]
    settings = DecodeSettings(threshold=0.5, max_new_tokens=n_new)

    def routed(share: float, *, reuse: bool = True) -> Callable[[], list[TokenEvent]]:
        return lambda: list(decode(endless, PatternRouter(router, share), prompt, settings, reuse_llm_cache=reuse))

    contenders: dict[str, Callable[[], list[TokenEvent] | None]] = {
        "SLM alone, transformers generate": lambda: _generate(pair.slm, prompt, n_new),
        "LLM alone, transformers generate": lambda: _generate(pair.local_llm, prompt, n_new),
        "routed at 0%": routed(0.0),
        "routed at 10%": routed(0.1),
        "routed at 30%": routed(0.3),
        REPREFILL_TARGET: routed(0.3, reuse=False),
        "routed at 100%": routed(1.0),
    }
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    outside: dict[str, list[float]] = {name: [] for name in contenders}
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
    rows = {
        name: {
            "tokens_per_s": round(statistics.median(values), 1),
            "outside_share": round(statistics.median(outside[name]), 4) if outside[name] else None,
        }
        for name, values in speeds.items()
    }
    return {
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
        "command": "python -m citer_core bench",
        "pair": pair.info.name,
        "pair_revision": pair.info.revision,
        "dtype": pair.info.dtype,
        "n_prompt": n_prompt,
        "n_new": n_new,
        "n_rounds": n_rounds,
        "contenders": rows,
        "speedup_over_reprefill_at_30": _ratio(speeds["routed at 30%"], speeds[REPREFILL_TARGET]),
        "routed_at_0_over_generate": _ratio(speeds["routed at 0%"], speeds["SLM alone, transformers generate"]),
    }


def _generate(lm: LanguageModel, prompt: Sequence[int], n_new: int) -> None:
    ids = torch.tensor([prompt], device=lm.device)
    lm.model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=n_new,
        min_new_tokens=n_new,
        pad_token_id=0,
    )


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median of the ratios round by round."""
    return round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 2)
