"""Labels on disk: a header, and parts of some examples each as safetensors (numbers) and JSON Lines (what they mean).

    labels.json                 who labelled what, how: everything that two parts must agree on
    part-000100.safetensors     the tensors of `Labels`, tokens of examples 100, 101, ...
    part-000100.jsonl           one row per example: id, truth and both models' greedy tokens, cases, labels

A part is computed whole and appears under its name only when it is complete (the .jsonl last), so a run that is killed
resumes with the part it was at and ends with the same bytes. Several processes may label into one folder, each its
shard of the parts; folders of several machines are merged.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

import citer_core
from citer_core.errors import DatasetError, SettingError
from citer_core.labelling.labels import Labels, LabelSettings, label_examples
from citer_core.labelling.teacher_forcing import Example, TeacherForced, example_of
from citer_core.models.pair import ModelPair
from citer_core.tasks.prompts import PROMPT_VERSION, DataType

SCHEMA, SCHEMA_VERSION = "citer-labels", 2
HEADER_FILE = "labels.json"
PART_SIZE = 100

Rows = Sequence[tuple[Mapping[str, Any], DataType]]


@dataclass(frozen=True, slots=True)
class LabelHeader:
    """What all parts of a folder agree on.

    Attributes:
        pair, pair_revision, dtype: who was asked, and in which precision.
        prompt_version, code_version: of this project.
        rows, n_rows, part_size: digest and number of the examples, and how many a part holds.
        iteration, router, router_revision, threshold: who rolled out.
        n_rollouts, ask_slm, max_new_tokens, seed: see `LabelSettings`.
        prompt_form: how prompts became token ids; see `PromptForm`.
    """

    pair: str
    pair_revision: str
    dtype: str
    prompt_version: int
    code_version: str
    rows: str
    n_rows: int
    part_size: int
    iteration: int
    router: str
    router_revision: str
    threshold: float
    n_rollouts: int | None
    ask_slm: bool
    max_new_tokens: int
    seed: int
    prompt_form: str = "plain"  # headers from before there were chat templates do not say

    @classmethod
    def of(cls, pair: ModelPair, rows: Rows, settings: LabelSettings, part_size: int = PART_SIZE) -> LabelHeader:
        """The header of a labelling that is about to start."""
        policy = settings.policy
        return cls(
            pair=pair.info.name,
            pair_revision=pair.info.revision,
            dtype=pair.info.dtype,
            prompt_version=PROMPT_VERSION,
            code_version=citer_core.__version__,
            rows=hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16],
            n_rows=len(rows),
            part_size=part_size,
            iteration=settings.iteration,
            router=policy.router.name,
            router_revision=policy.router.revision,
            threshold=policy.threshold,
            n_rollouts=settings.n_rollouts,
            ask_slm=settings.ask_slm,
            max_new_tokens=policy.max_new_tokens,
            seed=settings.seed,
            prompt_form=pair.info.prompt_form,
        )

    @property
    def starts(self) -> range:
        """Number of the first example of every part."""
        return range(0, self.n_rows, self.part_size)

    def write(self, folder: Path) -> None:
        """Puts the header into `folder`, or checks the one that is there.

        Raises:
            DatasetError: the folder cannot be written, or holds labels of another run.
        """
        path = folder / HEADER_FILE
        if path.exists():
            self.check(LabelHeader.read(folder), folder)
            return
        document = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **asdict(self)}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _replace(path, json.dumps(document, indent=2) + "\n")
        except OSError as error:
            raise DatasetError(f"{folder} cannot be written ({error.strerror or error}): choose another.") from error

    @classmethod
    def read(cls, folder: Path) -> LabelHeader:
        """The header of a folder of labels.

        Raises:
            DatasetError: there is none, or it is of another kind or version.
        """
        try:
            document = json.loads((folder / HEADER_FILE).read_text(encoding="utf-8"))
            if (document.pop("schema"), document.pop("schema_version")) != (SCHEMA, SCHEMA_VERSION):
                raise ValueError("another kind or version")
            return cls(**document)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DatasetError(
                f"{folder} holds no labels that this version reads ({error}). Make them with "
                "`python -m citer_core label`."
            ) from error

    def check(self, found: LabelHeader, folder: Path) -> None:
        """Refuses a header that differs.

        Raises:
            DatasetError: it names the first difference.
        """
        for f in fields(self):
            ours, theirs = getattr(self, f.name), getattr(found, f.name)
            if ours != theirs:
                raise DatasetError(
                    f"The labels in {folder} were made with {f.name} = {theirs}, but now it is {ours}. Label into an "
                    "empty folder, or use the same settings to resume."
                )


def label_dataset(
    pair: ModelPair,
    rows: Rows,
    folder: Path,
    settings: LabelSettings,
    *,
    shard: tuple[int, int] = (1, 1),
    part_size: int = PART_SIZE,
) -> Iterator[int]:
    """Labels rows part by part into `folder`; parts that are there already are left alone.

    Args:
        pair: the two models.
        rows: in an official format, each with its ground truth.
        folder: made if it is missing; must be empty or hold labels of the same header.
        settings: see `LabelSettings`.
        shard: (i, n): only every n-th part, from the i-th on; i from 1 to n.
        part_size: examples per part.

    Yields:
        How many examples of this shard are done, after each part.

    Raises:
        DatasetError: a row is malformed, or the folder holds something else.
    """
    header = LabelHeader.of(pair, rows, settings, part_size)
    header.write(folder)
    done = 0
    for start in shard_starts(len(rows), shard, part_size):
        part_rows = rows[start : start + part_size]
        if not part_path(folder, start).exists():
            examples = [example_of(row, data_type, pair) for row, data_type in part_rows]
            labels, forced = label_examples(pair, examples, settings, first_question=start)
            _write_part(folder, start, labels, examples, forced, part_rows)
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
    tensors = {f.name: getattr(labels, f.name).contiguous() for f in fields(labels)}
    partial = path.with_suffix(".safetensors.partial")
    save_file(tensors, partial)
    partial.replace(path.with_suffix(".safetensors"))
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
    _replace(path, "".join(lines))


def load_labels(
    folder: Path, *, pair_revision: str | None = None, prompt_form: str | None = None
) -> tuple[LabelHeader, Labels, list[dict[str, Any]]]:
    """Reads a folder of labels.

    Args:
        folder: complete: every part of its header is there.
        pair_revision: refuse labels of another pair; None takes any.
        prompt_form: refuse labels of prompts in another form; None takes any.

    Returns:
        The header, all tokens, and the rows of all examples in order.

    Raises:
        DatasetError: a part is missing or damaged, or the labels are of another pair, prompt or version.
    """
    header = LabelHeader.read(folder)
    if pair_revision is not None and header.pair_revision != pair_revision:
        raise DatasetError(
            f"The labels in {folder} were made with the pair {header.pair_revision}, but this is {pair_revision}. "
            "Label with this pair."
        )
    if prompt_form is not None and header.prompt_form != prompt_form:
        raise DatasetError(
            f"The labels in {folder} were made with prompts in the form {header.prompt_form}, but this pair's are "
            f"{prompt_form}. Label again, or load the pair as it was then (--no-chat makes plain prompts)."
        )
    if header.prompt_version != PROMPT_VERSION:
        raise DatasetError(
            f"The labels in {folder} were made with prompt version {header.prompt_version}, but this is "
            f"{PROMPT_VERSION}. Label again."
        )
    missing = [start for start in header.starts if not part_path(folder, start).exists()]
    if missing:
        raise DatasetError(
            f"The labels in {folder} lack {len(missing)} of {len(header.starts)} parts, the first from example "
            f"{missing[0]} on. Run the same `label` command to resume it, every shard of it, or merge their folders."
        )
    parts, rows, numbers = [], list[dict[str, Any]](), list[int]()
    for start in header.starts:
        path = part_path(folder, start)
        try:
            parts.append(Labels(**load_file(path.with_suffix(".safetensors"))))
            rows += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            numbers += [row["question"] for row in rows[len(numbers) :]]
        except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
            raise DatasetError(
                f"The part {path.stem} of the labels in {folder} could not be read ({error}). Delete its two files "
                "and label again: only they are made anew."
            ) from error
    labels = Labels.concatenate(parts)
    if numbers != list(range(header.n_rows)):
        raise DatasetError(f"The labels in {folder} do not number their examples 0 to {header.n_rows - 1}.")
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
            for field in ("pair_revision", "dtype", "prompt_form"):
                ours, theirs = getattr(header, field), getattr(other, field)
                if ours != theirs:
                    raise DatasetError(
                        f"The labels in {folder} were made with {field} = {ours}, those in {name} with {theirs}: one "
                        "router learns from one pair. Label again with the same pair and settings."
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
        for start in header.starts:
            if not part_path(folder, start).exists():
                continue
            if start in found:
                raise DatasetError(
                    f"The part from example {start} on is in {found[start]} and in {folder}: remove one of the two."
                )
            tensors = part_path(folder, start).with_suffix(".safetensors")
            if not tensors.exists():
                raise DatasetError(f"{tensors} is missing: delete the .jsonl beside it and label again.")
            found[start] = folder
    holes = [start for start in header.starts if start not in found]
    if holes:
        raise DatasetError(
            f"{len(holes)} of {len(header.starts)} parts are in none of the folders, the first from example {holes[0]} "
            "on: label the missing shards first."
        )
    header.write(target)
    for start, folder in found.items():
        for suffix in (".safetensors", ".jsonl"):
            source = part_path(folder, start).with_suffix(suffix)
            partial = target / f"{source.name}.partial"
            try:
                shutil.copyfile(source, partial)
                partial.replace(target / source.name)
            except OSError as error:
                raise DatasetError(f"{source} could not be copied to {target} ({error.strerror or error}).") from error
    return len(found)


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
