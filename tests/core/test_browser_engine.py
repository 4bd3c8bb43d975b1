"""The browser's engine writes what Python's writes: ids, writers, confidences, costs, forks, probes, text."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from citer_core.cost import H100_SXM
from citer_core.decode_settings import LOOKING_BACK
from citer_core.engine import Engine
from citer_core.fork import Fork
from citer_core.labelling.teacher_forcing import example_of
from citer_core.tasks.datasets import bundled_rows
from citer_core.tasks.problems import Problem
from citer_core.text import decoder_of
from citer_core.trace import RoutingTrace
from citer_core.types import DecodeSettings, TokenEvent
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.answers import truth_message
from tests.sampling import few_or_all

ROOT = Path(__file__).resolve().parents[2]
TAUS = (0.0, 0.5, 0.93, 1.0)
LOOKS = (
    ("citer-outcome", DecodeSettings(**LOOKING_BACK)),
    ("max-probability", DecodeSettings(threshold=0.0, take_back=0.2, doubt_budget=3.0)),
    ("max-probability", DecodeSettings(threshold=0.0, take_back=1.0, look_every=8)),
)
WAYS = (*((name, DecodeSettings(threshold=tau)) for name in ("citer", "max-probability") for tau in TAUS), *LOOKS)
KINDS = ("citer-plus", "query-level", "bidirectional-entropy", "disagreement", "random")
CONFIDENCE = 1e-4
TIE = 1e-6

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@dataclass
class Asked:
    """What node is asked for, and what Python says of the same."""

    runs: list[RoutingTrace] = field(default_factory=list)
    orders: list[dict[str, Any]] = field(default_factory=list)

    def add(self, engine: Engine, problem: Problem, router: str, settings: DecodeSettings, fork: Fork | None = None):
        run = engine.start(problem, router=router, settings=settings, fork=fork)
        events = list(run)
        self.runs.append(run.trace())
        self.orders.append(order_of(problem, router, settings, fork))
        return events


def order_of(problem: Problem, router: str, settings: DecodeSettings, fork: Fork | None = None) -> dict[str, Any]:
    prompt = {"data_type": problem.data_type, "question": problem.question, "text": problem.prompt, "version": 1}
    order = {"prompt": prompt, "router": router, "settings": settings.to_dict()}
    if fork is not None:
        events = [as_json(event) for event in fork.events]
        order["fork"] = {"events": events, "source": fork.source, "tokenId": fork.token_id}
    return order


def as_json(event: TokenEvent) -> dict[str, Any]:
    return {
        name: getattr(event, name)
        for name in TokenEvent.__slots__
        if name not in {"discarded", "read"} or getattr(event, name)
    }


def ask_node(**asked: Any) -> dict[str, Any]:
    done = subprocess.run(
        ["node", "tests/viewer/engine_runs.mjs"],
        input=json.dumps(asked), cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def odd_texts(n: int) -> Iterator[str]:
    """Characters that split words in one way or another, and any others."""
    chance = random.Random(5)
    special = [0x85, 0xA0, 0x1680, 0x2003, 0x2028, 0x3000, 0xFEFF, 0x200B, 0x200D, 0x1F600, 0x660, 0xBD, 0x2167, 0x300]
    known = [*map(chr, [*range(0x250), *special]), "'s", "'ll", "  ", "<|endoftext|>", "<|endof"]

    def anything() -> str:
        code = chance.randrange(0x110000)
        return anything() if 0xD800 <= code < 0xE000 else chr(code)

    for _ in range(n):
        yield "".join(
            chance.choice(known) if chance.random() < 0.7 else anything() for _ in range(chance.randrange(25))
        )


@pytest.fixture(scope="module", params=few_or_all("few", "all"))
def asked(request: pytest.FixtureRequest, engine: Engine) -> Asked:
    """Routers of every kind; greedy and sampled; what can be done to a run at one of its tokens."""
    is_whole = request.param == "all"
    problems = [row.problem for kind in ("math", "mc") for row in bundled_rows(kind)[:1]]
    asked = Asked()
    sampled = DecodeSettings(max_new_tokens=16, temperature=0.9, top_p=0.95, seed=11)
    for tau in TAUS if is_whole else (0.5, 1.0):
        for problem in problems:
            asked.add(engine, problem, "citer", DecodeSettings(threshold=tau, max_new_tokens=16))
        asked.add(engine, problems[0], "citer", replace(sampled, threshold=tau))
    for tau, look in (
        (0.1, {"doubt_budget": 0.5, "take_back": 0.3}),
        (0.0, {"look_every": 6, "take_back": 1.0, "take_back_below": 0.9}),
        (0.4, {"take_back": 0.15, "take_back_absolute": 1}),
    ):
        for problem in problems if is_whole else problems[:1]:
            asked.add(engine, problem, "citer", replace(sampled, threshold=tau, max_new_tokens=40, **look))
    for name in engine.router_names if is_whole else KINDS:
        settings = DecodeSettings(
            threshold=max(0.1, engine.default_threshold(name)), max_new_tokens=12, temperature=0.7
        )
        events = asked.add(engine, problems[0], name, settings)
        at = 5
        other = "slm" if events[at].source == "llm" else "llm"
        asked.add(engine, problems[0], name, settings, Fork(tuple(events[:at]), other))
    settings = DecodeSettings(threshold=0.93, max_new_tokens=24)
    events = asked.add(engine, problems[1], "citer", settings)
    longer = DecodeSettings(threshold=0.93, max_new_tokens=40)
    swapped = events[5].slm_top[1].token_id
    for fork in (Fork(tuple(events)), Fork((), "llm"), Fork(tuple(events[:5]), events[5].source, swapped)):
        asked.add(engine, problems[1], "citer", longer, fork)
    return asked


@pytest.fixture(scope="module")
def answer(engine: Engine, asked: Asked) -> dict[str, Any]:
    prompts = [row.problem.prompt for kind in ("math", "mc") for row in bundled_rows(kind)[:50]]
    chance = random.Random(3)
    ids = [[chance.randrange(engine.pair.vocab_size) for _ in range(chance.randrange(1, 8))] for _ in range(500)]
    probed = [{"prompt": t.prompt.text, "ids": [e.token_id for e in t.events]} for t in asked.runs[:2]]
    texts = [*prompts, *odd_texts(500)]
    found = ask_node(encode=texts, decode=ids, runs=asked.orders, probes=probed)
    return {**found, "texts": texts, "ids": ids}


def test_the_tokenizer_is_the_same_to_the_id(engine: Engine, answer: dict[str, Any]) -> None:
    assert len(answer["texts"]) >= 600
    for text, ids in zip(answer["texts"], answer["encode"], strict=True):
        assert ids == engine.pair.encode(text), ascii(text)
    decode = decoder_of(engine.pair.tokenizer)
    for ids, text in zip(answer["ids"], answer["decode"], strict=True):
        assert text == decode(ids), ids


def test_runs_are_the_same_token_for_token(asked: Asked, answer: dict[str, Any]) -> None:
    n_llm = 0
    untold = {"slm_confidence", "slm_top", "llm_top", "slm_s", "router_s", "llm_s", "discarded", "read"}
    for ours, theirs in zip(asked.runs, answer["runs"], strict=True):
        name = f"{ours.router.name}, tau {ours.settings.threshold}, temperature {ours.settings.temperature}"
        assert len(ours.events) == len(theirs["events"]), name
        for mine, its in zip(ours.events, theirs["events"], strict=True):
            assert [gone[:2] for gone in mine.discarded] == [tuple(gone[:2]) for gone in its.get("discarded", [])], name
            numbers = [*(gone[2] for gone in its.get("discarded", [])), *chain(*its.get("read", []))]
            told = [*(gone.slm_confidence for gone in mine.discarded), *chain(*mine.read)]
            assert numbers == pytest.approx(told, abs=CONFIDENCE), name
            for key in TokenEvent.__slots__:
                if key not in untold:
                    assert getattr(mine, key) == its[key], (name, mine.index, key)
            assert mine.slm_confidence == pytest.approx(its["slm_confidence"], abs=CONFIDENCE), (name, mine.index)
            for top in ("slm_top", "llm_top"):
                probabilities = [candidate[2] for candidate in its[top]]
                assert probabilities == pytest.approx([c.probability for c in getattr(mine, top)], abs=CONFIDENCE), name
            n_llm += mine.source == "llm"
        assert ours.finish_reason == theirs["finish_reason"], name
    events = [event for trace in asked.runs for event in trace.events]
    assert n_llm > 60 and any(event.forced for event in events) and sum(len(e.discarded) > 1 for e in events) > 1


def test_a_run_of_the_browser_is_a_trace_of_the_same_pair_and_costs_the_same(
    asked: Asked, answer: dict[str, Any]
) -> None:
    for ours, theirs in zip(asked.runs, answer["runs"], strict=True):
        trace = RoutingTrace.from_json(json.dumps(theirs))
        assert trace.key == ours.key and trace.completion == ours.completion
        assert trace.cost(H100_SXM) == ours.cost(H100_SXM)
        assert (trace.prompt, trace.settings, trace.router) == (ours.prompt, ours.settings, ours.router)
        for name in ("name", "revision", "slm", "llm", "dtype", "prompt_form"):
            assert getattr(trace.pair, name) == getattr(ours.pair, name)
        assert trace.pair.device == "wasm"


def test_both_say_the_same_of_a_finished_text(engine: Engine, asked: Asked, answer: dict[str, Any]) -> None:
    problems = [bundled_rows(kind)[0].problem for kind in ("math", "mc")]
    for problem, trace, theirs in zip(problems, asked.runs, answer["probes"], strict=False):
        ours = [token.to_dict() for token in engine.probe(problem, [event.token_id for event in trace.events])]
        assert len(ours) == len(theirs) == len(trace.events)
        for mine, its in zip(ours, theirs, strict=True):
            assert mine["agree"] == its["agree"]
            for name in ("slm_entropy", "llm_entropy", "kl"):
                assert mine[name] == pytest.approx(its[name], abs=CONFIDENCE)
            for top in ("slm_top", "llm_top"):
                assert [c[2] for c in mine[top]] == pytest.approx([c[2] for c in its[top]], abs=CONFIDENCE)
                assert mine[top][0] == pytest.approx(its[top][0], abs=CONFIDENCE)


@pytest.mark.parametrize("n_labelled", few_or_all(2, 12))
def test_both_give_a_run_the_same_cases_and_labels(engine: Engine, n_labelled: int) -> None:
    """Also where neither model is right, so that the SLM has to go on alone, and where no solution is known."""
    book = ProblemBook.bundled()
    problems = [row.problem for kind in ("math", "mc") for row in bundled_rows(kind)[:n_labelled]]
    unknown = replace(problems[0], question=f"{problems[0].question} Please.")
    settings = DecodeSettings(threshold=0.93)
    runs = dict(engine.run_batch(problems, router="citer", settings=settings, batch_size=16))
    asked = [(problem, [event.token_id for event in runs[i].events]) for i, problem in enumerate(problems)]
    for kind in ("math", "mc"):  # and texts that never leave their solution
        row = bundled_rows(kind)[n_labelled]
        example = example_of(row.row, kind, engine.pair)
        asked.append((row.problem, example.truth_ids))
    asked.append((unknown, asked[0][1]))
    orders = [{"prompt": order_of(problem, "citer", settings)["prompt"], "ids": ids} for problem, ids in asked]
    n_case_3 = 0
    for (problem, ids), theirs in zip(asked, ask_node(truths=orders)["truths"], strict=True):
        ours = truth_message(engine, book.row(problem), problem.data_type, ids)
        assert theirs == ours, problem.id
        n_case_3 += ours.get("case", "").count("3")
    assert n_case_3 >= max(1, n_labelled - 2) and "why" in ours


@pytest.mark.slow
@pytest.mark.parametrize(("router", "settings"), WAYS)
def test_all_bundled_problems(
    engine: Engine, router: str, settings: DecodeSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    """400 problems at four taus, and with look-back; where a run differs there is a tie, which is listed."""
    from tests.browser_identity import compared  # which takes its limits from here

    found = compared(engine, router, settings)
    assert found["n_same"] + len(found["ties"]) == found["n_runs"]
    assert bool(settings.take_back) == bool(found.get("n_taken_back"))
    with capsys.disabled():
        print(f"\n{router}: {found}")


def test_the_stored_comparison_is_of_this_pair_and_what_the_chapter_says(engine: Engine) -> None:
    stored = json.loads((ROOT / "assets" / "benchmarks" / "browser-identity.json").read_text(encoding="utf-8"))
    assert stored["pair_revision"] == engine.pair_info.revision
    rows = stored["ways"]
    asked = [{"router": router, "tau": how.threshold, **how.newer()} for router, how in WAYS]
    assert [row | way for row, way in zip(rows, asked, strict=True)] == rows
    assert [row["ties"] for row in rows] == [[]] * len(rows)
    largest = max(row["largest_confidence_difference"] for row in rows)
    assert largest < CONFIDENCE

    def sums(some: Sequence[dict[str, Any]], *names: str) -> list[int]:
        return [sum(row[name] for row in some) for name in names]

    plain, looks = rows[: -len(LOOKS)], rows[-len(LOOKS) :]
    n_runs, n_same, n_tokens = sums(plain, "n_runs", "n_same", "n_tokens")
    n_looking, n_alike, n_kept, n_gone = sums(looks, "n_runs", "n_same", "n_tokens", "n_taken_back")
    assert n_alike == n_looking
    chapter = " ".join((ROOT / "assets" / "docs" / "speed.md").read_text(encoding="utf-8").split())
    assert (
        f"{n_runs:,} runs at four taus with `citer` and `max-probability`, {n_tokens:,} tokens: {n_same:,} runs have "
        f"the same tokens and writers, there was no tie, and confidences differ by {largest:.6f} at most. So do all of "
        f"{n_looking:,} runs with look-back in three ways, {n_kept:,} tokens, {n_gone:,} more taken back" in chapter
    )
