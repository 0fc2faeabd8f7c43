"""The history of a Delta Lake table: the files that each version adds, read from its log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import unquote

import deltalake
import pyarrow as pa
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyarrow import fs

from streams_orchestration import world
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.lakes.delta_store import DeltaStore
from streams_orchestration.operators.lakes.errors import LakeRefusedError, lake_error
from streams_orchestration.operators.lakes.history import (
    MOST_AHEAD,
    DataPart,
    LostVersionsError,
    Start,
    StartAt,
    TablePosition,
    UnreadVersion,
    VersionParts,
)

Result = TypeVar("Result")
_LOG = "_delta_log"


class DeltaHistory:
    """The versions of one table.

    All methods but `open` raise LakeError if it cannot be reached or is gone, DataError if it was created again, and
    UnresolvedReferenceError if a reference to a secret cannot be resolved.
    """

    def __init__(self, store: DeltaStore) -> None:
        """Set up without reading anything."""
        self.store = store
        self.place = store.place
        self._opened: Any = None
        self._last: tuple[int | None, int | None] | None = None
        """The size in bytes and modification time of the newest log file; None before the first version was read."""
        self._ahead: dict[int, UnreadVersion | None] = {}

    def start(self, start: Start) -> TablePosition:
        """Return the position at which a source begins.

        Raises:
            DataError: the table does not have the version of `startAt` yet.
        """
        newest = self.newest()
        match start:
            case "snapshot":
                return TablePosition(newest, whole=True)
            case "latest":
                return TablePosition(newest, done=True)
            case "earliest":
                return self._oldest()
            case StartAt(version=int(version)):
                if version > newest + 1:
                    message = f"startAt: the table {self.place} has no version {version} yet; its newest is {newest}"
                    raise DataError(message)
                return TablePosition(version - 1, done=True) if version else TablePosition(0)
            case _:
                return self._at(start, newest)

    def newest(self) -> int:
        """Load the newest version if the log has changed, and return its number.

        Raises:
            DataError: the newest version is older than before, so the table was created again.
        """

        def load_newest() -> int:
            if self._opened is None or self._log_file(self._opened.version()) != self._last:
                before, self._opened = self._opened, self._table()
                if before is not None and self._opened.version() < before.version():
                    raise self._recreated(before.version())
            else:
                self._opened.update_incremental()
            self._last = self._log_file(self._opened.version())
            return self._opened.version()

        return self._reached(load_newest)

    def following(self, version: int) -> int | None:
        """Return the number of the next version; None if there is none yet.

        Raises:
            LostVersionsError: the log of the next version was removed.
            DataError: the table has no longer this version, so it was created again.
        """
        newest = self.newest()
        if newest < version:
            raise self._recreated(version)
        if newest == version:
            return None
        if self._log_of(version + 1) is None:
            after = next((number for number in self._versions() if number > version), None)
            last = newest if after is None else after - 1
            what = (
                f"the log of version {last}" if last == version + 1 else f"the log of versions {version + 1} to {last}"
            )
            raise LostVersionsError(what, after)
        return version + 1

    def is_at(self, version: int, until: int) -> bool:
        """Return True if `version` is at or after `until`; Delta versions are ascending numbers."""
        return version >= until

    def id_at(self, version: int, known: str | None) -> str:
        """Return the table's id at a version, or `known` at once if that is still the newest version's id.

        Replacing a table in place changes the id with a new version.

        Raises:
            DataError: the table has no longer this version, so it was created again.
        """
        newest = self.newest()
        identity = self._opened.metadata().id
        if identity == known or version == newest:
            return identity
        if version > newest:
            raise self._recreated(version)
        return self._reached(lambda: self._table(version).metadata().id)

    def parts(self, position: TablePosition) -> VersionParts:
        """Return the files of a version: all if `position.whole`, else those that it added.

        With the added files, the operation of a version that also removed rows is returned.

        Raises:
            LostVersionsError: the version's log was removed.
            DataError: a file has a deletion vector, which cannot be read.
        """
        if position.whole:
            return VersionParts(self._whole(position.version))
        actions = self._log_of(position.version)
        if actions is None:
            what = f"the log of version {position.version}"
            raise LostVersionsError(what, None)
        types = self.columns()
        added = [action["add"] for action in actions if action.get("add", {}).get("dataChange")]
        parts = [self._part(add, types) for add in added]
        removed = any(action.get("remove", {}).get("dataChange") for action in actions)
        operation = next(
            (action["commitInfo"].get("operation", "") for action in actions if "commitInfo" in action), ""
        )
        return VersionParts(parts, operation if removed else None)

    def behind(self, position: TablePosition) -> Sequence[UnreadVersion]:
        """Return the version of a position and later ones up to its `until`, whose logs exist, with their rows.

        They are at most `MOST_AHEAD` beyond the position. Each version's log is read only once.
        """
        last = self.newest() if position.until is None else position.until
        wanted = range(position.version, min(last, position.version + MOST_AHEAD) + 1)
        self._ahead = {
            version: self._ahead[version] if version in self._ahead else self._waiting(version) for version in wanted
        }
        return [waiting for waiting in self._ahead.values() if waiting is not None]

    def _waiting(self, version: int) -> UnreadVersion | None:
        actions = self._log_of(version)
        if actions is None:
            return None
        rows = sum(_row_count(action["add"]) for action in actions if action.get("add", {}).get("dataChange"))
        stamps = [action["commitInfo"].get("timestamp", 0) for action in actions if "commitInfo" in action]
        return UnreadVersion(version, rows, stamps[0] / 1000 if stamps else world.now())

    def feed(self, version: int) -> pa.Table:
        """Return the change data feed of a version."""

        def read() -> pa.Table:
            return pa.table(self._table().load_cdf(version, version))

        return self._reached(read)

    def columns(self) -> pa.Schema:
        """Return the columns of the newest known version; while none is known, look for it."""
        while self._opened is None:
            self.newest()
        return pa.schema(self._opened.schema().to_arrow())

    def columns_in(self, file: pa.Schema, names: Sequence[str]) -> Mapping[str, str]:
        """Map each requested column that the file has to itself; Delta files use the table's names."""
        return {name: name for name in names if name in file.names}

    def open(self, part: DataPart) -> Any:
        """Open a data file. Raises FileNotFoundError if it is gone, and OSError if it cannot be opened."""
        return self._files.open_input_file(part.path)

    @cached_property
    def _files(self) -> Any:
        return self.store.files()

    def _table(self, version: int | None = None) -> Any:
        return deltalake.DeltaTable(self.place, version=version, storage_options=self.store.options())

    def _recreated(self, version: int) -> DataError:
        newest = self._opened.version()
        return DataError(
            f"{self.place} has only the versions up to {newest}, but {version} was read; was it created again? Start "
            "over with --fresh"
        )

    def _log_file(self, version: int) -> tuple[int | None, int | None]:
        """Return the bytes and the modification time in nanoseconds of a version's log; None for both without it."""
        info = self._files.get_file_info(f"{_LOG}/{version:020}.json")
        return info.size, info.mtime_ns

    def _log_of(self, version: int) -> list[Mapping[str, Any]] | None:
        """Return the log actions of a version; None if its log file is missing."""

        def read() -> list[Mapping[str, Any]] | None:
            try:
                with self._files.open_input_stream(f"{_LOG}/{version:020}.json") as file:
                    return [json.loads(line) for line in file.read().splitlines() if line.strip()]
            except FileNotFoundError:
                return None

        return self._reached(read)

    def _versions(self) -> list[int]:
        """Return the versions whose log files exist, in order."""
        infos = self._reached(lambda: self._files.get_file_info(fs.FileSelector(_LOG)))
        return sorted(int(info.base_name[:20]) for info in infos if info.base_name[20:] == ".json")

    def _oldest(self) -> TablePosition:
        versions = self._versions()
        if versions and versions[0] == 0:
            return TablePosition(0)
        for version in versions:
            try:
                self._table(version)
            except DeltaError:
                continue
            return TablePosition(version, whole=True)
        return TablePosition(self.newest(), whole=True)

    def _at(self, start: StartAt, newest: int) -> TablePosition:
        """Return the position of the first version committed at or after a time, or the end of the newest version.

        Only versions that are still in the log are considered.
        """
        assert start.time is not None
        moment = start.time.timestamp() * 1000
        history = self._reached(self._opened.history)
        later = [entry["version"] for entry in history if entry.get("timestamp", 0) >= moment]
        return TablePosition(min(later)) if later else TablePosition(newest, done=True)

    def _whole(self, version: int) -> list[DataPart]:
        def read() -> list[DataPart]:
            table = self._table(version)
            if pa.table(table.deletion_vectors()).num_rows:
                raise _deletion_vectors(self.place, version)
            rows = sorted(pa.table(table.get_add_actions(flatten=True)).to_pylist(), key=lambda row: row["path"])
            types = self.columns()
            return [
                DataPart(
                    unquote(row["path"]),
                    {
                        name.removeprefix("partition."): pa.array([value], types.field(name[10:]).type)
                        for name, value in row.items()
                        if name.startswith("partition.")
                    },
                    row.get("num_records") or 0,
                )
                for row in rows
            ]

        return self._reached(read)

    def _part(self, add: Mapping[str, Any], types: pa.Schema) -> DataPart:
        if add.get("deletionVector"):
            raise _deletion_vectors(self.place, None)
        values = {
            name: _value(text, types.field(name).type)
            for name, text in add["partitionValues"].items()
            if name in types.names
        }
        return DataPart(unquote(add["path"]), values, _row_count(add))

    def _reached(self, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except TableNotFoundError:
            self._opened = None
            message = f"there is no Delta table at {self.place}; create it, or name another place with `table`"
            raise LakeRefusedError(message) from None
        except (DeltaError, OSError) as error:
            self._opened = None
            message = (
                f"the table {self.place} cannot be read: {self.store.text(error)}; check that it exists, and the rights"
            )
            raise lake_error(message, error) from error


def _row_count(add: Mapping[str, Any]) -> int:
    """Return the number of rows of an added data file, or 0 if the log does not contain it."""
    return int(json.loads(add.get("stats") or "{}").get("numRecords", 0))


def _value(text: str | None, kind: pa.DataType) -> pa.Array:
    """Parse a partition value from the log. An empty text means null, and times are in UTC."""
    if text and pa.types.is_timestamp(kind) and kind.tz:
        return pa.array([text.removesuffix("Z")], pa.string()).cast(pa.timestamp("us")).cast(kind)
    return pa.array([text or None], pa.string()).cast(kind)


def _deletion_vectors(place: str, version: int | None) -> DataError:
    which = "" if version is None else f" in version {version}"
    message = (
        f"the table {place} has files with deletion vectors{which}, which cannot be read; "
        "switch delta.enableDeletionVectors off, and rewrite the table with REORG or OPTIMIZE"
    )
    return DataError(message)
