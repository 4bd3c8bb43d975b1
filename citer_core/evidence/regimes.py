"""`Regime`: what was measured on one pair, as one table of points for each kind of problem; from whatever is stored.

    one-wording     the bundled pair's first edition, whose solutions have one wording: right answers only
    SET             every folder of `stored`: right answers problem by problem, two training seeds
    qwen            the real pair, `evaluate --points`

Knows how results are stored and what their numbers mean; computes no run. Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from citer_core.assets import ASSETS
from citer_core.cost import ModelSpec
from citer_core.errors import DatasetError, GateError
from citer_core.evaluation.metrics import wilson_interval
from citer_core.evidence.evaluated import ACCURACY, evaluated_points
from citer_core.evidence.part_tables import SHARE
from citer_core.evidence.statistics import paired_difference, unpack
from citer_core.evidence.stored import StoredPart, stored_parts, stored_sets
from citer_core.gate.fields import ListOf, MapOf, Real, Record, Text
from citer_core.gate.json_file import read_json
from citer_core.workload import Workload

BENCHMARKS = ASSETS / "benchmarks"
NEAR = 0.03  # of the share that was wanted: a point further off says where it is
ALONE = {"always-slm": 0.0, "always-llm": 1.0}  # their share of LLM tokens
SHARES = (0.05, 0.10, 0.20)  # of LLM tokens, at which differences of routers are drawn
REAL_TITLE = "Qwen2.5-Coder 0.5B / 1.5B (official Q4_K_M files, unpacked)"
REAL_PAIR = {"qwen-gsm8k-200": "GSM8K", "qwen-cqa-200": "CommonsenseQA"}
COLUMNS = (
    "router", "label", "seeds", "share_wanted", "tau", "share", "n", "right", "accuracy", "low", "high", "bytes_share",
    "gb", "tflop", "seconds", "seconds_alone", "is_shipped",
)  # fmt: skip
NAMES = {
    "always-slm": "SLM alone",
    "always-llm": "LLM alone",
    "disagreement": "Disagreement oracle",
    "decisive": "Oracle of decisive tokens",
    "max-probability": "Max-probability (no training)",
    "entropy": "Entropy (no training)",
    "margin": "Margin (no training)",
    "bidirectional-entropy": "Bidirectional entropy (no training)",
    "random": "Random (no training)",
    "citer": "CITER",
    "citer-plus": "CITER plus",
    "citer-s-a": "CITER-S (a): without case 3",
    "citer-s-b": "CITER-S (b): token correctness",
    "co-llm": "Co-LLM",
    "query-level": "Query level",
    **{f"citer-{k}": f"CITER, round {k}" for k in range(1, 11)},
    **{f"citer-plus-{k}": f"CITER plus, round {k}" for k in range(1, 11)},
    "citer-outcome": "Outcome labels",
    "outcome-fail-slm": "Outcome labels, both fail: SLM",
    "outcome-fail-llm": "Outcome labels, both fail: LLM",
    "speculative": "Speculative decoding",
}
_TEXT = Text(500, 1)
_MATCHED = Record(
    {
        **dict.fromkeys(("title", "pair", "pair_revision", "date", "hardware", "command"), _TEXT),
        "points": MapOf(
            ListOf(
                Record(
                    {
                        "router": Text(100, 1),
                        **dict.fromkeys(("share_wanted", "threshold", "llm_token_share"), SHARE),
                        "bytes_share": Real(0.0, 100.0),
                        "accuracy": ACCURACY,
                    }
                ),
                1000,
            ),
            2,
        ),
        "alone": MapOf(Record({"slm": ACCURACY, "llm": ACCURACY}), 2),
    }
)


@dataclass(frozen=True)
class Regime:
    """What was measured on one pair.

    Attributes:
        name: in addresses and files.
        title: for people.
        pair_revision: of the pair; "" where it is not known.
        date, hardware, command: of the measurement.
        note: what to know about it.
        tables: of each kind of problem, `COLUMNS`; one line for a router at a share, or at its tau. Missing numbers are
            NaN: not measured.
        bits: right answers problem by problem of each training seed, by (kind, line of its table), where they are kept.
        parts: the other parts of the evidence of this pair.
    """

    name: str
    title: str
    pair_revision: str
    date: str
    hardware: str
    command: str
    note: str
    tables: Mapping[str, pd.DataFrame]
    bits: Mapping[tuple[str, int], Sequence[Any]] = field(default_factory=dict)
    parts: Mapping[str, StoredPart] = field(default_factory=dict)

    def at(self, kind: str, router: str, share: float | None) -> pd.Series | None:
        """A router's line at a share that was wanted; None takes the one without. None where it was not measured."""
        table = self.tables[kind]
        of_share = table.share_wanted.isna() if share is None else np.isclose(table.share_wanted, share)
        lines = table[(table.router == router) & of_share]
        return None if lines.empty else lines.iloc[0]

    def difference(self, kind: str, first: str, second: str, share: float) -> Difference | None:
        """How much more the first router gets right at a share than the second; None where one was not measured."""
        a, b = self.at(kind, first, share), self.at(kind, second, share)
        if a is None or b is None:
            return None
        bits = [self.bits.get((kind, int(line.name))) for line in (a, b)]
        if bits[0] is not None and bits[1] is not None:
            mean, (low, high) = paired_difference(bits[0], bits[1])
            return Difference(mean, low, high, int(a.n), is_paired=True)
        low, high = newcombe((int(a.right), int(a.n)), (int(b.right), int(b.n)))
        return Difference(float(a.accuracy - b.accuracy), low, high, int(a.n), is_paired=False)


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two shares of right answers on the same n problems, with its 95% interval.

    Attributes:
        is_paired: whether the interval knows which problems each got right; if not, it is wider than it need be.
    """

    mean: float
    low: float
    high: float
    n: int
    is_paired: bool

    def __str__(self) -> str:
        return f"{100 * self.mean:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f}, n = {self.n:,})"


def newcombe(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
    """95% interval of the difference of two independent shares, each (right, n), from their Wilson intervals.

    Source: Newcombe, Statistics in Medicine 17 (1998), method 10.
    """
    p, q = first[0] / first[1], second[0] / second[1]
    (l1, u1), (l2, u2) = wilson_interval(*first), wilson_interval(*second)
    return p - q - math.hypot(p - l1, u2 - q), p - q + math.hypot(u1 - p, q - l2)


def regimes(folder: Path = BENCHMARKS) -> Iterator[Regime]:
    """All that is stored, the newest evidence first.

    Raises:
        DatasetError: a file is damaged.
    """
    sets = dict(stored_sets(folder / "evidence"))
    for name in sorted(sets, key=lambda name: (sets[name]["accuracy"].date, name), reverse=True):
        yield of_parts(name, sets[name])
    for path in sorted((folder / "evidence").glob("*/matched_shares.json")):
        if path.parent.name not in sets:
            yield of_matched(path)
    if all((folder / f"{file}.jsonl").exists() for file in REAL_PAIR):
        yield of_qwen(folder)


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
        tables[kind] = _table(rows)
    return Regime(
        name, part.title, part.pair_revision, part.date, part.hardware, part.command,
        f"tau found on {min(e['n_tuning'] for e in part.content.values())} other problems. Seconds are those in the "
        "models where many answers share a pass; one at a time they are those of the first problems alone.",
        tables, bits, parts,
    )  # fmt: skip


def of_matched(path: Path) -> Regime:
    """A table of `embedded matched`, with either model alone.

    Raises:
        DatasetError: it is damaged.
    """
    try:
        table = _MATCHED.read(read_json(path), "")
    except GateError as error:
        raise DatasetError(f"{path.name} of {path.parent.name} cannot be read ({error}): restore it.") from error
    tables = {}
    for kind, points in table["points"].items():
        rows = [_counted(f"always-{w}", table["alone"][kind][w]) for w in ("slm", "llm")]
        rows += [
            _counted(point["router"], point["accuracy"])
            | {"share_wanted": point["share_wanted"], "tau": point["threshold"], "share": point["llm_token_share"]}
            | {"bytes_share": point["bytes_share"]}
            for point in points
        ]
        tables[kind] = _table(rows)
    return Regime(
        path.parent.name,
        table["title"],
        table["pair_revision"],
        table["date"],
        table["hardware"],
        table["command"],
        "tau found on 60 other problems. Which problems were right was not kept, so differences are those of "
        "independent samples. Co-LLM is from before its published start.",
        tables,
    )


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
                _counted(point["router"], point["accuracy"])
                | {"tau": point["threshold"], "share": point["llm_token_share"]}
                | {"bytes_share": point["bytes_share"], "seconds": seconds / n}
                | {"gb": point["n_bytes"] / n / 1e9, "tflop": point["flops"] / n / 1e12}
                | _llm_alone(point, llm)
            )
            dates.add(point["date"])
            hardware.add(point["hardware"])
        _want_shares(rows)
        tables[kind] = _table(rows)
    return Regime(
        "qwen",
        REAL_TITLE,
        "",
        max(dates),
        " and ".join(sorted(hardware)),
        "python -m citer_core evaluate --pair qwen2.5-coder-0.5b-1.5b --points ...",
        "Of each data set, routers that learned from all rollouts of 300 of its training rows; at most 512 tokens. LLM "
        "alone was routed at tau = 1: without the SLM in its bytes and FLOPs, with it in its seconds. Seconds were "
        "taken at different times beside other work: hold bytes against each other, not seconds.",
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


def _table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=COLUMNS)
    numbers = ["share_wanted", "tau", "share", "bytes_share", "gb", "tflop", "seconds", "seconds_alone"]
    table[numbers] = table[numbers].astype(float)
    return table


def _counted(router: str, accuracy: Mapping[str, int]) -> dict[str, Any]:
    right, n = accuracy["n_correct"], accuracy["n"]
    low, high = wilson_interval(right, n)
    share = ALONE.get(router)
    return {
        "router": router, "label": NAMES.get(router, router), "seeds": 1, "n": n, "right": right, "accuracy": right / n,
        "low": low, "high": high, "share": share, "tau": share, "is_shipped": False,
    }  # fmt: skip


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


def of_seeds(right: Sequence[Any]) -> dict[str, float]:
    """Right answers, averaged over seeds; the interval is Wilson's, of several seeds that of problems drawn again."""
    n, mean = len(right[0]), float(np.mean([seed.mean() for seed in right]))
    if len(right) == 1:
        low, high = wilson_interval(int(right[0].sum()), n)
    else:
        _, (low, high) = paired_difference(right, [np.zeros(n, dtype=bool)])
    return {"right": mean * n, "accuracy": mean, "low": low, "high": high}


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
