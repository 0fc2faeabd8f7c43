"""Lakes for tests: a table of each format, made, delivered to, and read back by other engines than ours."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
from deltalake.schema import PrimitiveType
from deltalake.table import TableMerger

from streams_orchestration.operators.epoch_sink import DeliveryKey, EpochSink
from streams_orchestration.operators.standard.delta_sink import DeltaSink
from streams_orchestration_tests.operators.harness import Bench, Row

SCHEMA = "k string, n bigint"


def delivery(epoch: int = 1, **changes: Any) -> DeliveryKey:
    return DeliveryKey("life", "Out", -1, epoch, 0, epoch, "app")._replace(**changes)


@dataclass
class Delta:
    """A table of Delta Lake."""

    directory: Path
    operator = "DeltaSink"
    source_operator = "DeltaSource"
    library = "deltalake"
    extra = "delta"
    commit = (deltalake.DeltaTable, "create_write_transaction")
    """What makes a commit."""
    upsert_commit = (TableMerger, "execute")

    @property
    def place(self) -> str:
        return str(self.directory / "table")

    def sink(self, schema: str = SCHEMA, **parameters: Any) -> Bench:
        return Bench(DeltaSink, [schema], **self.parameters() | parameters, results=self.directory)

    def parameters(self) -> dict[str, Any]:
        return {"table": self.place, "createTable": True}

    def source_parameters(self) -> dict[str, Any]:
        return {"table": self.place}

    def make(self, table: pa.Table, partition_by: Sequence[str] = ()) -> None:
        deltalake.write_deltalake(self.place, table, partition_by=list(partition_by))

    def add_column(self, name: str) -> None:
        field = deltalake.Field(name, PrimitiveType("long"))
        deltalake.DeltaTable(self.place).alter.add_columns([field])

    def make_empty(self) -> None:
        deltalake.DeltaTable.create(self.place, pa.schema([("k", pa.string()), ("n", pa.int64())]))

    def drop(self) -> None:
        shutil.rmtree(self.place)

    def rows(self) -> list[Row]:
        """What Polars reads."""
        return _sorted(pl.read_delta(self.place).rows())

    def rows_of_duckdb(self) -> list[Row]:
        files = deltalake.DeltaTable(self.place).file_uris()
        with duckdb.connect() as connection:
            found = connection.execute(f"SELECT * FROM read_parquet({files}, hive_partitioning = true)")
            return _sorted(found.fetchall())

    def commits(self) -> list[dict[str, Any]]:
        """What each commit with an epoch says of itself, oldest first."""
        history = reversed(deltalake.DeltaTable(self.place).history())
        return [entry for entry in history if "streams.epoch" in entry]


LAKES = {"delta": Delta}


def deliver(bench: Bench, rows: Sequence[Row], key: DeliveryKey | None = None, batches: int = 1) -> None:
    """What tasks write in an epoch is what another process delivers."""
    files = [file.pending for first in range(batches) for file in bench.send(rows[first::batches]).commit()]
    operator = bench.operator
    assert isinstance(operator, EpochSink)
    operator.open()
    try:
        operator.deliver_files(key or delivery(), files)
    finally:
        operator.close()
        for file in files:
            file.unlink(missing_ok=True)


def _sorted(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: tuple((value is not None, value) for value in row))
