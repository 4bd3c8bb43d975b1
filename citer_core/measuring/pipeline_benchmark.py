"""Speed on one machine in one run: the routed loop, batches and a class of visitors, each beside other ways to get the
same.

Each result says whether both ways gave the same tokens. Knows nothing about where results are stored, and of
pages neither: gradio and the network come on top.
"""

from __future__ import annotations

import datetime
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import GenerationConfig

from citer_core.cost import H100_SXM, CostModel, CostSummary
from citer_core.engine import Engine
from citer_core.hardware import hardware_in_words
from citer_core.measuring.device_probe import AloneText
from citer_core.measuring.rounds import Rounds, quantile
from citer_core.measuring.script_router import HALF, ScriptRouter, even_script
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.router import Router
from citer_core.run import Run
from citer_core.serving.shared_decoder import SharedDecoder
from citer_core.system_memory import resident_bytes
from citer_core.tasks.problems import Problem
from citer_core.types import DecodeSettings, TokenEvent

SLM_ALONE = "SLM alone, transformers generate"
LLM_ALONE = "LLM alone, transformers generate"
LLM_PASSES = "LLM alone, the routed loop's passes"
ASSISTED = "LLM, drafts by the SLM, transformers assisted generation"
REPREFILL = "routed at 30%, LLM re-prefilled at every call"
LONGEST_S = 600.0  # for one run
Tell = Callable[[str], None]


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
    endless = replace(pair, eos_ids=frozenset())
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


def batch_benchmark(
    engine: Engine,
    problems: Sequence[Problem],
    *,
    thresholds: Sequence[float] = (0.0, 0.5, 0.95, 1.0),
    batch_size: int = 16,
    max_new_tokens: int = 150,
    n_rounds: int = 3,
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Tokens per second of `decode_batch` beside one `decode` after another, under the default router.

    Args:
        engine: pair and router.
        problems: what is answered, all of them both ways: a token costs more where the prompt is long beside what is
            written, so two sets of problems could not be compared.
        thresholds: taus to measure at.
        batch_size: sequences at once.
        max_new_tokens, n_rounds: size of the measurement; medians over the rounds.
        tell: told what each tau came to.

    Returns:
        Per tau both speeds, their ratio, the share of LLM tokens and whether the tokens were the same.
    """
    pair, router = engine.pair, engine.router()
    prompts = [pair.encode(problem.prompt) for problem in problems]

    def at(threshold: float) -> dict[str, Any]:
        settings = DecodeSettings(threshold=threshold, max_new_tokens=max_new_tokens)

        def batch() -> list[Any]:
            done = decode_batch(pair, router, prompts, settings, batch_size=batch_size, may_vary_threads=True)
            return sorted(done, key=lambda one: one.index)

        def single() -> list[Any]:
            return [list(decode(pair, router, prompt, settings)) for prompt in prompts]

        rounds = Rounds({"single": single, "batch": batch})
        for _ in rounds.run(n_rounds, n_warm_up=0):
            pass
        singles = [[_ids(events) for events in runs] for runs in rounds.results["single"]]
        batches = [[list(done.token_ids) for done in runs] for runs in rounds.results["batch"]]
        n_by_llm = sum(done.n_llm_tokens for done in rounds.results["batch"][-1])
        return {
            "llm_token_share": round(n_by_llm / sum(map(len, batches[-1])), 4),
            "single_tokens_per_s": _tokens_per_s(singles, rounds.seconds["single"]),
            "batch_tokens_per_s": _tokens_per_s(batches, rounds.seconds["batch"]),
            "ratio": rounds.ratio("single", "batch"),
            "same_tokens": singles == batches,
        }

    rows = {}
    for threshold in thresholds:
        rows[f"{threshold:g}"] = at(threshold)
        tell(f"tau {threshold:g}: {rows[f'{threshold:g}']}")
    return about(pair, "python -m citer_core bench --what batch") | {
        "router": router.name,
        "batch_size": batch_size,
        "n_prompts": len(prompts),
        "max_new_tokens": max_new_tokens,
        "thresholds": rows,
    }


def _tokens_per_s(texts: Sequence[Sequence[list[int]]], seconds: Sequence[float]) -> float:
    """The median over rounds, of which each wrote some texts."""
    return round(statistics.median(sum(map(len, some)) / s for some, s in zip(texts, seconds, strict=True)), 1)


@dataclass(slots=True)
class _Watch:
    """When a run was submitted, had its first token and ended."""

    run: Run
    submitted_s: float = 0.0
    first_s: float | None = None
    ended_s: float | None = None

    def changed(self) -> None:
        now = time.perf_counter()
        if self.run.finish_reason is not None:
            self.ended_s = now
        elif self.first_s is None:
            self.first_s = now


def class_benchmark(
    engine: Engine,
    problems: Sequence[Problem],
    *,
    n_sessions: int = 50,
    n_runs: int = 5,
    max_new_tokens: int = 150,
    n_slots: int = 32,
    batch_size: int = 16,
    n_rounds: int = 3,
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """A class at once: many small runs submitted together to one `SharedDecoder`, beside `run_batch` over the same.

    Args:
        engine: pair and router, at the tau that it recommends.
        problems: at least one; they come again where there are fewer than runs.
        n_sessions, n_runs: size of the class. Every session's runs are submitted before the first of them ends.
        max_new_tokens: of each run.
        n_slots: of the decoder.
        batch_size: of `run_batch`.
        n_rounds: each way is measured so often, in turns, after a round that is not counted; medians are given.
        tell: told what each round came to.

    Returns:
        Wall seconds of both ways and their ratio, round by round the smallest and the largest, p50 and p95 of the wait
        for the first token and for the end in the shared decoder, its resident memory, and whether texts were the same.
    """
    settings = DecodeSettings(threshold=engine.default_threshold(), max_new_tokens=max_new_tokens)
    asked = [problems[number % len(problems)] for number in range(n_sessions * n_runs)]
    decoder = SharedDecoder(engine, n_slots=n_slots)
    rounds = Rounds[Any]({
        "batch": lambda: dict(engine.run_batch(asked, settings=settings, batch_size=batch_size)),
        "shared": lambda: _together(decoder, [engine.start(problem, settings=settings) for problem in asked]),
    })  # fmt: skip
    batch_s, shared_s = rounds.seconds["batch"], list[float]()
    try:
        for number in rounds.run(n_rounds):
            if number:
                watches = rounds.results["shared"][-1]
                shared_s.append(max(watch.ended_s for watch in watches) - watches[0].submitted_s)
                tell(f"round {number} of {n_rounds}: shared {shared_s[-1]:.2f} s, run_batch {batch_s[-1]:.2f} s")
    finally:
        decoder.close()
    texts = [[_ids(watch.run.events_since(0)) for watch in watches] for watches in rounds.results["shared"]]
    batches = [[_ids(traces[number].events) for number in range(len(asked))] for traces in rounds.results["batch"]]
    watched = [watch for watches in rounds.results["shared"] for watch in watches]
    ratios = [ours / theirs for ours, theirs in zip(shared_s, batch_s, strict=True)]
    resident = resident_bytes()
    return about(engine.pair, "python -m citer_core bench --what class") | {
        "router": engine.default_router,
        "threshold": settings.threshold,
        "n_sessions": n_sessions,
        "n_runs_each": n_runs,
        "n_tokens": sum(map(len, texts[-1])),
        "max_new_tokens": max_new_tokens,
        "n_slots": n_slots,
        "batch_size": batch_size,
        "n_rounds": n_rounds,
        "shared_s": round(statistics.median(shared_s), 2),
        "run_batch_s": round(rounds.median("batch"), 2),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
        "first_token_s": _spread([watch.first_s - watch.submitted_s for watch in watched if watch.first_s is not None]),
        "whole_run_s": _spread([watch.ended_s - watch.submitted_s for watch in watched]),
        "resident_mb": None if resident is None else round(resident / 1e6),
        "n_failed": sum(watch.run.finish_reason not in ("eos", "length") for watch in watched),
        "same_tokens": texts == batches,
    }


def _ids(events: Sequence[TokenEvent]) -> list[int]:
    return [event.token_id for event in events]


def _together(decoder: SharedDecoder, runs: Sequence[Run]) -> list[_Watch]:
    """Submits all of them at once and waits for the last."""
    watches = [_Watch(run) for run in runs]
    for watch in watches:
        watch.run.on_change(watch.changed)
    for watch in watches:
        watch.submitted_s = time.perf_counter()
        decoder.submit(watch.run)
    for watch in watches:
        watch.run.wait(watch.run.settings.max_new_tokens, LONGEST_S)  # more than it can have: it waits for the end
    while any(watch.ended_s is None for watch in watches):  # the last are told of their end
        time.sleep(0.001)
    return watches


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    shares = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    return {name: round(quantile(seconds, share), 3) for name, share in shares.items()}


def generate(
    lm: LanguageModel,
    prompt: Sequence[int],
    n_new: int,
    *,
    eos_ids: Sequence[int] | None = None,
    assistant: LanguageModel | None = None,
) -> list[int]:
    """Greedy decoding by transformers' `generate`.

    Args:
        lm: the model.
        prompt: token ids.
        n_new: new tokens, at most.
        eos_ids: that end a text; None lets nothing end it before.
        assistant: that writes drafts.
    """
    ids = torch.tensor([list(prompt)], device=lm.device)
    # An end of text that is no token: no logits processor has to see to it.
    eos = [lm.model.config.vocab_size] if eos_ids is None else list(eos_ids)
    config = GenerationConfig(do_sample=False, max_new_tokens=n_new, eos_token_id=eos, pad_token_id=0)
    output = lm.model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        generation_config=config,
        assistant_model=assistant.model if assistant else None,
    )
    written: list[int] = output[0, len(prompt) :].tolist()
    return written


def about(pair: ModelPair, command: str) -> dict[str, Any]:
    """What a stored result says of where it came from."""
    return {
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
        "command": command,
        "pair": pair.info.name,
        "pair_revision": pair.info.revision,
        "dtype": pair.info.dtype,
        "products": pair.products_chosen(),
    }
