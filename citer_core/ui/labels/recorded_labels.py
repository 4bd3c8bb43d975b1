"""Recorded labels: `NAME.json` analyses and one `index.json` in `assets/labelled`, shown without a model.

A recording reads one problem after another and keeps each in `NAME.rows.jsonl` until the last one is there, so the same
command goes on where it was. A recording of the same pair, rows and routers is left alone. Imports no torch for those
who only read. Called by the tab, the command line and the writer of the static page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citer_core.assets import ASSETS
from citer_core.errors import DatasetError, GateError
from citer_core.file_lock import only_writer
from citer_core.files import need_folder, write_whole
from citer_core.gate.fields import FileName, Flag, Kind, Record, Text, Whole
from citer_core.gate.json_file import read_bytes
from citer_core.hardware import hardware_in_words
from citer_core.models.same_pair import is_same_run
from citer_core.recording import INDEX, JSON_FILE, Index
from citer_core.row_file import RowFile
from citer_core.ui.labels.messages import analysis_body
from citer_core.ui.labels.rows import MAX_FILE_BYTES, SET_NAMES, LabelInput, bundled_set, rows_of_file

if TYPE_CHECKING:
    from citer_core.engine import Engine
    from citer_core.evaluation.label_view import LabelledText
    from citer_core.labelling.teacher_forcing import Example
    from citer_core.ui.labels.label_folder import GivenLabels

FOLDER = ASSETS / "labelled"
DATASETS = ASSETS / "datasets"
STORED = "stored:"  # begins the id of a recorded analysis; those of live ones are random
MOST_TRAINED = 3  # so many of the trained routers where nothing else is said: each costs a browser 70 kB of a set
FREE = "max-probability"
MAX_BYTES = 20_000_000
PROBABILITIES = ("slm_probability", "llm_probability", "slm_truth_probability", "llm_truth_probability")
TENSORS = {
    "slm_ids": "int64", "llm_ids": "int64", "case": "int8", "label": "int8", **dict.fromkeys(PROBABILITIES, "float32"),
}  # fmt: skip
_WORDS, _NUMBER = Text(300), Whole(1, 10**7)


@dataclass(frozen=True, slots=True)
class StoredLabels:
    """An entry of the index.

    Attributes:
        file: of the analysis, a plain name.
        title: what was read, for people.
        pair, pair_revision, dtype: by whom.
        rows: `math` or `mc` for a bundled set, else a file of `assets/datasets`.
        routers: names and revisions of those that were asked, joined; a recording with others is another one.
        by_outcome: whether its tokens are labelled by outcome too.
        n_problems, n_tokens: how much it is.
        date, hardware, command: when, on what, and how to make it again.
    """

    file: str
    title: str
    pair: str
    pair_revision: str
    dtype: str
    rows: str
    routers: str
    by_outcome: bool
    n_problems: int
    n_tokens: int
    date: str
    hardware: str
    command: str

    @property
    def id(self) -> str:
        """What the analysis is called on the page."""
        return f"{STORED}{Path(self.file).stem}"


_KINDS: dict[str, Kind[Any]] = {
    **dict.fromkeys((field.name for field in fields(StoredLabels)), Text(4000)),
    "file": JSON_FILE,
}
_ROWS: dict[str, Kind[Any]] = {"rows": FileName(), "by_outcome": Flag(), "n_problems": _NUMBER, "n_tokens": _NUMBER}
LABELS = Index(
    Record({**_KINDS, "title": _WORDS, "pair": _WORDS, **_ROWS}),
    "recorded labels",
    "them anew with `python -m citer_core record-labels`",
)


def read_stored(folder: Path = FOLDER) -> list[StoredLabels]:
    """The recorded analyses in the order in which they are offered; none where there is no index.

    Raises:
        TraceError: the index is damaged.
    """
    return [StoredLabels(**entry) for entry in LABELS.read(folder)]


@lru_cache(maxsize=8)
def rows_called(name: str) -> LabelInput:
    """The rows of that name: `math` or `mc` for a bundled set, else a JSON Lines file of `assets/datasets`.

    Raises:
        DatasetError: there are none, or one is bad.
    """
    return bundled_set("mc" if name == "mc" else "math") if name in SET_NAMES else rows_in_file(DATASETS / name)


def rows_in_file(path: Path) -> LabelInput:
    """The rows of a JSON Lines file, as the page reads one.

    Raises:
        DatasetError: it cannot be read, or a row is bad.
    """
    try:
        text = read_bytes(path, max_bytes=MAX_FILE_BYTES).decode()
    except (GateError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path.name} cannot be read ({error}). Give a JSON Lines file of problems.") from error
    rows = rows_of_file(path.name, text).rows
    kinds = {kind for _, kind in rows}
    return LabelInput(f"{len(rows)} {SET_NAMES[kinds.pop()] if len(kinds) == 1 else 'problems'}", rows)


def record_labels(
    engine: Engine,
    name: str,
    source: LabelInput,
    folder: Path,
    *,
    routers: Sequence[str] = (),
    by_outcome: bool = False,
    given: GivenLabels | None = None,
    command: str = "",
) -> Iterator[tuple[int, StoredLabels | None]]:
    """Reads all rows with both models and keeps the analysis; what is there already is left alone.

    Args:
        engine: the pair.
        name: of the rows, see `rows_called`.
        source: the rows.
        folder: of the analyses.
        routers: asked at every token; none takes the first trained ones and max-probability.
        by_outcome: also try both tokens wherever the models differ; the page then shows these labels first.
        given: labels of these rows that were made before.
        command: that makes it again.

    Yields:
        How many problems are read, and None; at last all, and the entry.

    Raises:
        CiterError: a row does not fit the pair, or the folder cannot be written, or another process writes it.
    """
    need_folder(folder)
    chosen = [engine.router(one) for one in routers or usual_routers(engine)]
    info, stem = engine.pair_info, f"labels-{given.name}" if given else Path(name).stem
    entry = StoredLabels(
        file=f"{_plain(info.name)}-{_plain(stem)}.json",
        title=source.title, pair=info.name, pair_revision=info.revision, dtype=info.dtype, rows=Path(name).name,
        routers=" ".join(f"{router.name}={router.revision}" for router in chosen),
        by_outcome=by_outcome, n_problems=len(source.rows), n_tokens=1, date=datetime.now(UTC).date().isoformat(),
        hardware=hardware_in_words(), command=command,
    )  # fmt: skip
    with only_writer(folder / INDEX):
        there = next((one for one in read_stored(folder) if one.file == entry.file), None)
        if given is None and there is not None and _is_same(there, entry) and (folder / there.file).exists():
            yield there.n_problems, there
            return
        yield from _recorded(engine, entry, source, folder, [router.name for router in chosen], given)


def _recorded(
    engine: Engine,
    entry: StoredLabels,
    source: LabelInput,
    folder: Path,
    names: list[str],
    given: GivenLabels | None,
) -> Iterator[tuple[int, StoredLabels | None]]:
    import torch

    from citer_core.evaluation.label_view import label_texts, outcome_labels
    from citer_core.labelling.teacher_forcing import example_of

    routers = [engine.router(name) for name in names]
    examples = given.examples if given else [example_of(row, kind, engine.pair) for row, kind in source.rows]
    path = folder / f"{Path(entry.file).stem}.rows.jsonl"
    made_by = {"rows": entry.rows, "pair_revision": entry.pair_revision, "dtype": entry.dtype, "routers": entry.routers}
    made_by |= {"labels": given.digest} if given else {}
    wants_outcome = {"outcome": list} if entry.by_outcome else {}
    with RowFile(path, made_by, {"truth_ids": list, "pieces": list, **wants_outcome}) as kept:
        for number, example in enumerate(examples):
            if str(number) not in kept.rows:
                labels = [given.labels[number]] if given else None
                known = None if entry.by_outcome else labels
                (text,) = label_texts(engine.pair, routers, [example], labels=known)
                row = _row_of(str(number), text)
                if entry.by_outcome:
                    row["outcome"] = (labels or outcome_labels(engine.pair, [example]))[0].tolist()
                kept.append(row)
            yield number + 1, None
        rows = [kept.rows[str(number)] for number in range(len(examples))]
        texts = [_text_of(row, example, path) for row, example in zip(rows, examples, strict=True)]
        by_outcome = [torch.tensor(row["outcome"]) for row in rows] if entry.by_outcome else None
    entry = replace(entry, n_tokens=sum(text.n_tokens for text in texts))
    body = analysis_body(entry.title, engine.pair, routers, texts, by_outcome)
    document = {"analysis": entry.id, "number": 0, **body}
    whole_text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_whole(folder / entry.file, whole_text + "\n")
    _write_index(entry, folder)
    for left in (path, path.with_name(path.name + ".meta.json")):
        left.unlink(missing_ok=True)
    yield entry.n_problems, entry


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def usual_routers(engine: Engine) -> list[str]:
    """The first trained routers of a pair, and the baseline that needs no training."""
    from citer_core.routing.stored import StoredRouter

    trained = [name for name in engine.router_names if isinstance(engine.router(name), StoredRouter)]
    return [*trained[:MOST_TRAINED], FREE]


def _is_same(there: StoredLabels, asked: StoredLabels) -> bool:
    """Whether what is there is what would be made."""
    same = ("title", "pair", "dtype", "rows", "routers", "by_outcome", "n_problems")
    return is_same_run(there.pair_revision, asked.pair_revision) and all(
        getattr(there, name) == getattr(asked, name) for name in same
    )


def _write_index(entry: StoredLabels, folder: Path) -> None:
    """Puts an entry in its place: the first pair's come first, in the order in which they were recorded."""
    entries = read_stored(folder)
    places = {one.file: place for place, one in enumerate(entries)}
    if entry.file in places:
        entries[places[entry.file]] = entry
    else:
        entries.append(entry)
    write_whole(folder / INDEX, json.dumps([asdict(one) for one in entries], indent=2, ensure_ascii=False) + "\n")


def _row_of(number: str, text: LabelledText) -> dict[str, Any]:
    """A text as a row: float32 becomes the same number in more digits."""
    return {
        "id": number, "truth_ids": text.example.truth_ids, "pieces": list(text.pieces),
        **{name: getattr(text, name).tolist() for name in TENSORS},
        "confidence": {name: values.tolist() for name, values in text.confidence.items()},
    }  # fmt: skip


def _text_of(row: Any, example: Example, path: Path) -> LabelledText:
    """The text of a row.

    Raises:
        DatasetError: it is of another problem.
    """
    import torch

    from citer_core.evaluation.label_view import LabelledText

    if row["truth_ids"] != example.truth_ids:
        raise DatasetError(f"{path} holds rows of other problems: remove it and run the same command again.")
    return LabelledText(
        example=example,
        pieces=tuple(row["pieces"]),
        **{name: torch.tensor(row[name], dtype=getattr(torch, kind)) for name, kind in TENSORS.items()},
        confidence={name: torch.tensor(values, dtype=torch.float32) for name, values in row["confidence"].items()},
    )
