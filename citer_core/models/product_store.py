"""What was measured about products on this machine, kept for the next start: one small JSON file in the cache folder.

A measurement belongs to a processor, a number of threads and a version of torch. A file that cannot be read or written
costs a fraction of a second at each start, and nothing else.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import torch

from citer_core.config import cache_folder
from citer_core.errors import GateError
from citer_core.gate.fields import Choice, ListOf, Real, Record, Text
from citer_core.gate.json_text import parse_json
from citer_core.hardware import processor_in_words
from citer_core.models.products import ROW_CLASSES, Kind, Measured, Measurements, Shape, measure_products, ways_for

log = logging.getLogger(__name__)
MOST_KEPT = 64
MOST_CHARS = 400_000


def known_products(shapes: Mapping[Kind, Shape], file: Path | None = None) -> Measurements:
    """What is known of these shapes here, measured now if it is not.

    Args:
        shapes: see `measure_products`.
        file: where it is kept; None takes `products.json` in the cache folder.
    """
    path = cache_folder() / "products.json" if file is None else file
    key = _key(shapes)
    kept = _read(path)
    if key in kept:
        return kept[key]
    found = measure_products(shapes)
    others = list(kept.items())[-(MOST_KEPT - 1) :]
    _write(path, {**dict(others), key: found})
    return found


def _key(shapes: Mapping[Kind, Shape]) -> str:
    matrices = " ".join(f"{kind} {n_in}x{n_out}" for kind, (n_in, n_out) in sorted(shapes.items()))
    return f"{processor_in_words()}, torch {torch.__version__}, {torch.get_num_threads()} threads: {matrices}"


def _row(rows: int) -> Record:
    ways = ways_for(rows)
    return Record({"way": Choice(*ways), "bytes_per_s": Record({way: Real(open_low=True) for way in ways})})


_BY_ROWS = Record({str(rows): _row(rows) for rows in ROW_CLASSES})
_ENTRY = Record({"key": Text(1000), "kinds": Record({}, dict.fromkeys(get_args(Kind), _BY_ROWS))})
_FILE = Record({"entries": ListOf(_ENTRY, MOST_KEPT)})


def _read(path: Path) -> dict[str, Measurements]:
    try:
        document = _FILE.read(parse_json(path.read_bytes(), max_chars=MOST_CHARS), path.name)
    except FileNotFoundError:
        return {}
    except (OSError, GateError) as error:
        log.warning("what was measured about products is not read, and measured again: %s", error)
        return {}
    return {entry["key"]: _measurements(entry["kinds"]) for entry in document["entries"]}


def _measurements(kinds: Mapping[Kind, Mapping[str, Mapping[str, Any]]]) -> Measurements:
    return {kind: {rows: Measured(**by_rows[str(rows)]) for rows in ROW_CLASSES} for kind, by_rows in kinds.items()}


def _write(path: Path, kept: Mapping[str, Measurements]) -> None:
    entries = [
        {"key": key, "kinds": {kind: {rows: asdict(m) for rows, m in by.items()} for kind, by in kinds.items()}}
        for key, kinds in kept.items()
    ]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(json.dumps({"entries": entries}, indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        log.warning("what was measured about products cannot be kept in %s: %s", path.name, error)
