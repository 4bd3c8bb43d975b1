"""Local copies of the named data sets: fetched once, mapped, then read from the disk with no network.

    $CITER_CACHE/datasets/NAME/SPLIT.jsonl    official rows
    $CITER_CACHE/datasets/NAME/SPLIT.json     where they came from, and how many were dropped and why

A copy appears under its name only when it is complete. Knows the hub by `fetch_from_hub` only, which a test replaces;
what a data set's rows look like is `hub_datasets`' business.
"""

from __future__ import annotations

import contextlib
import datetime
import fnmatch
import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from citer_core.config import cache_folder
from citer_core.errors import CiterError, DatasetError
from citer_core.gate.excerpt import first_line
from citer_core.tasks.hub_datasets import HubDataset, Row, hub_dataset, official_rows, without_shared_prompts
from citer_core.tasks.prompts import DataType

# (data set, one of the hub's splits) -> its rows
Fetch = Callable[[HubDataset, str], Iterator[Mapping[str, Any]]]


def parse_spec(spec: str, split: str | None = None, default_split: str = "test") -> tuple[HubDataset, str]:
    """Reads `NAME` or `NAME:SPLIT`.

    Args:
        spec: what a person typed.
        split: from an option of its own; may repeat the split in `spec`, not contradict it.
        default_split: where neither names one.

    Raises:
        DatasetError: no such data set or split, or two different splits.
    """
    name, _, named = spec.partition(":")
    if named and split and named != split:
        raise DatasetError(f'"{spec}" names the split "{named}", but --split is "{split}": give one of them.')
    dataset = hub_dataset(name)
    chosen = named or split or default_split
    dataset.hub_splits(chosen)
    return dataset, chosen


def resolve_dataset(
    spec: str,
    split: str | None = None,
    *,
    default_split: str = "test",
    cache: Path | None = None,
    fetch: Fetch | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Path, DataType]:
    """The local copy of a named data set, made at its first use.

    Args:
        spec, split, default_split: see `parse_spec`.
        cache: folder of the copies; `datasets` in the project's cache where it is None.
        fetch: where rows come from; the hub where it is None.
        say: told in a line what is downloaded and what was dropped.

    Returns:
        Path of a JSON Lines file, and the type of its rows.

    Raises:
        DatasetError: see `parse_spec`; or there is no copy and none can be made (no network, no pyarrow, no space).
    """
    dataset, chosen = parse_spec(spec, split, default_split)
    folder = cache_folder() / "datasets" if cache is None else cache.expanduser()
    path = folder / dataset.name / f"{chosen}.jsonl"
    if not path.is_file():
        rows, provenance = _make_rows(dataset, chosen, fetch or fetch_from_hub, path, say)
        _write(path.with_suffix(".json"), json.dumps(provenance, indent=2) + "\n")
        _write(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path, dataset.data_type


def _make_rows(
    dataset: HubDataset, split: str, fetch: Fetch, path: Path, say: Callable[[str], None]
) -> tuple[list[Row], dict[str, Any]]:
    say(f"fetching {dataset.name} ({split}) from {dataset.hub_id} into {path}")
    rows, errors = official_rows(dataset, split, _fetch_all(dataset, split, fetch, path))
    n_valid = len(rows)
    if split != "test":
        # A question that is in both is a test question: dropped here, never there.
        tests, _ = official_rows(dataset, "test", _fetch_all(dataset, "test", fetch, path))
        rows = without_shared_prompts(rows, tests, dataset.data_type)
    if not rows:
        reason = f"the first is bad ({errors[0]})" if errors else "it is empty or all of it is in the test split"
        raise DatasetError(f"{dataset.hub_id} gave no usable row of the split {split}: {reason}. Give a file instead.")
    n_shared = n_valid - len(rows)
    say(f"{len(rows)} rows; dropped {n_shared} whose question is also in the test split and {len(errors)} unusable")
    return rows, {
        "hub_id": dataset.hub_id,
        "config": dataset.config,
        "hub_splits": list(dataset.hub_splits(split)),
        "date": datetime.date.today().isoformat(),
        "n_rows": len(rows),
        "n_dropped_in_test": n_shared,
        "dropped_unusable": [str(error) for error in errors],
    }


def _fetch_all(dataset: HubDataset, split: str, fetch: Fetch, path: Path) -> Iterator[Mapping[str, Any]]:
    for hub_split in dataset.hub_splits(split):
        try:
            yield from fetch(dataset, hub_split)
        except CiterError:
            raise
        except Exception as error:  # the hub's client, its transport and pyarrow each have their own kinds
            raise DatasetError(
                f"{dataset.hub_id} could not be fetched ({first_line(error)}). Try again with a network, or put rows "
                f"in the format {dataset.data_type} into {path}, made on a machine that has one."
            ) from error


def fetch_from_hub(dataset: HubDataset, hub_split: str) -> Iterator[Mapping[str, Any]]:
    """Downloads one split's parquet files and reads them.

    Raises:
        DatasetError: pyarrow is not installed, or the repository has no such files.
        Exception: what the hub's client raises without a network, or pyarrow for a damaged file.
    """
    if importlib.util.find_spec("pyarrow") is None:  # a platform without it, or an installation by hand
        raise DatasetError(
            "The hub's data sets are parquet files, which pyarrow reads, and it is not installed: run "
            "`pip install -r requirements.txt`, or give a JSON Lines file with --dataset-path."
        )
    from huggingface_hub import HfApi, hf_hub_download

    pattern = dataset.files.format(split=hub_split)
    names = HfApi().list_repo_files(dataset.hub_id, repo_type="dataset")
    found = sorted(fnmatch.filter(names, pattern))
    if not found:
        raise DatasetError(
            f"{dataset.hub_id} has no file {pattern}: the repository has changed. Give a JSON Lines file with "
            "--dataset-path instead."
        )
    for name in found:
        yield from read_parquet(Path(hf_hub_download(dataset.hub_id, name, repo_type="dataset")))


def read_parquet(path: Path) -> list[Row]:
    """All rows of a parquet file as dicts, in their order; needs pyarrow."""
    from pyarrow import parquet

    rows: list[Row] = parquet.read_table(path).to_pylist()
    return rows


def _write(path: Path, text: str) -> None:
    # Named by the process, so that several that start at once each write a whole file.
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()  # half of a data set, which takes the room
        raise DatasetError(
            f"{path} cannot be written ({error.strerror or error}): choose another folder with --dataset-cache."
        ) from error
