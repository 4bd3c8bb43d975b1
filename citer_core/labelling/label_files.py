"""Labels on disk: a header, and parts of some examples each as safetensors (numbers) and JSON Lines (what they mean).

    labels.json                 see `LabelHeader`
    part-000100.safetensors     the tensors of `Labels`, tokens of examples 100, 101, ...
    part-000100.jsonl           one row per example: id, truth and both models' greedy tokens, cases, labels

A part is computed whole and appears under its name only when it is complete (the .jsonl last), so a run that is killed
resumes with the part it was at and ends with the same bytes. Several processes may label into one folder, each its
shard of the parts; folders of several machines are merged.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Container, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from citer_core.errors import DatasetError, GateError, SettingError
from citer_core.file_lock import forget_killed_writer, only_writer
from citer_core.files import whole_file, write_whole
from citer_core.labelling.label_header import LabelHeader, read_rows_of, read_tensors_of, said
from citer_core.labelling.labels import BRANCHES, Labels, LabelSettings, label_examples, rolled_out
from citer_core.labelling.rollouts_file import RolloutsFile
from citer_core.labelling.teacher_forcing import Example, TeacherForced
from citer_core.labelling.truth import examples_of
from citer_core.models.pair import ModelPair
from citer_core.models.same_pair import is_same_run
from citer_core.tasks.problems import Rows
from citer_core.tasks.prompts import PROMPT_VERSION
from citer_core.trace import PairInfo

PART_SIZE = 100


def label_dataset(
    pair: ModelPair,
    rows: Rows,
    folder: Path,
    settings: LabelSettings,
    *,
    shard: tuple[int, int] = (1, 1),
    part_size: int = PART_SIZE,
    rollouts_file: Path | None = None,
) -> Iterator[int]:
    """Labels rows part by part into `folder`; parts that are there already are left alone.

    Args:
        pair: the two models.
        rows: in an official format, each with its ground truth unless the LLM's own text is labelled.
        folder: made if it is missing; must be empty or hold labels of the same header.
        settings: see `LabelSettings`.
        shard: (i, n): only every n-th part, from the i-th on; i from 1 to n.
        part_size: examples per part.
        rollouts_file: what it has is not rolled out again, and what it lacks is written there.

    Yields:
        How many examples of this shard are done, after each part.

    Raises:
        DatasetError: a row is malformed, or the folder holds something else.
        SettingError: another run labels the same part.
        MachineError: a part can no longer be written; the parts before it stay.
    """
    header = LabelHeader.of(pair, rows, settings, part_size)
    header.write(folder)
    branches = 2 if settings.labels == "outcome" else 1
    done = 0
    with contextlib.ExitStack() as stack:
        book = rollouts_file and stack.enter_context(RolloutsFile(rollouts_file, header.rolled_by, branches=branches))
        for start in shard_starts(len(rows), shard, part_size):
            part_rows = rows[start : start + part_size]
            path = part_path(folder, start)
            if not path.exists():
                with only_writer(path):
                    examples = examples_of(pair, part_rows, settings.truth, settings.policy)
                    known = [book.known(example) for example in examples] if book else ()
                    labels, forced = label_examples(pair, examples, settings, first_question=start, known=known)
                    if book:  # before the part, which is made again in a moment where the rollouts are known
                        for question, example in enumerate(examples, start):
                            book.keep(example, rolled_out(labels.take(labels.question == question), settings))
                    _write_part(folder, start, labels, examples, forced, part_rows)
            else:
                forget_killed_writer(path)
            done += len(part_rows)
            yield done


def shard_starts(n_rows: int, shard: tuple[int, int], part_size: int = PART_SIZE) -> range:
    """Number of the first example of every part of shard (i, n)."""
    i, n = shard
    if not 1 <= i <= n:
        raise SettingError(f"The shard {i}/{n} does not exist: give i/n with i from 1 to n.")
    return range(0, n_rows, part_size)[i - 1 :: n]


def part_path(folder: Path, start: int) -> Path:
    """The file whose presence says that a part is complete."""
    return folder / f"part-{start:06d}.jsonl"


def _write_part(
    folder: Path, start: int, labels: Labels, examples: Sequence[Example], forced: Sequence[TeacherForced], rows: Rows
) -> None:
    path = part_path(folder, start)
    names = [f.name for f in fields(labels) if f.name not in BRANCHES or bool(labels.is_tried.any())]
    tensors = {name: getattr(labels, name).contiguous() for name in names}
    with whole_file(path.with_suffix(".safetensors")) as partial:
        save_file(tensors, partial)
    lines = []
    for number, (example, truth, (_, data_type)) in enumerate(zip(examples, forced, rows, strict=True), start):
        mine = labels.question == number
        record = {
            "question": number,
            "id": example.problem.id,
            "data_type": data_type,
            "truth_ids": truth.truth_ids.tolist(),
            "slm_ids": truth.slm_ids.tolist(),
            "llm_ids": truth.llm_ids.tolist(),
            "cases": labels.case[mine].tolist(),
            "labels": labels.label[mine].tolist(),
        }
        lines.append(json.dumps(record, separators=(",", ":")) + "\n")
    write_whole(path, "".join(lines))


def load_labels(folder: Path, pair: PairInfo | None = None) -> tuple[LabelHeader, Labels, list[dict[str, Any]]]:
    """Reads a folder of labels.

    Args:
        folder: complete: every part of its header is there.
        pair: refuse labels of another one, or of prompts in another form; None takes any.

    Returns:
        The header, all tokens, and the rows of all examples in order.

    Raises:
        DatasetError: a part is missing or damaged, or the labels are of another pair, prompt or version.
    """
    header = LabelHeader.read(folder)
    if pair is not None and not is_same_run(header.pair_revision, pair.revision):
        raise DatasetError(
            f"The labels in {folder} were made with the pair {said(header.pair_revision)}, but this is "
            f"{pair.revision}. Label with this pair."
        )
    if pair is not None and header.prompt_form != pair.prompt_form:
        raise DatasetError(
            f"The labels in {folder} were made with prompts in the form {said(header.prompt_form)}, but this pair's "
            f"are {pair.prompt_form}. Label again, or load the pair as it was then (--no-chat makes plain prompts)."
        )
    if header.prompt_version != PROMPT_VERSION:
        raise DatasetError(
            f"The labels in {folder} were made with prompt version {header.prompt_version}, but this is "
            f"{PROMPT_VERSION}. Label again."
        )
    there = parts_in(folder, header)
    if len(there) < len(header.starts):
        raise DatasetError(
            f"The labels in {folder} lack {len(header.starts) - len(there)} of {len(header.starts)} parts, the first "
            f"from example {first_hole(header, there)} on. Run the same `label` command to resume it, every shard of "
            "it, or merge their folders."
        )
    parts, rows, numbers = list[Labels](), list[dict[str, Any]](), list[int]()
    for start in header.starts:
        path = part_path(folder, start)
        try:
            part = read_tensors_of(path.with_suffix(".safetensors"), range(start, start + header.part_size))
            if parts and part.hidden.shape[1] != parts[0].hidden.shape[1]:
                raise GateError("its states are of another size than those before")
            parts.append(part)
            rows += read_rows_of(path)
            numbers += [row["question"] for row in rows[len(numbers) :]]
        except GateError as error:
            raise DatasetError(
                f"The part {path.stem} of the labels in {folder} could not be read ({error}). Delete its two files "
                "and label again: only they are made again."
            ) from error
    if numbers != list(range(header.n_rows)) or not parts:
        raise DatasetError(f"The labels in {folder} do not number their examples 0 to {header.n_rows - 1}.")
    labels = Labels.concatenate(parts)
    return header, labels, rows


def load_label_folders(
    folders: Sequence[Path],
) -> tuple[list[LabelHeader], Labels, list[dict[str, Any]]]:
    """Reads the labels of several data sets of one pair as one, questions numbered through.

    Args:
        folders: one or more, each complete, all different.

    Returns:
        The header of each folder, all tokens, and the rows of all examples in order.

    Raises:
        DatasetError: see `load_labels`; or two folders hold the same examples, or were made by different pairs or
            with different prompts.
    """
    headers, parts, rows = list[LabelHeader](), list[Labels](), list[dict[str, Any]]()
    for folder in folders:
        header, labels, own_rows = load_labels(folder)
        for other, name in zip(headers, folders, strict=False):
            for field in ("pair_revision", "dtype", "prompt_form", "labels"):
                ours, theirs = getattr(header, field), getattr(other, field)
                if ours != theirs and not (field == "pair_revision" and is_same_run(ours, theirs)):
                    raise DatasetError(
                        f"The labels in {folder} were made with {field} = {said(ours)}, those in {name} with "
                        f"{said(theirs)}: one router learns from one pair. Label again with the same pair and "
                        "settings."
                    )
            if header.rows == other.rows:
                raise DatasetError(f"{name} and {folder} hold the same examples: give each data set once.")
        headers.append(header)
        parts.append(replace(labels, question=labels.question + len(rows)))
        rows += [row | {"question": row["question"] + len(rows)} for row in own_rows]
    return headers, Labels.concatenate(parts), rows


def merge_labels(folders: Sequence[Path], target: Path) -> int:
    """Puts the parts of several folders into one.

    Returns:
        The number of parts.

    Raises:
        DatasetError: their headers differ, a part is in two of them, or one is in none or lacks a file, and nothing is
            written; or `target` cannot be.
    """
    if not folders:
        raise SettingError("There is nothing to merge: name the folders.")
    header = LabelHeader.read(folders[0])
    found: dict[int, Path] = {}
    for folder in folders:
        header.check(LabelHeader.read(folder), folder)
        for start in sorted(parts_in(folder, header)):
            if start in found:
                raise DatasetError(
                    f"The part from example {start} on is in {found[start]} and in {folder}: remove one of the two."
                )
            tensors = part_path(folder, start).with_suffix(".safetensors")
            if not tensors.exists():
                raise DatasetError(f"{tensors} is missing: delete the .jsonl beside it and label again.")
            found[start] = folder
    n_holes = len(header.starts) - len(found)
    if n_holes:
        raise DatasetError(
            f"{n_holes} of {len(header.starts)} parts are in none of the folders, the first from example "
            f"{first_hole(header, found)} on: label the missing shards first."
        )
    header.write(target)
    for start, folder in found.items():
        for suffix in (".safetensors", ".jsonl"):
            source = part_path(folder, start).with_suffix(suffix)
            with whole_file(target / source.name) as partial:
                shutil.copyfile(source, partial)
    return len(found)


def parts_in(folder: Path, header: LabelHeader) -> set[int]:
    """First examples of the parts that are there, in a time that depends on the folder and not on what it says."""
    numbers = (path.stem.removeprefix("part-") for path in folder.glob("part-*.jsonl"))
    found = {int(number) for number in numbers if number.isdecimal() and len(number) < 12}
    return {start for start in found if start in header.starts and part_path(folder, start).exists()}


def first_hole(header: LabelHeader, there: Container[int]) -> int:
    """First example of the first part that is not there; one is not."""
    return next(start for start in header.starts if start not in there)
