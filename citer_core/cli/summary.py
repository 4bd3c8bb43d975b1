"""Finished runs in one line, and as rows of an output file.

Estimated and measured numbers are named so wherever they are shown. Pure: traces in, text and dicts out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from citer_core.cli.terminal import escape_controls
from citer_core.cost import H100_SXM, CostSummary
from citer_core.trace import AnswerInfo, RoutingTrace
from citer_core.types import FinishReason

_ENDINGS: dict[FinishReason, str] = {
    "length": "stopped at the token limit",
    "cancelled": "cancelled",
    "error": "stopped by an error",
}


def format_bytes(n_bytes: float) -> str:
    """Decimal units, three significant digits or more: `48.2 MB`, `1.75 GB`."""
    value, unit = n_bytes / 1e6, "MB"
    for larger in ("GB", "TB", "PB"):
        if value < 999.5:
            break
        value, unit = value / 1e3, larger
    n_decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{n_decimals}f} {unit}"


def summary_line(trace: RoutingTrace) -> str:
    """What one finished run cost and whether it was right."""
    cost = _estimate(trace)
    parts = [
        f"{trace.n_tokens} tokens, {trace.llm_token_share:.1%} by the LLM ({trace.n_hand_offs} hand-offs)",
        f"{format_bytes(cost.routed.n_bytes)} moved (estimated), {cost.bytes_share_of_llm_only:.1%} of LLM-only",
    ]
    if trace.measured_s > 0:
        parts.append(
            f"{trace.measured_s:.2f} s in the models (measured), {trace.n_tokens / trace.measured_s:.0f} tokens/s"
        )
    if trace.finish_reason in _ENDINGS:
        parts.append(_ENDINGS[trace.finish_reason])
    if trace.answer is not None:
        parts.extend(_verdict(trace.answer))
    return " | ".join(parts)


def output_row(row_id: str, trace: RoutingTrace, *, with_trace: bool = False) -> dict[str, Any]:
    """One finished run as a row of the output file: `estimated_*` are modelled, `measured_s` is measured."""
    cost = _estimate(trace)
    answer = trace.answer
    row: dict[str, Any] = {
        "id": row_id,
        "prompt": trace.prompt.text,
        "response": trace.completion,
        "true_answer": answer.true_answer if answer else None,
        "predicted_answer": answer.predicted_answer if answer else None,
        "is_correct": answer.is_correct if answer else None,
        "llm_token_share": trace.llm_token_share,
        "n_tokens": trace.n_tokens,
        "finish_reason": trace.finish_reason,
        "estimated_bytes": cost.routed.n_bytes,
        "estimated_bytes_llm_only": cost.llm_only.n_bytes,
        "estimated_flops": cost.routed.flops,
        "measured_s": trace.measured_s,
        "threshold": trace.settings.threshold,
        "router": trace.router.name,
    }
    return {**row, "trace": trace.to_dict()} if with_trace else row


def progress_text(row: Mapping[str, Any]) -> str:
    """One row of the output file in a few words."""
    verdict = {True: "right", False: "wrong", None: "no known answer"}[row["is_correct"]]
    return f"{verdict}, {row['n_tokens']} tokens, {row['llm_token_share']:.1%} LLM, {row['measured_s']:.2f} s"


def totals_line(rows: Sequence[Mapping[str, Any]]) -> str:
    """All rows of the output file in one line."""
    if not rows:
        return "no rows finished"
    n_tokens = sum(row["n_tokens"] for row in rows)
    n_bytes, llm_only = (sum(row[name] for row in rows) for name in ("estimated_bytes", "estimated_bytes_llm_only"))
    marked = [row["is_correct"] for row in rows if row["is_correct"] is not None]
    parts = [f"{len(rows)} rows"]
    if marked:
        parts.append(f"{sum(marked)} of {len(marked)} right ({sum(marked) / len(marked):.1%})")
    parts.append(f"{n_tokens} tokens, {llm_share(rows):.1%} by the LLM")
    parts.append(f"{format_bytes(n_bytes)} moved (estimated), {n_bytes / llm_only if llm_only else 0:.1%} of LLM-only")
    parts.append(f"{sum(row['measured_s'] for row in rows):.1f} s in the models (measured)")
    return " | ".join(parts)


def llm_share(rows: Sequence[Mapping[str, Any]]) -> float:
    """The share of all tokens of rows of the output file that the LLM wrote."""
    n_llm_tokens = sum(row["n_tokens"] * row["llm_token_share"] for row in rows)
    return float(n_llm_tokens / max(1, sum(row["n_tokens"] for row in rows)))


def _estimate(trace: RoutingTrace) -> CostSummary:
    return trace.cost(H100_SXM)  # only bytes and FLOPs are read here; the device decides neither


def _verdict(answer: AnswerInfo) -> list[str]:
    given = "no answer" if answer.predicted_answer is None else f"answer {escape_controls(answer.predicted_answer)}"
    if answer.is_correct is None:
        return [] if answer.predicted_answer is None else [given]
    right = escape_controls(answer.true_answer or "")
    return [f"{given}: right" if answer.is_correct else f"{given}: wrong, {right} is right"]
