"""Reads the rows of data files, from any row on, as attributes of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.checks import UnfitValueError, check_values
from streams_orchestration.operators.lakes.errors import LakeError, is_away
from streams_orchestration.operators.lakes.history import DataPart, TablePosition
from streams_orchestration.operators.loading.libraries import pa, pq

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.delta_history import DeltaHistory
    from streams_orchestration.operators.lakes.iceberg_history import IcebergHistory

    TableHistory = DeltaHistory | IcebergHistory

FEED = {"_change_type": "string", "_commit_version": "bigint", "_commit_timestamp": "timestamp"}
"""The attributes of the change data feed that describe a change, with their types."""
READ_ROWS = 65_536
"""The largest number of rows that are read from a data file in one step."""


class PartReader:
    """Keeps the current data file open, with the rows that were read ahead."""

    def __init__(self, table: TableHistory, schema: pa.Schema) -> None:
        self._table = table
        self._schema = schema
        """The schema of the stream."""
        self._at: TablePosition | None = None
        """The position of the next row; None if no file is open."""
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._rest: pa.RecordBatch | None = None

    def read(self, position: TablePosition, part: DataPart, limit: int) -> pa.RecordBatch | None:
        """Read up to `limit` rows of a data file and advance past them; return None at its end.

        Args:
            position: the position of the first row.
            part: the data file.
            limit: the largest number of rows.

        Raises:
            FileNotFoundError: the file is gone.
            DataError: the file is damaged or lacks a column.
            LakeError: the file cannot be reached.
        """
        if self._at != position:
            self._batches, self._rest = self._read(part, position), None
        self._at = None
        try:
            batch = self._rest if self._rest is not None else next(self._batches, None)
        except FileNotFoundError:
            raise
        except (pa.ArrowInvalid, OSError) as error:
            message = f"{part.path} of {self._table.place}, version {position.version}: {error}"
            raise (LakeError if is_away(error) else DataError)(message) from error
        if batch is None:
            return None
        try:
            check_values(batch)
        except UnfitValueError as error:
            row = position.row + error.row + 1
            message = f"{part.path} of {self._table.place}, row {row}, column {error.column}: {error.reason}"
            raise DataError(message) from None
        self._rest = batch.slice(limit) if batch.num_rows > limit else None
        batch = batch.slice(0, limit)
        self._at = position._replace(row=position.row + batch.num_rows)
        return batch

    def _read(self, part: DataPart, position: TablePosition) -> Iterator[pa.RecordBatch]:
        first = position.row
        feed = {"_change_type": pa.array(["insert"]), "_commit_version": pa.array([position.version])}
        with pq.ParquetFile(self._table.open(part)) as file:
            wanted = [name for name in self._schema.names if name not in FEED]
            names = self._table.columns_in(file.schema_arrow, wanted)
            inside = list(names.values())
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if first >= rows:
                    first -= rows
                    continue
                for batch in file.iter_batches(READ_ROWS, row_groups=[group], columns=inside, use_threads=False):
                    skipped = min(first, batch.num_rows)
                    first -= skipped
                    if skipped < batch.num_rows:
                        yield self._complete(batch.slice(skipped), names, {**feed, **part.values})

    def _complete(self, batch: pa.RecordBatch, names: Mapping[str, str], values: Mapping[str, Any]) -> pa.RecordBatch:
        """Add the columns that are not in the file: partition values, facts of the change data feed, or nulls."""
        columns: dict[str, Any] = {name: batch.column(inside) for name, inside in names.items()}
        for field in self._schema:
            if field.name not in columns:
                value = values.get(field.name, pa.nulls(1, field.type))
                columns[field.name] = value.take(pa.array([0] * batch.num_rows, pa.int64()))
        return pa.RecordBatch.from_pydict({name: columns[name] for name in self._schema.names})
