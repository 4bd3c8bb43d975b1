"""Whether the browser's engine writes what Python writes, on all bundled problems: run it, and the result is stored.

    nice -n 19 .venv/bin/python -m tests.browser_identity      # writes assets/benchmarks/browser-identity.json

Tokens and writers are equal but for ties, where less than 1e-6 would have made another token or writer; each of them is
listed, and anything else ends it. Costs follow from what each model read, which is compared too.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from citer_core.assets import ASSETS
from citer_core.engine import Engine
from citer_core.hardware import hardware_in_words
from citer_core.tasks.datasets import bundled_rows
from citer_core.types import DecodeSettings, TokenEvent
from tests.core.test_browser_engine import CONFIDENCE, TIE, WAYS, ask_node, order_of

STORED = ASSETS / "benchmarks" / "browser-identity.json"
COMMAND = "python -m tests.browser_identity"


def distance_to_a_tie(event: TokenEvent, ratio: float) -> float:
    """How little would have made another token, another writer or another place to go back to here."""
    tops = [top for top in (event.slm_top, event.llm_top) if len(top) > 1]
    gaps = [top[0].probability - top[1].probability for top in tops]
    slips = [abs(token - ratio * own) for token, own in event.read if ratio < 1]
    return min([abs(event.slm_confidence - event.threshold), *gaps, *slips])


def same_start(events: Sequence[TokenEvent], run: dict[str, Any]) -> int:
    """How many tokens both wrote alike, by the same writers, after the same ones that were taken back."""
    ours = [(event.token_id, event.source[0], [gone.token_id for gone in event.discarded]) for event in events]
    theirs = zip(run["ids"], run["writers"], run["gone"], strict=True)
    return sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(ours, theirs, strict=False)))


def compared(engine: Engine, router: str, settings: DecodeSettings) -> dict[str, Any]:
    """All bundled problems in one way: how many runs are the same, and the ties of the others.

    Raises:
        AssertionError: a run differs where there is no tie, or a confidence by more than `CONFIDENCE`.
    """
    problems = [row.problem for kind in ("math", "mc") for row in bundled_rows(kind)]
    assert len(problems) == 400
    batch = engine.run_batch(problems, router=router, settings=settings, batch_size=32, with_candidates=True)
    ours = dict(batch)
    theirs = ask_node(brief=True, runs=[order_of(problem, router, settings) for problem in problems])["runs"]
    found: dict[str, Any] = {"tau": settings.threshold, **settings.newer(), "n_runs": len(problems), "n_tokens": 0}
    found |= {"n_taken_back": sum(trace.n_discarded for trace in ours.values())} if settings.take_back else {}
    found |= {"n_same": 0, "ties": []}
    largest = 0.0
    for index, run in enumerate(theirs):
        events = ours[index].events
        n_same = same_start(events, run)
        for event, confidence in zip(events[:n_same], run["confidences"], strict=False):
            largest = max(largest, abs(event.slm_confidence - confidence))
        assert [event.llm_tokens_fed for event in events[:n_same]] == run["fed"][:n_same]
        found["n_tokens"] += len(events)
        if n_same == len(events) == len(run["ids"]):
            assert ours[index].finish_reason == run["reason"]
            found["n_same"] += 1
            continue
        distance = distance_to_a_tie(events[n_same], settings.take_back)
        tie = {"problem": problems[index].id, "token": n_same, "distance": float(f"{distance:.1e}")}
        assert distance <= TIE, tie
        found["ties"].append(tie)
    assert largest <= CONFIDENCE, largest
    return {**found, "largest_confidence_difference": float(f"{largest:.1e}")}


def main() -> None:
    """Compares, and writes the result."""
    engine = Engine.load()
    found = [(router, compared(engine, router, settings)) for router, settings in WAYS]
    about = {
        "date": datetime.date.today().isoformat(), "hardware": hardware_in_words(), "command": COMMAND,
        "pair_revision": engine.pair_info.revision, "limits": {"tie": TIE, "confidence": CONFIDENCE},
    }  # fmt: skip
    rows = [{"router": router, **row} for router, row in found]
    STORED.write_text(json.dumps({**about, "ways": rows}, indent=1) + "\n", encoding="utf-8")
    print(f"written to {STORED}")


if __name__ == "__main__":
    main()
