"""Runs the parts of the evidence into a work folder, and stores each one's result as it is done.

Each part can be stopped and goes on where it was: labels, routers and answers are kept as they come. Formats run beside
each other where there are workers for them. Called by the command line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from citer_core.decode_settings import in_words
from citer_core.engine import Engine
from citer_core.evaluation.run_book import RunBook, threshold_for
from citer_core.evaluation.shortcut import compare_branches
from citer_core.evidence import accuracy, look_back
from citer_core.evidence.advice import UNTRAINED
from citer_core.evidence.decisive import flip_decisions
from citer_core.evidence.overhead import measure_overhead
from citer_core.evidence.part_tables import OUTCOME, PARTS, published, round_of
from citer_core.evidence.plan import FORMATS, EvidencePlan
from citer_core.evidence.routers import RouterShop, transferred, variations
from citer_core.evidence.setup_cost import of_plan, setup_cost
from citer_core.evidence.speculation import TimedWay, described, one_by_one, speculated
from citer_core.evidence.stored import StoredPart, plan_numbers
from citer_core.evidence.truth_routers import of_truths
from citer_core.labelling.rollouts import Policy
from citer_core.labelling.teacher_forcing import example_of
from citer_core.routing.stored import StoredRouter
from citer_core.tasks.problem_set import ProblemSet
from citer_core.tasks.prompts import DataType

Say = Callable[[str], None]
SECOND = 2  # round of published labels
AT_SHARE = 0.10  # of LLM tokens: where decisions are flipped, branches are routed and transfer is compared


@dataclass(frozen=True)
class Measurement:
    """What is measured, and where it goes.

    Attributes:
        load: makes the engine; called in each process.
        plan: sizes and seeds.
        work: folder of the work.
        output: folder of the set's stored parts.
        title: of the set, for people.
        command: that measures it.
        n_workers: processes; with two, the formats run beside each other.
        takes_shipped: take the pair's own routers as those of the first seed where they are of this plan.
    """

    load: Callable[[], Engine]
    plan: EvidencePlan
    work: Path
    output: Path
    title: str
    command: str
    n_workers: int = 1
    takes_shipped: bool = False


def measure(asked: Measurement, parts: Collection[str] = PARTS, say: Say = lambda _: None) -> Iterator[Path]:
    """Measures the parts, in the order of `PARTS`; yields each one's file.

    Raises:
        CiterError: a folder is another measurement's or cannot be written.
    """
    engine = asked.load()
    asked.work.mkdir(parents=True, exist_ok=True)
    if asked.takes_shipped:
        own = [engine.router(name) for name in engine.router_names]
        RouterShop(engine.pair, asked.work, asked.plan, say).take(r for r in own if isinstance(r, StoredRouter))
    for part in (part for part in PARTS if part in parts):
        start = time.perf_counter()
        content = _WHOLE[part](engine, asked, say) if part in _WHOLE else _of_formats(part, asked, say)
        stored = StoredPart.measured(
            part,
            engine.pair_info,
            title=asked.title,
            command=f"{asked.command} --parts {part}",
            plan=plan_numbers(asked.plan),
            seconds=time.perf_counter() - start,
            content=content,
        )
        yield stored.write(asked.output)


def _routers(engine: Engine, asked: Measurement, say: Say) -> Any:
    shop = RouterShop(engine.pair, asked.work, asked.plan, say)
    if asked.n_workers == 1:
        shop.trained()
    else:
        # Labels by outcome need no router: they are made beside the rounds, each of which needs the one before. What
        # learns from the second round goes there too, and so both have as much to do.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            beside = [pool.submit(_learn_from, asked, OUTCOME)]
            for number in range(1, asked.plan.n_rounds + 1):
                shop.labels(published(number))
                shop.trained_router(round_of("citer", number), asked.plan.seeds[0])  # whom the next round needs at once
                if number == SECOND:
                    beside.append(pool.submit(_learn_from, asked, published(number)))
            for number in range(1, asked.plan.n_rounds + 1):
                if number != SECOND:
                    shop.train_from(published(number))
            for done in beside:
                done.result()
    return shop.report()


def _learn_from(asked: Measurement, labels: str) -> None:
    """Makes the labels if they are not there, and everything that learns from them."""
    shop = RouterShop(asked.load().pair, asked.work, asked.plan, print)
    shop.labels(labels)
    shop.train_from(labels)


def _transfer(engine: Engine, asked: Measurement, say: Say) -> Any:
    """Routers of one format and of both, each on each, at one share."""
    plan = asked.plan
    named, seed = accuracy.Named, plan.seeds[0]
    base = sorted({learner.name.rpartition("-")[0] for learner in transferred()})
    trained_on = {named(f"{name}@{seed}", name, ""): "both" for name in base}
    trained_on |= {named(f"{name}-{kind}@{seed}", name, ""): kind for name in base for kind in FORMATS}
    rows = []
    for tested_on in FORMATS:
        with _book(engine, asked, tested_on, say) as book:
            at_share = [(one, AT_SHARE) for one in trained_on]
            for one in accuracy.tried(book, plan.test(tested_on), plan.tuning(tested_on), at_share):
                row = {
                    **{name: one.about[name] for name in ("router", "share_wanted", "threshold")},
                    "trained_on": trained_on[one.named],
                    "tested_on": tested_on,
                    **accuracy.tally(one.runs, ("n", "right", "n_tokens", "n_llm_tokens")),
                }
                rows.append(row)
                n_right = sum(run.is_right for run in one.runs)
                say(f"{row['router']} of {row['trained_on']} on {tested_on}: {n_right} of {row['n']}")
    return rows


def _speculative(engine: Engine, asked: Measurement, say: Say) -> Any:
    """All formats one after another: beside other work, seconds of single answers would say nothing."""
    plan, found = asked.plan, {}
    keys = [_key(name, plan) for name in ("max-probability", _second(plan), "citer-outcome")]
    for data_type in FORMATS:
        test = plan.test(data_type)
        with _book(engine, asked, data_type, say) as book:
            taus = {key: threshold_for(book, key, plan.tuning(data_type), AT_SHARE) for key in keys}
        runs = speculated(engine, test, asked.work / f"speculative-{data_type}.jsonl", plan, say)
        timed_ways: list[TimedWay] = [(name, tau, ()) for name, tau in {**accuracy.ALONE, **taus}.items()]
        timed_ways += [(_key(way.router, plan), 0.0, way.others) for way in look_back.ways((look_back.USUAL_RATIO,))]
        say(f"{data_type}: {plan.n_timed} problems one at a time, in {len(timed_ways) + 1} ways")
        timed = one_by_one(book.engine, test.problems[: plan.n_timed], timed_ways, plan)
        found[data_type] = described(runs) | {
            "one_by_one": [row | {"router": row["router"].partition("@")[0]} for row in timed]
        }
    return found


def _key(router: str, plan: EvidencePlan) -> str:
    """Of a router's first seed in the engine of everything."""
    return router if router in UNTRAINED else f"{router}@{plan.seeds[0]}"


def _setup(engine: Engine, asked: Measurement, say: Say) -> Any:
    shop = RouterShop(engine.pair, asked.work, asked.plan, say)
    shop.trained()
    return setup_cost(engine, of_plan(engine.pair, shop, asked.plan), AT_SHARE, say)


def _second(plan: EvidencePlan) -> str:
    """The published router of the second round, or of the only one."""
    return round_of("citer", min(2, plan.n_rounds))


_WHOLE: dict[str, Callable[[Engine, Measurement, Say], Any]] = {
    "routers": _routers,
    "transfer": _transfer,
    "overhead": lambda engine, _asked, _say: measure_overhead(engine),
    "speculative": _speculative,
    "setup": _setup,
}


def _accuracy(engine: Engine, asked: Measurement, data_type: DataType, say: Say) -> Any:
    with _book(engine, asked, data_type, say) as book:
        return accuracy.by_share(book, data_type, asked.plan, _compared(engine, book.engine), say)


def _length(engine: Engine, asked: Measurement, data_type: DataType, say: Say) -> Any:
    plan = asked.plan
    with _book(engine, asked, data_type, say) as book:
        routers = _compared(engine, book.engine)
        return accuracy.by_length(book, plan.test(data_type), plan.tuning(data_type), routers, AT_SHARE)


def _compared(shipped: Engine, everything: Engine) -> list[accuracy.Named]:
    """The routers that are compared, without those that have seen one format only."""
    of_one_format = {learner.name for learner in transferred()}
    named = accuracy.named_routers(everything, shipped, {learner.name for learner in variations()})
    return [one for one in named if one.router not in of_one_format]


def _shortcut(engine: Engine, asked: Measurement, data_type: DataType, say: Say) -> Any:
    plan = asked.plan
    limits = {"max_new_tokens": plan.max_new_tokens, "batch_size": plan.batch_size}
    router = _everything(engine, asked, say).router(f"{_second(plan)}@{plan.seeds[0]}")
    policies = {"llm": Policy.llm_alone(**limits), "routed": Policy.routed(router, plan.rollout_share, **limits)}
    rows = plan.labelled((data_type,))[: plan.n_branch_problems]
    examples = [example_of(row, kind, engine.pair) for row, kind in rows]
    found = {}
    for name, policy in policies.items():
        say(f"{data_type}: both branches of {plan.n_branches} tokens of each case, {name}")
        report = compare_branches(engine.pair, examples, policy, plan.n_branches, plan.seeds[0])
        found[name] = {"threshold": policy.threshold} | {key: report[key] for key in ("n_examples", "cases")}
    return found


def _misjudged(engine: Engine, asked: Measurement, data_type: DataType, say: Say) -> Any:
    plan = asked.plan
    key = f"{_second(plan)}@{plan.seeds[0]}"
    with _book(engine, asked, data_type, say) as book:
        threshold = threshold_for(book, key, plan.tuning(data_type), AT_SHARE)
    say(f"{data_type}: every decision of {plan.n_flipped} answers flipped")
    return flip_decisions(book.engine, key, threshold, data_type, plan) | {"router": key.partition("@")[0]}


def _look_back(engine: Engine, asked: Measurement, data_type: DataType, say: Say) -> Any:
    test = asked.plan.test(data_type)
    few = replace(test, problems=test.problems[: asked.plan.n_grid])
    with _book(engine, asked, data_type, say) as book:
        points = _looked(book, test, look_back.ways(), asked.plan, say)
        grid = _looked(book, few, look_back.grid(), asked.plan, say)
    return {"n": len(test.problems), "points": points, "n_grid": len(few.problems), "grid": grid}


def _rules(engine: Engine, asked: Measurement, data_type: DataType, say: Say) -> Any:
    test = asked.plan.test(data_type)
    with accuracy.run_book(engine, asked.work, data_type, asked.plan) as book:
        return {"n": len(test.problems), "points": _looked(book, test, look_back.rules(), asked.plan, say)}


def _looked(
    book: RunBook, problems: ProblemSet, ways: Sequence[look_back.Way], plan: EvidencePlan, say: Say
) -> list[dict[str, Any]]:
    """A point of each way."""
    points = []
    for way in ways:
        key = _key(way.router, plan)
        runs = book.runs(key, problems, way.tau, way.others)
        n_right = sum(run.is_right for run in runs)
        say(f"{problems.data_type} {' '.join(in_words(way.others))} by {key}: {n_right} of {len(runs)} right")
        points.append(
            {
                "router": way.router,
                "label": way.label,
                "settings": dict(way.others),
                "n_params": book.engine.router(key).n_params,
                **accuracy.tally(runs, ("n_llm_tokens", *accuracy.WHOLE)),
                **({"threshold": way.tau} if way.tau else {}),
            }
        )
    return points


_BY_FORMAT: dict[str, Callable[[Engine, Measurement, DataType, Say], Any]] = {
    "accuracy": _accuracy,
    "shortcut": _shortcut,
    "misjudged": _misjudged,
    "length": _length,
    "look_back": _look_back,
    "rules": _rules,
    "truths": lambda engine, asked, data_type, say: of_truths(engine, asked.work, data_type, asked.plan, say),
}


def _of_formats(part: str, asked: Measurement, say: Say) -> dict[str, Any]:
    if asked.n_workers == 1:
        engine = asked.load()
        return {data_type: _BY_FORMAT[part](engine, asked, data_type, say) for data_type in FORMATS}
    # Not forked: torch has threads by now.
    with ProcessPoolExecutor(asked.n_workers, mp_context=get_context("spawn")) as pool:
        running = {data_type: pool.submit(_in_a_process, part, asked, data_type) for data_type in FORMATS}
        return {data_type: future.result() for data_type, future in running.items()}


def _in_a_process(part: str, asked: Measurement, data_type: DataType) -> Any:
    return _BY_FORMAT[part](asked.load(), asked, data_type, print)


def _everything(engine: Engine, asked: Measurement, say: Say) -> Engine:
    """The pair's own routers and those of the part `routers`, which are made where they are missing."""
    trained = RouterShop(engine.pair, asked.work, asked.plan, say).trained()
    return Engine(engine.pair, {**{name: engine.router(name) for name in engine.router_names}, **trained})


def _book(engine: Engine, asked: Measurement, data_type: DataType, say: Say) -> RunBook:
    """The runs of one format by every router there is."""
    return accuracy.run_book(_everything(engine, asked, say), asked.work, data_type, asked.plan)
