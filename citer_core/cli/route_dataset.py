"""`route --dataset-path` and `--dataset`: a whole data set, resumable, one output row as each finishes.

Order matters: settings and rows are validated and the output is opened before a model is loaded, so that a wrong
argument costs no waiting and a finished run never finds that it cannot write.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from citer_core.cli.budget import N_PROBLEMS, asked_settings, settings_for, warn_if_far
from citer_core.cli.dataset_arguments import refuse_bad_rows, use_named_dataset
from citer_core.cli.decoding_arguments import given_settings
from citer_core.cli.model_arguments import llm_server, load_engine, model_identity, router_name
from citer_core.cli.summary import llm_share, output_row, progress_text, totals_line
from citer_core.cli.terminal import say
from citer_core.errors import DatasetError, InputError, SettingError
from citer_core.row_file import NUMBER, RowFile
from citer_core.tasks.datasets import NumberedRow, read_rows, validate_rows
from citer_core.tasks.prompts import PROMPT_VERSION
from citer_core.types import DecodeSettings

if TYPE_CHECKING:
    from citer_core.engine import Engine

# What is read again of rows that an earlier run wrote; see `output_row`.
ROW_KINDS = {
    "prompt": str,
    "is_correct": (bool, type(None)),
    "n_tokens": int,
    **dict.fromkeys(("llm_token_share", "estimated_bytes", "estimated_bytes_llm_only", "measured_s"), NUMBER),
}


def run_dataset(args: argparse.Namespace) -> int:
    """Runs every row that the output file does not hold yet; returns the exit code.

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
        say(totals_line(done))
        warn_if_far(args.budget, llm_share(done))
    return 0


def _check_arguments(args: argparse.Namespace) -> None:
    if args.data_type == "open":
        raise SettingError("A data set has --data-type math or mc: open is for a raw prompt with --question.")
    if args.output_file is None:
        raise SettingError(
            "--dataset-path and --dataset need --output-file: give the file that the results are written to."
        )
    if args.batch_size < 1:
        raise SettingError(f"--batch-size is {args.batch_size}: give a whole number from 1.")
    if args.limit is not None and args.limit < 1:
        raise SettingError(f"--limit is {args.limit}: give a whole number from 1, or leave it out for all rows.")


def _identity(args: argparse.Namespace) -> dict[str, Any]:
    """What two runs must agree in for their rows to stand in one file, as far as it is known before loading."""
    decoding: dict[str, Any] = DecodeSettings(**given_settings(args)).to_dict()
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
        result = output_row(fitting[index].id, trace, with_trace=args.with_trace)
        output.append(result)
        say(f"[{done}/{len(fitting)}] {result['id']}: {progress_text(result)}")


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
