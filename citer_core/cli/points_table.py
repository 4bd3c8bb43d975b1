"""The table of `evaluate`: its rows as a person reads them, priced for the pair that ran or for another.

Pure: rows in, text out. Rows of versions that did not say so much have "n/a" where it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from citer_core.cli.summary import format_bytes
from citer_core.cost import mlp_router_params
from citer_core.errors import DatasetError, GateError
from citer_core.gate.fields import Whole
from citer_core.models.presets import PRESETS
from citer_core.trace import PairInfo
from citer_core.workload import Price, Workload

UNKNOWN = "n/a"
_PARAMS = Whole()
Row = Mapping[str, Any]


def points_table(rows: Sequence[Row], pair: PairInfo, price_as: str | None = None) -> tuple[list[str], list[list[str]]]:
    """Heading and lines.

    Args:
        rows: of the output file.
        pair: that ran.
        price_as: a name of `PRESETS`; None prices the pair that ran.

    Raises:
        DatasetError: a row says what no row says.
    """
    prices = [_price(row, pair, price_as) for row in rows]
    own = next((p for row, p in zip(rows, prices, strict=True) if row["threshold"] >= 1 and p is not None), None)
    est = "est." if price_as is None else f"est., as {PRESETS[price_as].title}"
    head = ["router", "tau", "right", "95% interval", "cut", "LLM tokens", f"bytes ({est})", "GB/token", "of LLM-only"]
    lines = [_line(row, price, own) for row, price in zip(rows, prices, strict=True)]
    return [*head, "of its answers", "TFLOP (est.)", "s"], lines


def _price(row: Row, pair: PairInfo, price_as: str | None) -> Price | None:
    """What a row's work costs; None where the row does not say what work there was, and another pair is asked for."""
    if "work" not in row:
        own_share = row["bytes_share"]
        return (
            Price(row["n_bytes"], row["flops"], row["n_bytes"] / own_share) if price_as is None and own_share else None
        )
    try:
        workload, n_params = Workload.read(row["work"]), _PARAMS.read(row.get("router_params"), "router_params")
    except GateError as error:
        raise DatasetError(f"The row {str(row['id'])[:60]!r} is damaged: remove it to have it run again.") from error
    if price_as is None:
        return workload.price(pair.slm, pair.llm, n_params)
    slm, llm = PRESETS[price_as].slm.spec, PRESETS[price_as].llm.spec
    # A router that has weights has those of the published one there.
    return workload.price(slm, llm, n_params and mlp_router_params(slm.hidden_size))


def _line(row: Row, price: Price | None, own: Price | None) -> list[str]:
    low, high = row["accuracy"]["interval_95"]
    line = [
        row["router"],
        f"{row['threshold']:.4g}",
        f"{row['accuracy']['share']:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{row['cut_share']:.1%}" if "cut_share" in row else UNKNOWN,
        f"{row['llm_token_share']:.1%}",
    ]
    seconds = f"{row['measured_s']:.1f}"
    if price is None:
        return [*line, *[UNKNOWN] * 5, seconds]
    return [
        *line,
        format_bytes(price.n_bytes),
        f"{price.n_bytes / row['n_tokens'] / 1e9:.3g}",
        f"{price.n_bytes / price.llm_only_bytes:.1%}",
        f"{price.n_bytes / own.llm_only_bytes:.1%}" if own is not None else UNKNOWN,
        f"{price.flops / 1e12:.3g}",
        seconds,
    ]
