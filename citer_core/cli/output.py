"""The output file of a data set run: one JSON line per finished row, on disk before the next row starts.

A run may die at any byte (kill -9, power). Its rows stay; the next start checks that it is the same run, cuts off a
torn last line and goes on behind it. What "the same run" means is kept in a sidecar, `OUT.jsonl.meta.json`. Knows
nothing about models. Needs POSIX for the lock.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from citer_core.errors import DatasetError, GateError
from citer_core.gate.excerpt import clean
from citer_core.gate.json_file import read_json
from citer_core.models.same_pair import is_same_run

META_SCHEMA = "citer-route-output"
META_VERSION = 1
PAIR_REVISION = "pair_revision"


class RowFile:
    """An open output file and the rows that it already holds.

    Attributes:
        path: of the file.
        rows: finished rows by id, in the order of the file.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Opens or creates the file, takes a lock on it and reads what is there.

        Args:
            path: of the output; its folder is created.
            settings: everything known before a model is loaded that decides what the rows contain; JSON values.

        Raises:
            DatasetError: it cannot be written, is being written by another process, is not ours, or belongs to a run
                with other settings.
        """
        self.path = path
        self.rows: dict[str, Mapping[str, Any]] = {}
        self._meta_path = path.with_name(path.name + ".meta.json")
        self._meta: dict[str, Any] = {"schema": META_SCHEMA, "schema_version": META_VERSION, "settings": dict(settings)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = path.open("a+b")
        except OSError as error:
            raise DatasetError(f"{path} cannot be written ({error.strerror or error}): choose another file.") from error
        try:
            self._lock()
            self._resume()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

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
            DatasetError: the disk is full or gone.
        """
        try:
            self._file.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise DatasetError(
                f"{self.path} cannot be written any more ({error.strerror or error}). Finished rows are kept: make "
                "room and run the same command again."
            ) from error
        self.rows[row["id"]] = row

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DatasetError(f"{self.path} is being written by another run: wait for it, or stop it.") from error
        except OSError:  # a file system without locks: going on is better than refusing
            return

    def _resume(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        if not content:
            self._write_meta()
            return
        # Before anything is cut off: a file that is not ours stays as it is.
        meta = self._read_meta()
        self._compare(meta.get("settings", {}), self._meta["settings"])
        self._meta = meta
        n_complete = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:n_complete].split(b"\n")[:-1], start=1):
            try:
                row = json.loads(line)
                self.rows[row["id"]] = row
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise DatasetError(
                    f"{self.path}, row {number} is damaged: remove that line to have it run again, or choose another "
                    "output file."
                ) from error
        self._file.truncate(n_complete)

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
            known = all(isinstance(meta.get(part, {}), dict) for part in ("settings", "loaded"))
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
        partial = self._meta_path.with_name(self._meta_path.name + ".partial")
        try:
            with partial.open("w", encoding="utf-8") as file:
                file.write(json.dumps(self._meta, indent=2) + "\n")
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._meta_path)
        except OSError as error:
            raise DatasetError(f"{self._meta_path} cannot be written ({error.strerror or error}).") from error


def _said(values: Mapping[str, Any], name: str) -> str:
    return clean(repr(values.get(name)))[:100]
