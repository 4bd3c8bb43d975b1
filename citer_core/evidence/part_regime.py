"""A regime of a stored set of the command `evidence`: right answers problem by problem, of each training seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from citer_core.cost import ModelSpec
from citer_core.evidence.regime import NAMES, Regime, of_seeds, table_of
from citer_core.evidence.statistics import unpack
from citer_core.evidence.stored import StoredPart
from citer_core.workload import Workload


def of_parts(name: str, parts: Mapping[str, StoredPart]) -> Regime:
    """A set of the command `evidence`."""
    part, drafted = parts["accuracy"], parts.get("speculative")
    slm, llm = ModelSpec(**part.slm), ModelSpec(**part.llm)
    tables, bits = {}, {}
    for kind, entry in part.content.items():
        rows = []
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for point in entry["points"]:
            key = (point["router"], point["label"], point["is_shipped"], point["share_wanted"])
            groups.setdefault(key, []).append(point)
        for line, ((router, label, is_shipped, wanted), points) in enumerate(groups.items()):
            right = [unpack(point["right"], entry["n"]) for point in points]
            bits[kind, line] = right
            rows.append(
                {
                    "router": router,
                    "label": label,
                    "is_shipped": is_shipped,
                    "share_wanted": wanted,
                    "seeds": len(points),
                    "tau": points[0]["threshold"],
                    "n": entry["n"],
                    **of_seeds(right),
                    **_prices(points, slm, llm, entry["n"]),
                }
            )
        if drafted is not None and kind in drafted.content:
            rows.append(_drafted(drafted.content[kind], slm, llm))
            bits[kind, len(rows) - 1] = [unpack(drafted.content[kind]["right"], rows[-1]["n"])]
            timed = {(row["router"], row["threshold"]): row for row in drafted.content[kind]["one_by_one"]}
            for row in rows:
                row["seconds_alone"] = _alone_seconds(timed.get((row["router"], row["tau"])))
        tables[kind] = table_of(rows)
    return Regime(
        name, part.title, part.pair_revision, part.date, part.hardware, part.command,
        f"tau found on {min(e['n_tuning'] for e in part.content.values())} other problems. Seconds are those in the "
        "models where many answers share a pass; one at a time they are those of the first problems alone.",
        tables, bits, parts,
    )  # fmt: skip


def _drafted(entry: Mapping[str, Any], slm: ModelSpec, llm: ModelSpec) -> dict[str, Any]:
    """The line of speculative decoding: no tau, no share of tokens, and no seconds where many share a pass."""
    work, n = Workload.read(entry["work"]), entry["n"]
    price = work.price(slm, llm, 0)
    return {
        "router": "speculative",
        "label": NAMES["speculative"],
        "is_shipped": False,
        "seeds": 1,
        "n": n,
        **of_seeds([unpack(entry["right"], n)]),
        "bytes_share": price.n_bytes / price.llm_only_bytes if price.llm_only_bytes else math.nan,
        "gb": price.n_bytes / n / 1e9,
        "tflop": price.flops / n / 1e12,
        "tau": None,
    }


def _alone_seconds(timed: Mapping[str, Any] | None) -> float:
    """Of an answer that had both models to itself; of the LLM alone, without the SLM that reads along."""
    if timed is None:
        return math.nan
    return float(timed["llm_seconds" if timed["router"] == "always-llm" else "seconds"]) / int(timed["n"])


def _prices(points: Sequence[Mapping[str, Any]], slm: ModelSpec, llm: ModelSpec, n: int) -> dict[str, float]:
    """Costs of an answer, averaged over seeds."""
    found = []
    for point in points:
        work = Workload.read(point["work"])
        price, alone = work.price(slm, llm, point["n_params"]), work.alone
        n_bytes, flops, seconds = price.n_bytes, price.flops, point["seconds"]
        if point["router"] == "always-llm":  # alone, without the SLM that reads along in a routed run
            n_bytes, flops, seconds = alone.n_bytes(llm), alone.flops(llm), point["llm_seconds"]
        found.append(
            {
                "share": point["n_llm_tokens"] / point["n_tokens"],
                "bytes_share": n_bytes / price.llm_only_bytes if price.llm_only_bytes else math.nan,
                "gb": n_bytes / n / 1e9,
                "tflop": flops / n / 1e12,
                "seconds": seconds / n if seconds else math.nan,
            }
        )
    return {name: float(np.mean([row[name] for row in found])) for name in found[0]}
