"""Arguments, rows and files that several commands' tests share."""

from __future__ import annotations

import json
from pathlib import Path

from citer_core.cli.main import main
from citer_core.labelling import label_files
from citer_core.labelling.label_files import label_dataset, shard_starts

ROOT = Path(__file__).resolve().parents[2]
LABEL = ["label", "--generated", "5", "--max-new-tokens", "40", "--ask-slm"]
LABEL_LITTLE = ["label", "--generated", "2", "--max-new-tokens", "10"]
QUICK = ["--epochs", "3", "--learning-rates", "0.001"]


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def small_parts(patch):
    """Parts of 3 rows, so that few rows make several."""
    patch.setattr(label_files, "PART_SIZE", 3)
    patch.setitem(label_dataset.__kwdefaults__, "part_size", 3)
    patch.setattr(shard_starts, "__defaults__", (3,))


def route(*arguments: str) -> int:
    return main(["route", *arguments])


def dataset(tmp_path: Path, n_rows: int = 4, **extra: str) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = [{"id": f"q{n}", "problem": f"{n}+1?", "solution": rf"\boxed{{{n + 1}}}"} for n in range(n_rows)]
    path.write_text("".join(json.dumps(row | extra) + "\n" for row in rows), encoding="utf-8")
    return path
