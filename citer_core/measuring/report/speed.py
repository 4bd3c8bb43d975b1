"""Speed of passes and of runs, in each way of decoding, beside what the bytes say: of one sequence, of batches of a
data set, and of visitors who share one decoder. Called by `steps`.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import torch

from citer_core.cost import H100_SXM, CostModel, CostSummary, ModelSpec
from citer_core.engine import Engine
from citer_core.errors import CiterError
from citer_core.measuring.device_probe import pass_times
from citer_core.measuring.pipeline_benchmark import class_benchmark, generate, passes_alone
from citer_core.measuring.profile import profile_pair, small_parts
from citer_core.measuring.report.bench import Case, Turn
from citer_core.measuring.rounds import Rounds, timed
from citer_core.measuring.script_router import ScriptRouter
from citer_core.measuring.step_cost import PassTime, fit_step_cost
from citer_core.models.batch import batch_completions
from citer_core.models.reader import Reader
from citer_core.routing.catalog import load_routers
from citer_core.routing.decode import decode, decode_batch
from citer_core.routing.decoder import Decoder
from citer_core.routing.pace import Pace
from citer_core.routing.prompt import sequence_key
from citer_core.routing.router import RouterFeatures
from citer_core.routing.sides import sides_of
from citer_core.tasks.problems import problem_from_text
from citer_core.types import WithResult

REPREFILL_SHARE = 0.3
BATCH_SHARE = 0.2
ANY_TOKEN = 5


def measure_passes(case: Case, turn: Turn) -> dict[str, Any]:
    """Milliseconds of passes of SLM, LLM and router, and the share of the copy bandwidth that their bytes keep busy."""
    pair, plan, bandwidth = case.pair, case.plan, case.bench.bandwidth
    models = {"slm": pair.slm, "llm": pair.local_llm}
    times: dict[str, list[PassTime]] = {}
    n_rounds = 0
    measured = pass_times(models, plan.n_new, plan.contexts, plan.n_rounds, n_warm_up=plan.n_warm_up)
    for n_rounds, times in enumerate(turn.each(measured), start=1):  # noqa: B007 - the last ones count
        pass
    router_s, candidates_s = small_parts(pair, case.router, plan.n_rounds)
    return {
        **_about(case),
        "n_rounds": n_rounds,
        "slm": _passes(pair.info.slm, times["slm"], bandwidth),
        "llm": _passes(pair.info.llm, times["llm"], bandwidth),
        "router_ms": 1000 * router_s,
        "candidates_ms": 1000 * candidates_s,
    }


def _passes(spec: ModelSpec, times: list[PassTime], bandwidth: float) -> dict[str, Any]:
    rows = [
        {
            "n_new": one.n_new,
            "n_cached": one.n_cached,
            "ms": 1000 * one.seconds,
            "bandwidth_share": spec.forward_bytes(one.n_new, one.n_cached) / one.seconds / bandwidth,
        }
        for one in times
    ]
    found = {"name": spec.name, "weight_bytes": spec.weight_bytes, "passes": rows}
    try:
        fit = fit_step_cost(times)
    except CiterError:  # too few of them
        return found
    found["fit"] = {
        "fixed_ms": 1000 * fit.fixed_s,
        "ms_per_token": 1000 * fit.per_token_s,
        "ms_per_1000_of_context": 1e6 * fit.per_context_s,
        "error": fit.error,
    }
    return found


def measure_routed(case: Case, turn: Turn) -> dict[str, Any]:
    """Routed runs at each share, each beside its bare passes and the LLM's own."""
    pair, prompt, shares = case.pair, case.prompt, case.plan.shares
    n_new = case.settings.max_new_tokens
    alone = _measured(case, case.plan.n_rounds, turn.part(1 / (len(shares) + 1)), {
        "llm_alone": lambda: passes_alone(pair.local_llm, prompt, n_new),
        "slm_alone": lambda: passes_alone(pair.slm, prompt, n_new),
    })  # fmt: skip
    return {
        **_about_runs(case),
        "llm_alone": _speed(case, alone.seconds["llm_alone"], bytes_alone(case, pair.info.llm)),
        "slm_alone": _speed(case, alone.seconds["slm_alone"], bytes_alone(case, pair.info.slm)),
        "routed": [
            _routed(case, share, alone.median("llm_alone"), turn.part(1 / (len(shares) - number)))
            for number, share in enumerate(shares)
        ],
    }


def _routed(case: Case, share: float, llm_alone_s: float, turn: Turn) -> dict[str, Any]:
    """One share. Time outside models and router is what a run takes more than its own passes by themselves."""
    pair, prompt, settings, router = case.pair, case.prompt, case.settings, case.script(share)
    events = list(decode(pair, router, prompt, settings))
    by_llm = [event.source == "llm" for event in events]
    rounds = _measured(case, case.plan.n_rounds, turn, {
        "routed": lambda: list(decode(pair, router, prompt, settings)),
        "bare": lambda: bare_passes(case, router, by_llm),
    })  # fmt: skip
    cost = CostSummary.of(CostModel(pair.info.slm, pair.info.llm, H100_SXM, router.n_params), events)
    both = zip(rounds.seconds["bare"], rounds.seconds["routed"], strict=True)
    speedup, by_bytes = llm_alone_s / rounds.median("routed"), 1 / cost.bytes_share_of_llm_only
    return {
        "asked_share": share,
        "llm_share": sum(by_llm) / len(by_llm),
        "n_hand_offs": sum(one != other for one, other in itertools.pairwise(by_llm)),
        **_speed(case, rounds.seconds["routed"], cost.routed.n_bytes),
        "outside_share": statistics.median(1 - bare / whole for bare, whole in both),
        "speedup_over_llm": speedup,
        "speedup_by_bytes": by_bytes,
        "attained": speedup / by_bytes,
    }


@torch.inference_mode()
def bare_passes(case: Case, router: ScriptRouter, by_llm: Sequence[bool]) -> None:
    """The passes of a routed run in their order, the router and one number read for each decision, and nothing else.

    Args:
        case: pair, way and prompt of the run; the tokens behind it are any, as they do not change the work.
        router: of the run.
        by_llm: of each token, whether the LLM wrote it.
    """
    pair = case.pair
    if pair.slm.is_replayed and pair.local_llm.is_replayed:
        _bare_replays(case, router, by_llm)
        return
    slm, llm, ids = Reader(pair.slm), Reader(pair.local_llm), list(case.prompt)
    key = torch.tensor([sequence_key(ids)], device=pair.slm.device)
    positions = torch.arange(len(by_llm), device=pair.slm.device).split(1)
    for position, is_llm in zip(positions, by_llm, strict=True):
        seen = slm.read([ids])
        router.confidence(RouterFeatures(seen.hidden, seen.logits, seen.hidden, key, position)).item()
        if is_llm:
            llm.read([ids]).logits[0, 0].item()
        ids.append(ANY_TOKEN)


def _bare_replays(case: Case, router: ScriptRouter, by_llm: Sequence[bool]) -> None:
    """The same where passes are replayed, one after another and none ahead."""
    slm, llm = sides = sides_of(case.pair, 1)
    with closing(Decoder(case.pair, 1, Pace(batch_size=1), sides)) as decoder:
        s = decoder.admit(case.prompt, router, case.settings)
        for is_llm in by_llm:
            slm.read([s], [len(s.ids)], {})
            if is_llm:
                llm.read([s], [len(s.ids)])
            s.ids.append(ANY_TOKEN)


def measure_references(case: Case, turn: Turn) -> dict[str, Any]:
    """`generate` of transformers, assisted generation, and the loop that reads the whole text at every call."""
    pair, prompt, settings, router = case.pair, case.prompt, case.settings, case.script(REPREFILL_SHARE)
    slm, llm, n_new = pair.slm, pair.local_llm, settings.max_new_tokens
    rounds = _measured(case, min(3, case.plan.n_rounds), turn, {
        "slm_generate": lambda: generate(slm, prompt, n_new),
        "llm_generate": lambda: generate(llm, prompt, n_new),
        "assisted_generation": lambda: generate(llm, prompt, n_new, assistant=slm),
        "routed_at_0.3_reprefilled": lambda: list(decode(pair, router, prompt, settings, reuse_llm_cache=False)),
    })  # fmt: skip
    n_bytes = {"slm_generate": bytes_alone(case, pair.info.slm), "llm_generate": bytes_alone(case, pair.info.llm)}
    return {
        **_about_runs(case),
        "runs": {name: _speed(case, seconds, n_bytes.get(name)) for name, seconds in rounds.seconds.items()},
        "caution": "Of random weights hardly any draft is accepted: assisted generation is a lower bound.",
    }


def measure_batches(case: Case, turn: Turn) -> dict[str, Any]:
    """Tokens per second of batches, routed and by the LLM alone."""
    plan = case.plan
    sizes = (plan.batches[0], *plan.batches)  # the first once more before, not counted
    rows = [_batch(case, size) for size in turn.each(sizes, least=2)]
    return {"dtype": plan.dtype, "asked_share": BATCH_SHARE, "n_new": plan.n_written, "rows": rows[1:]}


def _batch(case: Case, size: int) -> dict[str, Any]:
    pair, prompts, router, settings = case.pair, case.prompts(size), case.script(BATCH_SHARE), case.settings
    n_new = settings.max_new_tokens
    routed_s, done = timed(lambda: list(decode_batch(pair, router, prompts, settings, batch_size=size)))
    llm_s, alone = timed(
        lambda: list(
            batch_completions(pair.local_llm, prompts, eos_ids=frozenset(), max_new_tokens=n_new, batch_size=size)
        )
    )
    n_tokens = sum(len(one.steps) for one in done)
    return {
        "batch_size": size,
        "n_tokens": n_tokens,
        "llm_share": sum(one.n_llm_tokens for one in done) / n_tokens,
        "routed_tokens_per_s": n_tokens / routed_s,
        "llm_tokens_per_s": sum(len(ids) for _, ids in alone) / llm_s,
        "speedup_over_llm": llm_s / routed_s,
    }


def measure_runs(case: Case, turn: Turn) -> dict[str, Any]:
    """Runs of several visitors at once on one device: all of them in one pass, or, with graphs, one after another."""
    router = case.script(BATCH_SHARE)
    engine = Engine(case.pair, {router.name: router})
    rows = [_at_once(case, engine, n_at_once) for n_at_once in turn.each(case.plan.n_at_once)]
    return {"dtype": case.plan.dtype, "rows": rows}


def _at_once(case: Case, engine: Engine, n_at_once: int) -> dict[str, Any]:
    texts = [" ".join(f"t{token}" for token in prompt) for prompt in case.prompts(n_at_once)]
    found = class_benchmark(
        engine,
        [problem_from_text(text, "open") for text in texts],
        n_sessions=n_at_once,
        n_runs=1,
        max_new_tokens=case.settings.max_new_tokens,
        n_rounds=1,
    )
    return {
        "n_at_once": n_at_once,
        "tokens_per_s": found["n_tokens"] / found["shared_s"] if found["shared_s"] else None,
        "first_token_s": found["first_token_s"],
        "whole_run_s": found["whole_run_s"],
        "n_failed": found["n_failed"],
        "same_tokens_as_batch": found["same_tokens"],
    }


def measure_profile(case: Case, command: str) -> dict[str, Any]:
    """Up to which share of LLM tokens routing pays; of random weights it says nothing of agreement."""
    pair, is_bundled = case.pair, case.shape is None
    routers = load_routers(pair)[0] if is_bundled else {(router := case.router).name: router}
    work = profile_pair(
        Engine(pair, routers),
        case.plan.profile,
        command=command,
        with_agreement=is_bundled,
        n_warm_up=case.plan.n_warm_up,
    )
    for _ in (steps := WithResult(work)):
        pass
    return {"pair": pair.info.name, "profile": steps.result.as_json()}


def bytes_alone(case: Case, spec: ModelSpec) -> int:
    """Estimated bytes that one model moves to read the prompt and write as many tokens as a run."""
    n_prompt, n_more = case.plan.n_prompt, case.settings.max_new_tokens - 1
    return spec.forward_bytes(n_prompt, 0) + sum(spec.forward_bytes(1, n_prompt + n) for n in range(n_more))


def _measured(case: Case, n_rounds: int, turn: Turn, works: dict[str, Callable[[], object]]) -> Rounds[object]:
    """One round that counts, and more while there is time."""
    rounds = Rounds(works, case.bench.clock)
    for _ in turn.each(rounds.run(n_rounds), least=2):
        pass
    return rounds


def _speed(case: Case, seconds: Sequence[float], n_bytes: float | None) -> dict[str, Any]:
    middle, n_new = statistics.median(seconds), case.settings.max_new_tokens
    speed = {"tokens_per_s": n_new / middle, "ms_per_token": 1000 * middle / n_new, "n_rounds": len(seconds)}
    return speed if n_bytes is None else speed | {"bandwidth_share": n_bytes / middle / case.bench.bandwidth}


def _about(case: Case) -> dict[str, Any]:
    return {
        "dtype": case.plan.dtype,
        "is_replayed": [case.pair.slm.is_replayed, case.pair.local_llm.is_replayed],
        "copy_bytes_per_s": case.bench.bandwidth,
    }


def _about_runs(case: Case) -> dict[str, Any]:
    return _about(case) | {"n_prompt": case.plan.n_prompt, "n_new": case.settings.max_new_tokens}
