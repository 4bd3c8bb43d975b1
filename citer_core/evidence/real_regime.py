"""The regime of the real pair: the points of `evaluate --points` on each data set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from citer_core.cost import ModelSpec
from citer_core.evidence.evaluated import evaluated_points
from citer_core.evidence.regime import ALONE, NEAR, SHARES, Regime, counted, table_of
from citer_core.evidence.stored import stored_parts
from citer_core.workload import Workload

REAL_TITLE = "Qwen2.5-Coder 0.5B / 1.5B (official Q4_K_M files, unpacked)"
REAL_PAIR = {"qwen-gsm8k-200": "GSM8K", "qwen-cqa-200": "CommonsenseQA"}


def of_qwen(folder: Path) -> Regime:
    """The real pair's points.

    Raises:
        DatasetError: a file is damaged.
    """
    tables, bits, dates, hardware = {}, {}, set(), set()
    parts = stored_parts(folder / "evidence" / "qwen")
    llm = next((ModelSpec(**part.llm) for part in parts.values()), None)
    for file, kind in REAL_PAIR.items():
        rows = list[dict[str, Any]]()
        for point in evaluated_points(folder / f"{file}.jsonl"):
            n = point["accuracy"]["n"]
            seconds = math.nan if point["measured_s"] is None else point["measured_s"]
            if point["right"] is not None:
                bits[kind, len(rows)] = [point["right"]]
            rows.append(
                counted(point["router"], point["accuracy"])
                | {"tau": point["threshold"], "share": point["llm_token_share"]}
                | {"bytes_share": point["bytes_share"], "seconds": seconds / n}
                | {"gb": point["n_bytes"] / n / 1e9, "tflop": point["flops"] / n / 1e12}
                | _llm_alone(point, llm)
            )
            dates.add(point["date"])
            hardware.add(point["hardware"])
        _want_shares(rows)
        tables[kind] = table_of(rows)
    return Regime(
        "qwen",
        REAL_TITLE,
        "",
        max(dates),
        " and ".join(sorted(hardware)),
        "python -m citer_core evaluate --pair qwen2.5-coder-0.5b-1.5b --points ...",
        "Of each data set, routers that learned from all rollouts of 300 of its training rows; at most 512 tokens. "
        "Some taus were corrected after a first look at the share on these very problems. LLM alone was routed at tau "
        "= 1: without the SLM in its bytes and FLOPs, with it in its seconds. Seconds were taken at different times "
        "beside other work: hold bytes against each other, not seconds. Answers were read by the reader before "
        "2026-11-27; what a reading anew changed is in the chapter Evidence.",
        tables,
        bits,
        parts,
    )


def _llm_alone(point: Mapping[str, Any], llm: ModelSpec | None) -> dict[str, float]:
    """What the LLM moves and computes of a run at tau = 1, in which the SLM reads along; nothing of other runs."""
    if point["router"] != "always-llm" or "work" not in point or llm is None:
        return {}
    alone, n = Workload.read(point["work"]).alone, point["accuracy"]["n"]
    return {"bytes_share": 1.0, "gb": alone.n_bytes(llm) / n / 1e9, "tflop": alone.flops(llm) / n / 1e12}


def _want_shares(rows: Sequence[dict[str, Any]]) -> None:
    """Says of points that were chosen by their taus which came near enough to a share to be held against others there.

    Of each router the nearest one to each share, if it is nearer to no other.
    """
    best: dict[tuple[str, float], dict[str, Any]] = {}
    for row in rows:
        wanted = min(SHARES, key=lambda share: abs(share - row["share"]))
        if row["router"] in ALONE or abs(wanted - row["share"]) > NEAR:
            continue
        known = best.setdefault((row["router"], wanted), row)
        if abs(wanted - row["share"]) < abs(wanted - known["share"]):
            best[row["router"], wanted] = row
    for (_, wanted), row in best.items():
        row["share_wanted"] = wanted
