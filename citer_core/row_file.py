"""The output file of a data set run: one JSON line per finished row, on disk before the next row starts.

A run may die at any byte (kill -9, power). Its rows stay; the next start checks that it is the same run, cuts off a
torn last line and goes on behind it. A row that a full disk took half of is cut off at once. What "the same run" means
is kept in a sidecar, `OUT.jsonl.meta.json`, with a checksum of each row that was there when the file was closed, so
that a row that was edited is not taken for a result. Knows nothing about models.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import zlib
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any, Self

from citer_core.errors import DatasetError, GateError, MachineError
from citer_core.file_lock import try_lock
from citer_core.files import why, write_whole
from citer_core.gate.excerpt import clean
from citer_core.gate.json_file import read_json
from citer_core.models.same_pair import is_same_run

META_SCHEMA = "citer-route-output"
META_VERSION = 1
PAIR_REVISION = "pair_revision"
NUMBER = (int, float)
# (field, what it must be) of the rows that are already there
Kinds = Mapping[str, Any]


class RowFile:
    """An open output file and the rows that it already holds.

    Attributes:
        path: of the file.
        rows: finished rows by id, in the order of the file.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], kinds: Kinds | None = None) -> None:
        """Opens or creates the file, takes a lock on it and reads what is there.

        Args:
            path: of the output; its folder is created.
            settings: everything known before a model is loaded that decides what the rows contain; JSON values.
            kinds: fields that every row has, beside its `id`, and what they are: else it is damaged.

        Raises:
            DatasetError: it cannot be written, is being written by another process, is not ours, or belongs to a run
                with other settings.
        """
        self.path = path
        self.rows: dict[str, Mapping[str, Any]] = {}
        self._kinds: Kinds = {"id": str, **(kinds or {})}
        self._meta_path = path.with_name(path.name + ".meta.json")
        self._meta: dict[str, Any] = {"schema": META_SCHEMA, "schema_version": META_VERSION, "settings": dict(settings)}
        self._sums: dict[str, str] = {}  # of rows, by id
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # A device or a pipe would be read without an end, to see which rows it holds.
            if path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode):
                raise DatasetError(f"{path} is not an ordinary file: choose another one for the rows.")
            # Unbuffered: what a full disk refused must not be tried again when the file is closed.
            self._file: FileIO = path.open("a+b", buffering=0)
        except OSError as error:
            raise DatasetError(f"{path} cannot be written ({why(error)}): choose another file.") from error
        try:
            self._lock()
            self._resume()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._file.closed:
            with contextlib.suppress(OSError, MachineError):  # a full disk: these rows go unchecked
                self._write_meta()
        self._file.close()

    def discard(self) -> None:
        """Closes the file and removes it: its rows have become something else."""
        self._file.close()
        for path in (self.path, self._meta_path):
            path.unlink(missing_ok=True)

    @property
    def loaded(self) -> Mapping[str, Any]:
        """What `bind` recorded; nothing before."""
        return dict(self._meta.get("loaded", {}))

    def bind(self, loaded: Mapping[str, Any]) -> None:
        """Records what is known only after loading (revisions), or compares it with what was recorded.

        Raises:
            DatasetError: the rows that are there came from something else.
        """
        if self.rows:
            before = self._meta.get("loaded", {})
            recorded, now = (known.get(PAIR_REVISION) for known in (before, loaded))
            # A name from before all weights were covered is still this pair's.
            if isinstance(recorded, str) and isinstance(now, str) and is_same_run(recorded, now):
                before = {**before, PAIR_REVISION: now}
            self._compare(before, loaded)
            return
        self._meta["loaded"] = dict(loaded)
        self._write_meta()

    def append(self, row: Mapping[str, Any]) -> None:
        """Writes one row through to the disk.

        Raises:
            MachineError: the disk is full or gone; nothing of the row is left there.
        """
        line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
        left = memoryview(line + b"\n")
        if self._sums.pop(row["id"], None):  # a kill before the next closing must not leave the sum of an earlier row
            self._write_meta()
        n_before = self._file.seek(0, os.SEEK_END)
        try:
            while left:  # a disk that is nearly full takes a part of it
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except BaseException as error:
            with contextlib.suppress(OSError):  # Ctrl-C in mid-row too
                self._file.truncate(n_before)
            if not isinstance(error, OSError):
                raise
            raise MachineError(
                f"{self.path} can no longer be written ({why(error)}). Finished rows are kept: make room and run "
                "the same command again."
            ) from error
        self.rows[row["id"]] = row
        self._sums[row["id"]] = _sum(line)

    def _lock(self) -> None:
        if not try_lock(self._file.fileno()):
            raise DatasetError(f"{self.path} is being written by another run: wait for it, or stop it.")

    def _resume(self) -> None:
        self._file.seek(0)
        content = self._file.readall()
        if not content:
            self._write_meta()
            return
        # Before anything is cut off: a file that is not ours stays as it is.
        meta = self._read_meta()
        self._compare(meta.get("settings", {}), self._meta["settings"])
        self._meta = meta
        n_complete = content.rfind(b"\n") + 1
        numbers: dict[str, int] = {}  # of the last line with each id
        for number, line in enumerate(content[:n_complete].split(b"\n")[:-1], start=1):
            try:
                row = json.loads(line)
                if wrong := [name for name, kind in self._kinds.items() if not isinstance(row[name], kind)]:
                    raise ValueError(wrong[0])
                self.rows[row["id"]] = row
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise self._damaged(number) from error
            numbers[row["id"]], self._sums[row["id"]] = number, _sum(line)
        for row_id, written in meta.get("sums", {}).items():
            if self._sums.get(row_id, written) != written:
                raise self._damaged(numbers[row_id])
        self._file.truncate(n_complete)
        if meta.get("sums", {}).keys() - self._sums.keys():  # lines were removed and will be written again
            self._write_meta()

    def _damaged(self, number: int) -> DatasetError:
        return DatasetError(
            f"{self.path}, row {number} is damaged or was edited: remove that line to have it run again, or choose "
            "another output file."
        )

    def _read_meta(self) -> dict[str, Any]:
        try:
            meta = read_json(self._meta_path)
        except GateError as error:
            raise DatasetError(
                f"{self.path} is not empty, and there is no readable {self._meta_path.name} beside it that says which "
                "run wrote it. It is left as it is: choose another output file."
            ) from error
        known = isinstance(meta, dict) and meta.get("schema") == META_SCHEMA
        if known:
            known = all(isinstance(meta.get(part, {}), dict) for part in ("settings", "loaded", "sums"))
        if not known or meta.get("schema_version") != META_VERSION:
            raise DatasetError(f"{self._meta_path} is of another kind or version: choose another output file.")
        return dict(meta)

    def _compare(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if names:
            changes = ", ".join(
                f"{clean(name)[:60]} was {_said(before, name)} and is {_said(now, name)}" for name in names
            )
            raise DatasetError(
                f"{self.path} holds rows of another run: {changes}. Use the same settings to resume it, or choose "
                "another output file."
            )

    def _write_meta(self) -> None:
        write_whole(self._meta_path, json.dumps(self._meta | {"sums": self._sums}, indent=2) + "\n")


def _sum(line: bytes) -> str:
    return f"{zlib.crc32(line):08x}"


def _said(values: Mapping[str, Any], name: str) -> str:
    return clean(repr(values.get(name)))[:100]
