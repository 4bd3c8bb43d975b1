"""Every `Regime` that is stored, read from the three forms in which results are kept.

    one-wording     the bundled pair's first edition, whose solutions have one wording: counts of `embedded matched`
    SET             every folder of `stored`: right answers problem by problem, of each training seed
    qwen            the real pair: the rows of `evaluate --points` on each data set

Computes no run. Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from citer_core.assets import ASSETS
from citer_core.cost import ModelSpec
from citer_core.decode_settings import Others
from citer_core.errors import DatasetError, GateError
from citer_core.evaluation.metrics import unpack
from citer_core.evidence.part_tables import COUNT, HEX, SHARE, fields, record
from citer_core.evidence.regime import ALONE, NAMES, NEAR, SHARES, Regime, counted, of_seeds, table_of
from citer_core.evidence.stored import StoredPart, stored_parts
from citer_core.gate.fields import ListOf, MapOf, Maybe, Real, Record, Text, Whole
from citer_core.gate.json_file import read_json, read_json_lines
from citer_core.workload import WORKLOAD, Workload

BENCHMARKS = ASSETS / "benchmarks"
REAL_TITLE = "Qwen2.5-Coder 0.5B / 1.5B (official Q4_K_M files, unpacked)"
REAL_PAIR = {"qwen-gsm8k-200": "GSM8K", "qwen-cqa-200": "CommonsenseQA"}
_TEXT, _BYTES_SHARE = Text(500, 1), Real(0.0, 100.0)
_ACCURACY = record(n=Whole(1, 10**6), n_correct=Whole(0, 10**6))
_WHO = fields(SHARE, "threshold", "llm_token_share") | {"router": Text(100, 1), "accuracy": _ACCURACY}
_EVALUATED = record(
    _WHO,
    fields(Real(0.0, 1e30), "n_bytes", "flops"),
    n_tokens=Whole(1),
    bytes_share=_BYTES_SHARE,
    measured_s=Maybe(Real(0.0, 1e9)),  # none where the process was paused in between
    date=Text(10, 10),
    hardware=_TEXT,
)
_ROW = Record(_EVALUATED.required, {"n_cut": Maybe(COUNT), "right": Maybe(HEX), "work": WORKLOAD})
_MATCHED = record(
    fields(_TEXT, "title", "pair", "pair_revision", "date", "hardware", "command"),
    points=MapOf(ListOf(record(_WHO, share_wanted=SHARE, bytes_share=_BYTES_SHARE), 1000), 2),
    alone=MapOf(record(fields(_ACCURACY, "slm", "llm")), 2),
)


def regimes(folder: Path = BENCHMARKS) -> Iterator[Regime]:
    """All that is stored, the newest evidence first; a set without the part `accuracy` is none.

    Raises:
        DatasetError: a file is damaged.
    """
    sets = {place.name: stored_parts(place) for place in sorted((folder / "evidence").glob("*/"))}
    sets = {name: parts for name, parts in sets.items() if "accuracy" in parts}
    for name in sorted(sets, key=lambda name: (sets[name]["accuracy"].date, name), reverse=True):
        yield of_parts(name, sets[name])
    for path in sorted((folder / "evidence").glob("*/matched_shares.json")):
        if path.parent.name not in sets:
            yield of_matched(path)
    if all((folder / f"{file}.jsonl").exists() for file in REAL_PAIR):
        yield of_qwen(folder)


def of_parts(name: str, parts: Mapping[str, StoredPart]) -> Regime:
    """A set of the command `evidence`."""
    part = parts["accuracy"]
    drafted = parts["speculative"].content if "speculative" in parts else {}
    looked = [parts[name].content for name in ("look_back", "rules") if name in parts]
    slm, llm = ModelSpec(**part.slm), ModelSpec(**part.llm)
    tables, bits = {}, {}
    for kind, entry in part.content.items():
        rows = []
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        other = [_SPECULATIVE | drafted[kind]] if kind in drafted else []
        for by_kind in looked:
            other += [_LOOK_BACK | point | {"n": by_kind[kind]["n"]} for point in by_kind[kind]["points"]]
        for point in (*entry["points"], *other):
            wanted, is_shipped = point["share_wanted"], point["is_shipped"]
            tau = point["threshold"] if wanted is None else None  # which says which of several points of a rule it is
            key = (point["router"], point["label"], is_shipped, wanted, tau, _others(point))
            groups.setdefault(key, []).append(point)
        timed = {
            (row["router"], row["threshold"], _others(row)): row for row in drafted.get(kind, {}).get("one_by_one", ())
        }
        for line, ((router, label, is_shipped, wanted, _, others), points) in enumerate(groups.items()):
            n, tau = points[0].get("n", entry["n"]), points[0]["threshold"]
            right = bits[kind, line] = [unpack(point["right"], n) for point in points]
            rows.append(
                {"router": router, "label": label, "settings": dict(others), "is_shipped": is_shipped}
                | {"share_wanted": wanted, "seeds": len(points), "tau": tau, "n": n}
                | {"seconds_alone": _alone_seconds(timed.get((router, tau, others)))}
                | {**of_seeds(right), **_prices(points, slm, llm, n)}
            )
        tables[kind] = table_of(rows)
    return Regime(
        name, part.title, part.pair_revision, part.date, part.hardware, part.command,
        f"tau found on {min(e['n_tuning'] for e in part.content.values())} other problems. Seconds are those in the "
        "models where many answers share a pass; one at a time they are those of the first problems alone.",
        tables, bits, parts,
    )  # fmt: skip


# Speculative decoding as a point: no tau, no share of tokens, and no seconds where many share a pass.
_SPECULATIVE: dict[str, Any] = {
    "router": "speculative", "label": NAMES["speculative"], "is_shipped": False, "share_wanted": None,
    "threshold": None, "n_llm_tokens": math.nan, "n_params": 0,
}  # fmt: skip
_LOOK_BACK: dict[str, Any] = {"is_shipped": False, "share_wanted": None, "threshold": 0.0}


def _others(point: Mapping[str, Any]) -> Others:
    """Settings beside tau."""
    return tuple(sorted(point.get("settings", {}).items()))


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
        bytes_share = n_bytes / price.llm_only_bytes if price.llm_only_bytes else math.nan
        share, passes = (n / point["n_tokens"] for n in (point["n_llm_tokens"], work.llm.n_passes))
        is_timed = seconds and not math.isnan(share)
        found.append(_costs(n_bytes, flops, bytes_share, n) | {"share": share, "passes": passes})
        found[-1]["seconds"] = seconds / n if is_timed else math.nan
    return {name: float(np.mean([row[name] for row in found])) for name in found[0]}


def _costs(n_bytes: float, flops: float, bytes_share: float, n: int) -> dict[str, float]:
    """Of one answer, from those of n."""
    return {"bytes_share": bytes_share, "gb": n_bytes / n / 1e9, "tflop": flops / n / 1e12}


def of_matched(path: Path) -> Regime:
    """A table of `embedded matched`, with either model alone.

    Raises:
        DatasetError: it is damaged.
    """
    try:
        table = _MATCHED.read(read_json(path), "")
    except GateError as error:
        raise DatasetError(f"{path.name} of {path.parent.name} cannot be read ({error}): restore it.") from error
    tables = {
        kind: table_of(
            [counted(f"always-{w}", table["alone"][kind][w]) for w in ("slm", "llm")]
            + [_of_point(point) | {"share_wanted": point["share_wanted"]} for point in points]
        )
        for kind, points in table["points"].items()
    }
    return Regime(
        path.parent.name,
        **{name: table[name] for name in ("title", "pair_revision", "date", "hardware", "command")},
        note="tau found on 60 other problems. Which problems were right was not kept, so differences are those of "
        "independent samples. Co-LLM is from before its published start.",
        tables=tables,
    )


def _of_point(point: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a point of which counts are kept."""
    share = point["llm_token_share"]  # each of these tokens is a pass
    numbers = {"tau": point["threshold"], "share": share, "passes": share, "bytes_share": point["bytes_share"]}
    return counted(point["router"], point["accuracy"]) | numbers


def evaluated_points(path: Path) -> list[dict[str, Any]]:
    """The rows that the command `evaluate` keeps, one operating point each.

    `right` is an [n] bool array, problem by problem, or None where that was not kept; `measured_s` is None where it was
    not measured.

    Raises:
        DatasetError: the file is missing or damaged.
    """
    points = []
    try:
        for number, line in read_json_lines(path):
            point = dict(_ROW.read(line, f"line {number}"))
            right = point.get("right")
            point["right"] = unpack(right, point["accuracy"]["n"]) if right else None
            points.append(point)
    except (GateError, ValueError) as error:
        raise DatasetError(f"{path.name} cannot be read ({error}): restore it.") from error
    return points


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
            if point["right"] is not None:
                bits[kind, len(rows)] = [point["right"]]
            costs = _costs(point["n_bytes"], point["flops"], point["bytes_share"], n)
            if point["router"] == "always-llm" and "work" in point and llm is not None:  # the SLM read along
                alone = Workload.read(point["work"]).alone
                costs = _costs(alone.n_bytes(llm), alone.flops(llm), 1.0, n)
            seconds = math.nan if point["measured_s"] is None else point["measured_s"] / n
            rows.append(_of_point(point) | costs | {"seconds": seconds})
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
