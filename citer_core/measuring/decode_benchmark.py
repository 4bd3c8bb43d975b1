"""Decode speed on this machine: the routed loop beside its alternatives, all in one run. Knows nothing about tasks."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch

from citer_core.cost import H100_SXM, CostModel, CostSummary
from citer_core.measuring.device_probe import AloneText
from citer_core.measuring.pipeline_benchmark import about, generate
from citer_core.measuring.rounds import Rounds
from citer_core.measuring.script_router import HALF, ScriptRouter, even_script
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode
from citer_core.routing.router import Router
from citer_core.types import DecodeSettings, TokenEvent

SLM_ALONE = "SLM alone, transformers generate"
LLM_ALONE = "LLM alone, transformers generate"
LLM_PASSES = "LLM alone, the routed loop's passes"
ASSISTED = "LLM, drafts by the SLM, transformers assisted generation"
REPREFILL = "routed at 30%, LLM re-prefilled at every call"


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
    settings = DecodeSettings(threshold=HALF, max_new_tokens=n_new)

    def routed(share: float, *, reuse: bool = True) -> Callable[[], list[TokenEvent]]:
        # One router for all rounds: replayed passes belong to it.
        script = ScriptRouter(router, even_script(share, n_new), pair.slm.device)
        return lambda: list(decode(endless, script, prompt, settings, reuse_llm_cache=reuse))

    alone = {
        SLM_ALONE: lambda: generate(pair.slm, prompt, n_new),
        LLM_ALONE: lambda: generate(pair.local_llm, prompt, n_new),
        LLM_PASSES: lambda: passes_alone(pair.local_llm, prompt, n_new),
        ASSISTED: lambda: generate(pair.local_llm, prompt, n_new, assistant=pair.slm),
    }
    by_script = {
        "routed at 0%": routed(0.0),
        "routed at 10%": routed(0.1),
        "routed at 30%": routed(0.3),
        REPREFILL: routed(0.3, reuse=False),
        "routed at 100%": routed(1.0),
    }
    rounds = Rounds[Any](alone | by_script)
    cost_model = CostModel(pair.info.slm, pair.info.llm, H100_SXM, router.n_params)  # bytes are those of any device

    def row(name: str) -> dict[str, float | None]:
        speed = round(statistics.median(n_new / seconds for seconds in rounds.seconds[name]), 1)
        if name in alone:
            return {"tokens_per_s": speed, "outside_share": None}
        runs = zip(rounds.results[name], rounds.seconds[name], strict=True)
        outside = [1 - sum(e.slm_s + e.router_s + e.llm_s for e in events) / seconds for events, seconds in runs]
        cost = CostSummary.of(cost_model, rounds.results[name][-1])
        return {
            "tokens_per_s": speed,
            "outside_share": round(statistics.median(outside), 4),
            "speedup_over_llm_passes": rounds.ratio(LLM_PASSES, name),
            "speedup_estimated_from_bytes": round(1 / cost.bytes_share_of_llm_only, 2),
        }

    result: dict[str, Any] = {}
    for number in rounds.run(n_rounds):
        if number:
            result = about(pair, "python -m citer_core bench") | {
                "router": router.name,
                "n_prompt": len(prompt),
                "n_new": n_new,
                "n_rounds": number,
                "contenders": {name: row(name) for name in rounds.seconds},
                "speedup_over_reprefill_at_30": rounds.ratio(REPREFILL, "routed at 30%"),
                "routed_at_0_over_generate": rounds.ratio(SLM_ALONE, "routed at 0%"),
            }
        on_round(number, result or None)
    return result


def passes_alone(lm: LanguageModel, prompt: Sequence[int], n_new: int) -> None:
    """Greedy decoding with nothing but our own forward passes: what the LLM costs inside the routed loop."""
    with torch.inference_mode():
        text = AloneText(lm, len(prompt) + n_new)
        logits = text.feed(list(prompt))
        for _ in range(n_new - 1):
            logits = text.feed([int(logits.argmax())])
