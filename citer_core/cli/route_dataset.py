"""`route --dataset-path` and `--dataset`: a whole data set, resumable, one output row as each finishes.

Order matters: settings and rows are validated and the output is opened before a model is loaded, so that a wrong
argument costs no waiting and a finished run never finds that it cannot write.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from citer_core.cli.dataset_arguments import refuse_bad_rows, use_named_dataset
from citer_core.cli.decoding_arguments import N_PROBLEMS, asked_settings, settings_for, warn_if_far
from citer_core.cli.model_arguments import llm_server, load_engine, model_identity, router_name
from citer_core.cli.terminal import format_bytes, say
from citer_core.cost import H100_SXM
from citer_core.errors import DatasetError, InputError, SettingError
from citer_core.row_file import NUMBER, RowFile
from citer_core.tasks.datasets import NumberedRow, read_rows, validate_rows
from citer_core.tasks.prompts import PROMPT_VERSION
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.trace import RoutingTrace

# What is read again of rows that an earlier run wrote; see `_output_row`.
ROW_KINDS = {
    "prompt": str,
    "is_correct": (bool, type(None)),
    "n_tokens": int,
    **dict.fromkeys(("llm_token_share", "estimated_bytes", "estimated_bytes_llm_only", "measured_s"), NUMBER),
}


def run_dataset(args: argparse.Namespace) -> None:
    """Runs every row that the output file does not hold yet.

    Args:
        args: of `route`.

    Raises:
        CiterError: wrong settings, rows or files; or the error of a row, after which finished rows stay.
    """
    _check_arguments(args)
    use_named_dataset(args, "test", say)
    rows = _good_rows(args)
    with RowFile(args.output_file, _identity(args), ROW_KINDS) as output:
        pending = _pending(rows, output)
        if output.rows:
            say(f"resuming {output.path}: {len(rows) - len(pending)} of {len(rows)} rows are done")
        if pending:
            engine = load_engine(args, args.router)
            _run_rows(args, engine, pending, output)
        done = [output.rows[row.id] for row in rows if row.id in output.rows]
        say(_totals(done))
        warn_if_far(args.budget, _llm_share(done))


def _check_arguments(args: argparse.Namespace) -> None:
    if args.data_type == "open":
        raise SettingError("A data set has --data-type math or mc: open is for a raw prompt with --question.")
    if args.output_file is None:
        raise SettingError(
            "--dataset-path and --dataset need --output-file: give the file that the results are written to."
        )


def _identity(args: argparse.Namespace) -> dict[str, Any]:
    """What two runs must agree in for their rows to stand in one file, as far as it is known before loading."""
    decoding: dict[str, Any] = asked_settings(args).to_dict()
    if args.budget is not None:
        decoding["threshold"] = None  # found once the pair is loaded
    return {
        "data_type": args.data_type,
        "prompt_version": PROMPT_VERSION,
        **model_identity(args),
        "router": args.router,
        "with_trace": args.with_trace,
        # Where the server is may change, what it serves is in the revision.
        "llm_server": True if llm_server(args) else None,
        **decoding,
        "budget": args.budget,
    }


def _loaded(engine: Engine, router: str | None, settings: DecodeSettings) -> dict[str, Any]:
    """The rest of it: which weights, which router where none was named, and the tau that a budget became."""
    chosen = engine.router(router)
    return {
        "pair_revision": engine.pair_info.revision,
        "router_name": chosen.name,
        "router_revision": chosen.revision,
        "tau": settings.threshold,
    }


def _good_rows(args: argparse.Namespace) -> list[NumberedRow]:
    errors = validate_rows(args.dataset_path, args.data_type)
    if not args.skip_bad_rows:
        refuse_bad_rows(errors, "Correct them, or add --skip-bad-rows to go on without them.")
    for error in errors:
        say(f"skipped: {error}")
    rows = list(read_rows(args.dataset_path, args.data_type, on_error=lambda _: None))
    if not rows:
        raise DatasetError(f"{args.dataset_path} has no good row to run.")
    return rows[: args.limit]


def _pending(rows: Sequence[NumberedRow], output: RowFile) -> list[NumberedRow]:
    """Rows that are not in the output. One that is there must have asked the same, or two data sets would mix."""
    pending = []
    for row in rows:
        done = output.rows.get(row.id)
        if done is None:
            pending.append(row)
        elif done.get("prompt") != row.problem.prompt:
            raise DatasetError(
                f'{output.path} has a row "{row.id}" that answers another prompt than row {row.number} of the data '
                "set: the data set has changed, choose another output file."
            )
    return pending


def _run_rows(args: argparse.Namespace, engine: Engine, pending: Sequence[NumberedRow], output: RowFile) -> None:
    fitting = [row for row in pending if _fits(args, engine, row)]
    if not fitting:
        return
    router, settings = router_name(args.router), _settings(args, engine, fitting, output)
    output.bind(_loaded(engine, router, settings))
    runs = engine.run_batch(
        [row.problem for row in fitting],
        router=router,
        settings=settings,
        batch_size=args.batch_size,
        with_candidates=args.with_trace,
        may_vary_threads=True,
    )
    for done, (index, trace) in enumerate(runs, start=1):
        result = _output_row(fitting[index].id, trace, with_trace=args.with_trace)
        output.append(result)
        say(f"[{done}/{len(fitting)}] {result['id']}: {_progress(result)}")


def _settings(
    args: argparse.Namespace, engine: Engine, fitting: Sequence[NumberedRow], output: RowFile
) -> DecodeSettings:
    """The same for all rows: of an output that is resumed, the tau that a budget became then."""
    known = output.loaded.get("tau") if output.rows else None
    if args.budget is not None and isinstance(known, float):
        return replace(asked_settings(args), threshold=known)
    return settings_for(args, engine, [row.problem for row in fitting[:N_PROBLEMS]], args.batch_size)


def _fits(args: argparse.Namespace, engine: Engine, row: NumberedRow) -> bool:
    """Whether the prompt leaves room in the models' context, which only the loaded tokenizer knows."""
    try:
        engine.check(row.problem)
    except InputError as error:
        named = DatasetError(f"{args.dataset_path}, row {row.number}: {error}")
        if not args.skip_bad_rows:
            raise named from error
        say(f"skipped: {named}")
        return False
    return True


def _output_row(row_id: str, trace: RoutingTrace, *, with_trace: bool = False) -> dict[str, Any]:
    """One finished run as a row of the output file: `estimated_*` are modelled, `measured_s` is measured."""
    cost = trace.cost(H100_SXM)
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


def _progress(row: Mapping[str, Any]) -> str:
    """One row of the output file in a few words."""
    verdict = {True: "right", False: "wrong", None: "no known answer"}[row["is_correct"]]
    return f"{verdict}, {row['n_tokens']} tokens, {row['llm_token_share']:.1%} LLM, {row['measured_s']:.2f} s"


def _totals(rows: Sequence[Mapping[str, Any]]) -> str:
    """All rows of the output file in one line."""
    if not rows:
        return "no rows finished"
    n_tokens = sum(row["n_tokens"] for row in rows)
    n_bytes, llm_only = (sum(row[name] for row in rows) for name in ("estimated_bytes", "estimated_bytes_llm_only"))
    marked = [row["is_correct"] for row in rows if row["is_correct"] is not None]
    parts = [f"{len(rows)} rows"]
    if marked:
        parts.append(f"{sum(marked)} of {len(marked)} right ({sum(marked) / len(marked):.1%})")
    parts.append(f"{n_tokens} tokens, {_llm_share(rows):.1%} by the LLM")
    parts.append(f"{format_bytes(n_bytes)} moved (estimated), {n_bytes / llm_only if llm_only else 0:.1%} of LLM-only")
    parts.append(f"{sum(row['measured_s'] for row in rows):.1f} s in the models (measured)")
    return " | ".join(parts)


def _llm_share(rows: Sequence[Mapping[str, Any]]) -> float:
    """The share of all tokens of rows of the output file that the LLM wrote."""
    n_llm_tokens = sum(row["n_tokens"] * row["llm_token_share"] for row in rows)
    return float(n_llm_tokens / max(1, sum(row["n_tokens"] for row in rows)))
