"""Several folders of labels: those of several data sets read as one, and the shards of one put together."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from citer_core.errors import DatasetError, SettingError
from citer_core.files import whole_file
from citer_core.labelling.label_files import first_hole, load_labels, part_path, parts_in
from citer_core.labelling.label_header import LabelHeader, said
from citer_core.labelling.labels import Labels
from citer_core.models.same_pair import is_same_run


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
