"""Speed of whole runs: routed at scripted shares beside each model alone, in each way of decoding.

Time outside models and router is what a run takes more than its own passes by themselves: the same passes in the same
order, router and one number read for each decision, and nothing else. It is compared with what the bytes say. Called by
`order`.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import torch

from citer_core.cost import H100_SXM, CostModel, CostSummary, ModelSpec
from citer_core.measuring.benchmark import generate_alone, passes_alone
from citer_core.measuring.report.bench import Bench
from citer_core.measuring.report.budget import Turn
from citer_core.measuring.report.paths import DecodePath
from citer_core.measuring.report.shapes import PairShape, prompt_of
from citer_core.models.pair import ModelPair
from citer_core.routing.decode import decode
from citer_core.routing.decoder import Decoder, sequence_key, sides_of
from citer_core.routing.pace import Pace
from citer_core.routing.router import Router, RouterFeatures
from citer_core.types import DecodeSettings, TokenEvent

REPREFILL_SHARE = 0.3


def measure_routed(bench: Bench, shape: PairShape, path: DecodePath, turn: Turn) -> dict[str, Any]:
    """Routed runs at each share, each beside its bare passes and the LLM's own."""
    pair, plan = bench.shaped(shape, path), bench.plan
    prompt = prompt_of(pair, plan.n_prompt)
    alone = rounds_of(bench, plan.n_rounds, turn.part(0, len(plan.shares) + 1), {
        "llm": lambda: passes_alone(pair.local_llm, prompt, plan.n_written),
        "slm": lambda: passes_alone(pair.slm, prompt, plan.n_written),
    })  # fmt: skip
    llm_bytes = bytes_alone(pair.info.llm, plan.n_prompt, plan.n_written)
    slm_bytes = bytes_alone(pair.info.slm, plan.n_prompt, plan.n_written)
    rows = [
        _routed_row(bench, pair, share, prompt, statistics.median(alone["llm"]), turn.part(number, len(plan.shares)))
        for number, share in enumerate(plan.shares)
    ]
    return {
        **_about(bench, pair, shape, path),
        "llm_alone": _alone_row(bench, alone["llm"], llm_bytes),
        "slm_alone": _alone_row(bench, alone["slm"], slm_bytes),
        "routed": rows,
    }


def measure_references(bench: Bench, shape: PairShape, path: DecodePath, turn: Turn) -> dict[str, Any]:
    """`generate` of transformers, assisted generation, and the loop that reads the whole text at every call."""
    pair, plan = bench.shaped(shape, path), bench.plan
    prompt, n_new = prompt_of(pair, plan.n_prompt), plan.n_written
    settings = DecodeSettings(threshold=0.5, max_new_tokens=n_new)
    router = bench.spread(pair, REPREFILL_SHARE, n_new)
    seconds = rounds_of(bench, min(3, plan.n_rounds), turn, {
        "slm_generate": lambda: generate_alone(pair.slm, prompt, n_new),
        "llm_generate": lambda: generate_alone(pair.local_llm, prompt, n_new),
        "assisted_generation": lambda: generate_alone(pair.local_llm, prompt, n_new, assistant=pair.slm),
        "routed_at_0.3_reprefilled": lambda: list(decode(pair, router, prompt, settings, reuse_llm_cache=False)),
    })  # fmt: skip
    rows = {name: _speed(values, n_new) for name, values in seconds.items()}
    for name, spec in (("slm_generate", pair.info.slm), ("llm_generate", pair.info.llm)):
        n_bytes = bytes_alone(spec, plan.n_prompt, n_new)
        rows[name]["bandwidth_share"] = n_bytes / statistics.median(seconds[name]) / bench.bandwidth
    return {
        **_about(bench, pair, shape, path),
        "runs": rows,
        "caution": "Of random weights hardly any draft is accepted: assisted generation is a lower bound.",
    }


def _routed_row(
    bench: Bench, pair: ModelPair, share: float, prompt: list[int], llm_alone_s: float, turn: Turn
) -> dict[str, Any]:
    n_new = bench.plan.n_written
    router, settings = bench.spread(pair, share, n_new), DecodeSettings(threshold=0.5, max_new_tokens=n_new)
    events: list[TokenEvent] = list(decode(pair, router, prompt, settings))
    by_llm = [event.source == "llm" for event in events]
    seconds = rounds_of(bench, bench.plan.n_rounds, turn, {
        "routed": lambda: list(decode(pair, router, prompt, settings)),
        "bare": lambda: bare_passes(pair, router, prompt, by_llm),
    })  # fmt: skip
    cost = CostSummary.of(CostModel(pair.info.slm, pair.info.llm, H100_SXM, router.n_params), events)
    routed_s = statistics.median(seconds["routed"])
    speedup, by_bytes = llm_alone_s / routed_s, 1 / cost.bytes_share_of_llm_only
    return {
        "asked_share": share,
        "llm_share": sum(by_llm) / len(by_llm),
        "n_hand_offs": sum(one != other for one, other in itertools.pairwise(by_llm)),
        **_speed(seconds["routed"], n_new),
        "bandwidth_share": cost.routed.n_bytes / routed_s / bench.bandwidth,
        "outside_share": statistics.median(
            1 - bare / whole for bare, whole in zip(seconds["bare"], seconds["routed"], strict=True)
        ),
        "speedup_over_llm": speedup,
        "speedup_by_bytes": by_bytes,
        "attained": speedup / by_bytes,
    }


@torch.inference_mode()
def bare_passes(pair: ModelPair, router: Router, prompt: Sequence[int], by_llm: Sequence[bool]) -> None:
    """The passes of a routed run, the router and the waits for its decisions, and nothing else.

    Args:
        pair, router: of the run.
        prompt: token ids; those after them are any, as they do not change the work.
        by_llm: of each token, whether the LLM wrote it.
    """
    if pair.slm.is_replayed and pair.local_llm.is_replayed:
        _bare_replays(pair, router, prompt, by_llm)
        return
    device, llm = pair.slm.device, pair.local_llm
    text = [*prompt, *([5] * len(by_llm))]
    key = torch.tensor([sequence_key(prompt)], device=device)
    positions = torch.arange(len(by_llm), device=device).split(1)
    slm_cache, llm_cache = pair.slm.new_cache(), llm.new_cache()
    n_slm = n_llm = 0
    prompt_hidden: torch.Tensor | None = None
    for index, is_llm in enumerate(by_llm):
        end = len(prompt) + index
        logits, hidden = pair.slm.forward([text[n_slm:end]], slm_cache)
        n_slm = end
        prompt_hidden = hidden if prompt_hidden is None else prompt_hidden
        features = RouterFeatures(hidden, logits, prompt_hidden, key, positions[index])
        router.confidence(features).item()
        if is_llm:
            llm.forward([text[n_llm:end]], llm_cache)[0][0, 0].item()
            n_llm = end


def _bare_replays(pair: ModelPair, router: Router, prompt: Sequence[int], by_llm: Sequence[bool]) -> None:
    """The same where passes are replayed, one after another and none ahead."""
    settings = DecodeSettings(threshold=0.5, max_new_tokens=len(by_llm))
    slm, llm = sides = sides_of(pair, 1)
    with closing(Decoder(pair, 1, Pace(batch_size=1), sides)) as decoder:
        s = decoder.admit(prompt, router, settings)
        for is_llm in by_llm:
            slm.read([s], [len(s.ids)], {})
            if is_llm:
                llm.read([s], [len(s.ids)])
            s.ids.append(5)


def rounds_of(
    bench: Bench, n_rounds: int, turn: Turn, works: dict[str, Callable[[], object]]
) -> dict[str, list[float]]:
    """Seconds of each work, in turns, after a round that is not counted: one round, and more while there is time."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(n_rounds + 1):
        if number > 1 and turn.is_over():
            break
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if bench.is_gpu:
                torch.cuda.synchronize(bench.device)
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def bytes_alone(spec: ModelSpec, n_prompt: int, n_new: int) -> int:
    """Estimated bytes that one model moves to read a prompt and write so many tokens."""
    return spec.forward_bytes(n_prompt, 0) + sum(spec.forward_bytes(1, n_prompt + n) for n in range(n_new - 1))


def _alone_row(bench: Bench, seconds: Sequence[float], n_bytes: int) -> dict[str, Any]:
    share = n_bytes / statistics.median(seconds) / bench.bandwidth
    return {**_speed(seconds, bench.plan.n_written), "bandwidth_share": share}


def _speed(seconds: Sequence[float], n_new: int) -> dict[str, Any]:
    middle = statistics.median(seconds)
    return {"tokens_per_s": n_new / middle, "ms_per_token": 1000 * middle / n_new, "n_rounds": len(seconds)}


def _about(bench: Bench, pair: ModelPair, shape: PairShape, path: DecodePath) -> dict[str, Any]:
    return {
        "pair": shape.name,
        "path": path.name,
        "note": path.note,
        "dtype": bench.plan.dtype,
        "is_replayed": [pair.slm.is_replayed, pair.local_llm.is_replayed],
        "copy_bytes_per_s": bench.bandwidth,
        "n_prompt": bench.plan.n_prompt,
        "n_new": bench.plan.n_written,
    }
