"""`profile_pair`: measures a pair on this device and concludes up to which LLM share routing is worth it here.

Measured: passes, router, loop, bandwidth, peak, agreement, decoding speeds. Estimated: bytes and FLOPs of a pass
(`cost.py`), break-evens. The result is a `Profile` (`profile_numbers.py`; `profile_words.py` says what
it means). Called by the command line and by the page.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
import statistics
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import torch

from citer_core.cost import ROUTER_BYTES_PER_PARAM, ModelSpec
from citer_core.engine import Engine
from citer_core.errors import SettingError
from citer_core.hardware import hardware_in_words
from citer_core.labelling.teacher_forcing import Example, example_of, teacher_force
from citer_core.measuring import device_probe, step_cost
from citer_core.measuring import profile_numbers as numbers
from citer_core.measuring.profile_numbers import Profile, ProfilePlan
from citer_core.measuring.rounds import Rounds, timed
from citer_core.measuring.script_router import HALF, ScriptRouter, even_script
from citer_core.measuring.step_cost import PassTime, RoutedCosts, StepCost
from citer_core.models.greedy import top_tokens
from citer_core.models.pair import ModelPair
from citer_core.routing.candidates import TOP_K
from citer_core.routing.decode import decode
from citer_core.routing.router import Router, RouterFeatures
from citer_core.routing.routers.training_free import AlwaysSLMRouter
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.prompts import DataType
from citer_core.types import DecodeSettings, TokenEvent

LLM_ALONE = "LLM alone, same loop"
BATCHES = (1, 2, 4, 8, 16, 32, 64)
Timed = tuple[float, list[TokenEvent]]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a profile is: `done` of 1, and what is being measured."""

    done: float
    doing: str


def sample_examples(pair: ModelPair, n_problems: int, seed: int) -> list[Example]:
    """Bundled problems of both formats with their ground truths, drawn without repetition."""
    examples = []
    kinds: tuple[DataType, ...] = ("math", "mc")
    for data_type in kinds:
        rows = bundled_rows(data_type)
        chosen = random.Random(seed).sample(rows, min(n_problems, len(rows)))
        examples += [example_of(row.row, data_type, pair) for row in chosen]
    return examples


def profile_pair(
    engine: Engine,
    plan: ProfilePlan,
    examples: Sequence[Example] | None = None,
    *,
    command: str,
    data: str = "bundled",
    with_agreement: bool = True,
    n_warm_up: int = 1,
) -> Generator[Progress, None, Profile]:
    """Measures everything.

    Args:
        engine: pair and default router.
        plan: how much.
        examples: ground truths for agreement; None draws bundled problems.
        command: that repeats the measurement.
        data: what `examples` are, in a word.
        with_agreement: False leaves out how often the models agree, which says nothing where weights are random.
        n_warm_up: rounds of passes before they count.

    Yields:
        Progress, at least before each part.

    Returns:
        The profile.

    Raises:
        SettingError: the pair's context is too short.
    """
    pair, router = engine.pair, engine.router()
    plan = plan.fitting(pair.max_context)
    yield Progress(0.0, "memory and arithmetic of this device")
    probe = _probe(pair, plan)
    passes = yield from _passes(pair, plan, n_warm_up)
    fits = {which: step_cost.fit_step_cost(times) for which, times in passes.items()}
    yield Progress(0.6, "router and hand-over")
    router_s, switch_s = small_parts(pair, router, plan.n_rounds)
    agreement: numbers.Agreement | None = None
    if with_agreement:
        yield Progress(0.65, "agreement of the two models")
        chosen = sample_examples(pair, plan.n_problems, plan.seed) if examples is None else examples
        agreement = _agreement(pair, chosen, data)
    runs, loop_s = yield from _runs(pair, router, plan)
    costs = RoutedCosts(fits["slm"], fits["llm"], router_s, loop_s, switch_s)
    context = reference_context(plan.contexts)
    return Profile(
        date=datetime.date.today().isoformat(),
        hardware=hardware_in_words() if pair.info.device.startswith("cuda") else cpu_in_words(),
        command=command,
        pair=pair.info.name,
        pair_revision=pair.info.revision,
        dtype=pair.info.dtype,
        device=pair.info.device,
        clock=device_probe.clock_for(pair.slm.device)[0],
        plan=plan,
        probe=probe,
        slm=_model(pair.info.slm, passes["slm"], fits["slm"], context, probe),
        llm=_model(pair.info.llm, passes["llm"], fits["llm"], context, probe),
        router=numbers.RouterTime(router.name, router.n_params, router_s),
        loop_s=loop_s,
        switch_s=switch_s,
        agreement=agreement,
        break_even=_break_even(pair, costs, router, plan, context, agreement),
        check=tuple(_check(costs, runs, plan)),
    )


def reference_context(contexts: Sequence[int]) -> int:
    """The measured context nearest to 256 tokens, a question with half an answer: what one-number summaries are for."""
    return min(contexts, key=lambda context: abs(context - 256))


def cpu_in_words() -> str:
    """`hardware_in_words` where a pair runs on the processor of a machine that also has a GPU."""
    return hardware_in_words() if not torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads"


def _probe(pair: ModelPair, plan: ProfilePlan) -> numbers.Probe:
    device = pair.slm.device
    sheet = device_probe.data_sheet_bandwidth(hardware_in_words()) if device.type == "cuda" else None
    large = (2048 if device.type == "cuda" else 256) * device_probe.MIB
    sizes = sorted({pair.info.slm.weight_bytes, pair.info.llm.weight_bytes, large} - {0})
    chosen = pair.products_chosen()

    def copy_of(size: int) -> numbers.CopySpeed:
        return numbers.CopySpeed(size, device_probe.copy_bandwidth(device, min(size, large), plan.n_rounds))

    return numbers.Probe(
        copy=tuple(map(copy_of, sizes)),
        peak_flops=device_probe.peak_flops(device, getattr(torch, pair.info.dtype), plan.n_rounds),
        data_sheet_bytes_per_s=sheet,
        threads=torch.get_num_threads(),
        products={which: tuple(numbers.ProductLine(**line) for line in lines) for which, lines in chosen.items()},
    )


def _passes(pair: ModelPair, plan: ProfilePlan, n_warm_up: int) -> Generator[Progress, None, dict[str, list[PassTime]]]:
    """The timed passes of both models."""
    models = {"slm": pair.slm, "llm": pair.local_llm}
    passes: dict[str, list[PassTime]] = {}
    measured = device_probe.pass_times(models, plan.n_new, plan.contexts, plan.n_rounds, plan.seed, n_warm_up=n_warm_up)
    for number, so_far in enumerate(measured, start=1):
        passes = so_far
        yield Progress(0.05 + 0.5 * number / plan.n_rounds, f"forward passes, round {number} of {plan.n_rounds}")
    return passes


@torch.inference_mode()
def small_parts(pair: ModelPair, router: Router, n_rounds: int) -> tuple[float, float]:
    """Seconds of one pass of the router, and of what a call of the LLM adds outside it: reading its distribution."""
    ids = [[i % pair.vocab_size for i in range(8)]]
    logits, hidden = pair.slm.forward(ids, pair.slm.new_cache())
    llm_logits, _ = pair.local_llm.forward(ids, pair.local_llm.new_cache())
    key = torch.zeros(1, dtype=torch.int64, device=pair.slm.device)

    def confidence() -> torch.Tensor:
        seen = RouterFeatures(hidden, logits, hidden, key, key, llm_logits=llm_logits if router.reads_llm else None)
        return router.confidence(seen)

    def candidates() -> torch.Tensor:
        return top_tokens(torch.log_softmax(llm_logits.float(), dim=-1).view(-1), TOP_K)[0]

    return device_probe.seconds_of(confidence, 10 * n_rounds), device_probe.seconds_of(candidates, 10 * n_rounds)


def _agreement(pair: ModelPair, examples: Sequence[Example], data: str) -> numbers.Agreement:
    """Top-1 agreement on true prefixes, token by token."""
    same = slm_right = llm_right = n_tokens = 0
    for forced in teacher_force(pair, examples):
        n_tokens += len(forced.truth_ids)
        same += int((forced.slm_ids == forced.llm_ids).sum())
        slm_right += int((forced.slm_ids == forced.truth_ids).sum())
        llm_right += int((forced.llm_ids == forced.truth_ids).sum())
    if n_tokens == 0:
        raise SettingError("There is no problem to compare the two models on: give one at least.")
    return numbers.Agreement(
        n_examples=len(examples),
        n_tokens=n_tokens,
        slm_is_llm=same / n_tokens,
        slm_is_truth=slm_right / n_tokens,
        llm_is_truth=llm_right / n_tokens,
        needed_share=1 - same / n_tokens,
        data=data,
    )


def _runs(pair: ModelPair, router: Router, plan: ProfilePlan) -> Generator[Progress, None, tuple[Rounds[Timed], float]]:
    """Real decoding of each contender, and seconds of a step outside models and router (a median)."""
    endless = dataclasses.replace(pair, eos_ids=frozenset())
    llm_alone = dataclasses.replace(endless, slm=pair.local_llm)
    prompt = [(7 + 13 * i) % pair.vocab_size for i in range(plan.n_prompt)]
    settings = DecodeSettings(threshold=HALF, max_new_tokens=plan.n_written)

    def run(of: ModelPair, router: Router) -> Timed:
        return timed(lambda: list(decode(of, router, prompt, settings)))

    works: dict[str, Callable[[], Timed]] = {LLM_ALONE: partial(run, llm_alone, AlwaysSLMRouter())}
    for share in (0.0, *plan.shares):
        script = ScriptRouter(router, even_script(share, plan.n_written), pair.slm.device)
        works[_name(share)] = partial(run, endless, script)
    rounds = Rounds(works, device_probe.clock_for(pair.slm.device)[1])
    yield Progress(0.7, "decoding")
    for number in rounds.run(plan.n_runs):
        yield Progress(0.75 + 0.2 * number / plan.n_runs, f"decoding, round {number} of {plan.n_runs}")
    # Events tell wall-clock time; their share of it carries over to the other clock.
    outside = [
        (1 - sum(e.slm_s + e.router_s for e in events) / on_wall) * seconds
        for (on_wall, events), seconds in zip(rounds.results[_name(0.0)], rounds.seconds[_name(0.0)], strict=True)
    ]
    return rounds, statistics.median(outside) / plan.n_written


def _name(share: float) -> str:
    return f"routed at {share:.0%}"


def _model(
    spec: ModelSpec, passes: list[PassTime], fit: StepCost, context: int, probe: numbers.Probe
) -> numbers.ModelProfile:
    n_bytes, flops = spec.forward_bytes(1, context), spec.forward_flops(1, context)
    # The copy of about as many bytes: a small model lives in the caches of a large processor.
    copy = min(probe.copy, key=lambda copied: abs(copied.n_bytes - spec.weight_bytes))
    verdict = step_cost.verdict_of(fit, context, n_bytes, flops, copy.bytes_per_s, probe.peak_flops)
    return numbers.ModelProfile(
        name=spec.name,
        n_params=spec.n_params,
        passes=tuple(passes),
        fit=fit,
        pass_bytes=n_bytes,
        achieved_bytes_per_s=n_bytes / fit.seconds(1, context),
        copy_bytes_per_s=copy.bytes_per_s,
        **asdict(verdict),
    )


def _break_even(
    pair: ModelPair,
    costs: RoutedCosts,
    router: Router,
    plan: ProfilePlan,
    context: int,
    agreement: numbers.Agreement | None,
) -> numbers.BreakEven:
    slm, llm, router_bytes = pair.info.slm, pair.info.llm, router.n_params * ROUTER_BYTES_PER_PARAM

    def shares(n_cached: int) -> numbers.SharesAt:
        of_bytes = step_cost.break_even_share_of_bytes(slm, llm, router_bytes, n_cached + 1)
        return numbers.SharesAt(n_cached, costs.break_even_share(n_cached), of_bytes)

    return numbers.BreakEven(
        **asdict(shares(context)),
        by_context=tuple(shares(n_cached) for n_cached in plan.contexts),
        by_batch=tuple(numbers.BatchShare(size, costs.break_even_share(context, size)) for size in BATCHES),
        largest_batch=None if agreement is None else costs.largest_batch(agreement.needed_share, context),
    )


def _check(costs: RoutedCosts, runs: Rounds[Timed], plan: ProfilePlan) -> Iterator[numbers.RunCheck]:
    """What the fitted costs predict for each real run, beside what it took."""
    predicted_alone = predicted_run_s(costs, None, plan.n_prompt, plan.n_written)
    for name, share in zip(runs.seconds, (None, 0.0, *plan.shares), strict=True):
        predicted = predicted_run_s(costs, share, plan.n_prompt, plan.n_written)
        measured = runs.median(name)
        ratios = runs.ratios(name, LLM_ALONE)
        yield numbers.RunCheck(
            run=name,
            llm_share=share,
            measured_tokens_per_s=plan.n_written / measured,
            predicted_tokens_per_s=plan.n_written / predicted,
            measured_of_llm_alone=statistics.median(ratios),
            predicted_of_llm_alone=predicted / predicted_alone,
            gap=predicted / measured - 1,
            lowest_of_llm_alone=min(ratios),
            highest_of_llm_alone=max(ratios),
        )


def predicted_run_s(costs: RoutedCosts, llm_share: float | None, n_prompt: int, n_written: int) -> float:
    """Seconds of a whole run, its prompt included; the share None is the LLM alone."""
    n_cached = n_prompt + n_written / 2  # on average
    if llm_share is None:
        return n_written * costs.llm_only_s(n_cached) + (n_prompt - 1) * costs.llm.per_token_s
    prompt = n_prompt * (costs.slm.per_token_s + (costs.llm.per_token_s if llm_share > 0 else 0))
    return n_written * costs.routed_s(llm_share, n_cached) + prompt
