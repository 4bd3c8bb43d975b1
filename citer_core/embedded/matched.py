"""Every router of the bundled pair at the same shares of LLM tokens: the table that says who decides best.

One point after another goes into a file of the work folder, so a stopped measurement goes on where it was.
"""

from __future__ import annotations

import datetime
import json
import logging
from pathlib import Path
from typing import Any

from citer_core.assets import ASSETS
from citer_core.embedded.publish import FORMATS, N_BUNDLED, N_CARD, held_out, problems_of
from citer_core.engine import Engine
from citer_core.evaluation.accuracy import operating_points, threshold_for_share
from citer_core.hardware import hardware_in_words

log = logging.getLogger(__name__)
SHARES = (0.1, 0.2, 0.3, 0.4)
TUNING, N_TUNING = "tuning3", 60
WITHOUT_A_SHARE = frozenset({"always-slm", "always-llm", "disagreement"})  # theirs is what it is


def publish_matched(engine: Engine, work_dir: Path, assets: Path = ASSETS) -> None:
    """Finds each router's tau for each share on tuning problems, measures it on the bundled ones, writes the table."""
    done_path = work_dir / "matched.jsonl"
    done = {}
    if done_path.exists():
        done = {row["key"]: row for row in map(json.loads, done_path.read_text(encoding="utf-8").splitlines())}
    points: dict[str, list[dict[str, Any]]] = {}
    for data_type in FORMATS:
        test = held_out(data_type, "test", N_CARD)
        tuning = problems_of(held_out(data_type, TUNING, N_TUNING, without=test), data_type)
        problems = problems_of(test[:N_BUNDLED], data_type)
        points[data_type] = []
        for name in engine.router_names:
            if name in WITHOUT_A_SHARE:
                continue
            for share in SHARES:
                key = f"{engine.pair_info.revision} {name} {engine.router(name).revision} {data_type} {share:g}"
                if key not in done:
                    threshold = threshold_for_share(engine, tuning, name, share)
                    (point,) = operating_points(engine, problems, name, [threshold])
                    done[key] = {"key": key, "router": name, "share_wanted": share, **point.to_dict()}
                    with done_path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(done[key]) + "\n")
                    log.info("%s", done[key])
                fields = ("router", "share_wanted", "threshold", "llm_token_share", "bytes_share", "accuracy")
                points[data_type].append({field: done[key][field] for field in fields})
    table = {
        "date": datetime.date.today().isoformat(),
        "hardware": hardware_in_words(),
        "command": "python -m citer_core embedded matched",
        "pair": engine.pair_info.name,
        "pair_revision": engine.pair_info.revision,
        "dtype": engine.pair_info.dtype,
        "n_tuning": N_TUNING,
        "n_test": N_BUNDLED,
        "points": points,
    }
    path = assets / "benchmarks" / "matched_shares.json"
    path.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
