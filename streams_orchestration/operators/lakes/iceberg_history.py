"""The history of an Iceberg table: the files that each snapshot of its main branch adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.transforms import IdentityTransform

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.lakes.errors import LakeError, LakeRefusedError, lake_error
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
from streams_orchestration.operators.lakes.iceberg_catalog import DEFAULT_NAME, load_catalog, without_secrets

Result = TypeVar("Result")
NOTHING = 0
"""The version before the first snapshot."""
_FIELD_ID = b"PARQUET:field_id"


class IcebergHistory:
    """The snapshots of one table. All methods but `open` and `feed` raise LakeError.

    `newest` loads the table, and so do `start`, `following` and `behind`. Other methods use the table as it was loaded.
    """

    def __init__(self, catalog: Mapping[str, str], name: str) -> None:
        """Set up without reading anything.

        Args:
            catalog: the properties of the catalog, with references.
            name: the name of the table, with its namespace.
        """
        self.properties = dict(catalog)
        self.place = name
        self._catalog: Any = None
        self._loaded: Table | None = None

    def start(self, start: Start) -> TablePosition:
        """Return the position at which a source begins.

        Raises:
            DataError: the table does not have the snapshot of `startAt`.
        """
        newest = self.newest()
        lineage = self._lineage()
        match start:
            case "snapshot":
                return TablePosition(newest, whole=True) if newest else TablePosition(NOTHING, done=True)
            case "latest":
                return TablePosition(newest, done=True)
            case "earliest":
                return (
                    TablePosition(lineage[0].snapshot_id, whole=True) if lineage else TablePosition(NOTHING, done=True)
                )
            case StartAt(version=int(version)):
                if version not in _ids(lineage):
                    known = ", ".join(map(str, _ids(lineage)[-5:])) or "none"
                    message = f"startAt: the table {self.place} has no snapshot {version}; its newest are {known}"
                    raise DataError(message)
                return TablePosition(version)
            case _:
                assert start.time is not None
                moment = start.time.timestamp() * 1000
                later = [each.snapshot_id for each in lineage if each.timestamp_ms >= moment]
                return TablePosition(later[0]) if later else TablePosition(newest, done=True)

    def newest(self) -> int:
        """Load the table, and return the id of its newest snapshot; `NOTHING` without one."""

        def load_newest() -> Snapshot | None:
            if self._catalog is None:
                self._catalog = load_catalog(self.properties)
            self._loaded = self._catalog.load_table(self.place)
            return self._table.current_snapshot()

        current = self._reached(load_newest)
        return NOTHING if current is None else current.snapshot_id

    def following(self, version: int) -> int | None:
        """Return the id of the next snapshot; None if there is none yet.

        Raises:
            LostVersionsError: the next snapshot has expired.
            DataError: the table was rolled back to before the given snapshot.
        """
        self.newest()
        lineage = self._lineage()
        if not lineage:
            return None
        ids = _ids(lineage)
        if version in ids:
            return next(iter(ids[ids.index(version) + 1 :]), None)
        if (lineage[0].parent_snapshot_id or NOTHING) == version:
            return ids[0]
        if self._table.snapshot_by_id(version) is not None:
            message = (
                f"the table {self.place} was rolled back to before snapshot {version}, which was already read; "
                "start over with --fresh"
            )
            raise DataError(message)
        what = f"snapshots between {version} and {ids[0]}" if version else f"snapshots before {ids[0]}"
        raise LostVersionsError(what, ids[0])

    def is_at(self, version: int, until: int) -> bool:
        """Return True if `version` is `until` or comes after it.

        If they differ, return False if one of them has expired, or `until` is `NOTHING`.
        """
        ids = [NOTHING, *_ids(self._lineage())]
        place = {each: number for number, each in enumerate(ids)}
        return version == until or place.get(version, -1) >= place.get(until, 0) > 0

    def id_at(self, version: int, known: str | None) -> str:
        """Return the table's id, which does not depend on the version."""
        if self._loaded is None:
            self.newest()
        return str(self._table.metadata.table_uuid)

    def parts(self, position: TablePosition) -> VersionParts:
        """Return the files of a snapshot: all if `position.whole`, else those that it added.

        With the added files, the operation is returned unless it only appends. A rewrite of files adds none.

        Raises:
            LostVersionsError: the snapshot has expired, or its metadata is gone.
            DataError: the whole snapshot is wanted, and has delete files, which cannot be read.
        """
        return self._reached(lambda: self._parts(position))

    def _parts(self, position: TablePosition) -> VersionParts:
        snapshot = self._table.snapshot_by_id(position.version)
        try:
            if snapshot is None:
                raise FileNotFoundError
            return VersionParts(self._whole(snapshot)) if position.whole else self._added(snapshot)
        except FileNotFoundError as error:
            following = _ids(self._lineage())
            what = f"snapshot {position.version}"
            raise LostVersionsError(what, following[0] if following else None) from error

    def behind(self, position: TablePosition) -> Sequence[UnreadVersion]:
        """Return the snapshots from the position, or if it has expired from the oldest one, up to its `until`.

        At most `MOST_AHEAD` later ones are returned. A snapshot that rewrites files adds no rows.
        """
        self.newest()
        lineage = self._lineage()
        ids = _ids(lineage)
        first = ids.index(position.version) if position.version in ids else 0
        last = ids.index(position.until) + 1 if position.until in ids else len(ids)
        return [_waiting(snapshot) for snapshot in lineage[first:last]][: MOST_AHEAD + 1]

    def feed(self, version: int) -> pa.Table:
        """Raise NotImplementedError, since Iceberg has no change feed."""
        raise NotImplementedError

    def columns(self) -> pa.Schema:
        """Return the columns of the newest snapshot that is known; look for one if none is."""
        if self._loaded is None:
            self.newest()
        return self._table.schema().as_arrow()

    def columns_in(self, file: pa.Schema, names: Sequence[str]) -> Mapping[str, str]:
        """Map columns to their names in a file, by field id, which survives renaming, or by name in a file without ids.

        Other columns that the file lacks are left out.

        Raises:
            DataError: the file lacks a column that the table is partitioned by.
        """
        by_id = {
            int((field.metadata or {})[_FIELD_ID]): field.name for field in file if _FIELD_ID in (field.metadata or {})
        }
        schema = self._table.schema()
        ids = {name: schema.find_field(name).field_id for name in names}
        if not by_id:
            return {name: name for name in names if name in file.names}
        missing = {field_id for field_id in ids.values() if field_id not in by_id}
        for field in self._table.spec().fields:
            if field.source_id in missing and isinstance(field.transform, IdentityTransform):
                message = (
                    f"a data file of {self.place} does not have the column {schema.find_column_name(field.source_id)} "
                    "that it is partitioned by, and cannot be read; have the table rewritten"
                )
                raise DataError(message)
        return {name: by_id[field_id] for name, field_id in ids.items() if field_id in by_id}

    def open(self, part: DataPart) -> Any:
        """Open a data file. Raises FileNotFoundError if it is gone, and OSError if it cannot be opened."""
        return self._table.io.new_input(part.path).open()

    @property
    def _table(self) -> Table:
        assert self._loaded is not None
        return self._loaded

    def _reached(self, action: Callable[[], Result]) -> Result:
        """Call the library, and translate its errors to LakeErrors."""
        try:
            return action()
        except (LakeError, DataError, LostVersionsError):
            raise
        except (NoSuchTableError, NoSuchNamespaceError):
            name = self.properties.get("name", DEFAULT_NAME)
            message = f"there is no table {self.place} in the catalog {name}; create it, or name another one"
            raise LakeRefusedError(message) from None
        except Exception as error:
            text = without_secrets(f"{type(error).__name__}: {error}", self.properties)
            message = f"the table {self.place} cannot be read: {text}; check that it exists, and the rights"
            raise lake_error(message, error) from error

    def _lineage(self) -> list[Snapshot]:
        """Return the known ancestors of the newest snapshot and itself, oldest first."""
        snapshots: list[Snapshot] = []
        snapshot = self._table.current_snapshot()
        while snapshot is not None:
            snapshots.append(snapshot)
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else self._table.snapshot_by_id(parent)
        return snapshots[::-1]

    def _whole(self, snapshot: Snapshot) -> list[DataPart]:
        tasks = list(self._table.scan(snapshot_id=snapshot.snapshot_id).plan_files())
        if any(task.delete_files for task in tasks):
            message = (
                f"snapshot {snapshot.snapshot_id} of {self.place} has delete files, which cannot be read; "
                "have the table rewritten (rewrite_data_files)"
            )
            raise DataError(message)
        return [self._part(file) for file in sorted((task.file for task in tasks), key=lambda file: file.file_path)]

    def _added(self, snapshot: Snapshot) -> VersionParts:
        operation = snapshot.summary.operation if snapshot.summary else Operation.APPEND
        if operation == Operation.REPLACE:
            return VersionParts(())
        parts = [
            self._part(entry.data_file)
            for manifest in snapshot.manifests(self._table.io)
            if manifest.added_snapshot_id == snapshot.snapshot_id and manifest.content == ManifestContent.DATA
            for entry in manifest.fetch_manifest_entry(self._table.io)
            if entry.status == ManifestEntryStatus.ADDED
        ]
        return VersionParts(parts, None if operation == Operation.APPEND else operation.value)

    def _part(self, file: DataFile) -> DataPart:
        return DataPart(file.file_path, {}, file.record_count)


def _waiting(snapshot: Snapshot) -> UnreadVersion:
    summary = snapshot.summary
    adds = summary is not None and summary.operation != Operation.REPLACE
    rows = int(summary.get("added-records", "0") or 0) if summary is not None and adds else 0
    return UnreadVersion(snapshot.snapshot_id, rows, snapshot.timestamp_ms / 1000)


def _ids(lineage: Sequence[Snapshot]) -> list[int]:
    return [snapshot.snapshot_id for snapshot in lineage]
