"""Lakes for tests: a table of each format, made, delivered to, and read back by other engines than ours."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.schema import PrimitiveType
from deltalake.table import TableMerger
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table, Transaction
from pyiceberg.types import LongType

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.references import resolved
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink
from streams_orchestration.operators.standard.systems.delta_sink import DeltaSink
from streams_orchestration.operators.standard.systems.delta_source import DeltaSource
from streams_orchestration.operators.standard.systems.iceberg_sink import IcebergSink
from streams_orchestration.operators.standard.systems.iceberg_source import IcebergSource
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.servers.iceberg_rest import RestCatalog
from streams_orchestration_tests.servers.s3 import BUCKET

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
    """The method that makes a commit, with its class."""
    upsert_commit = (TableMerger, "execute")

    @property
    def place(self) -> str:
        return str(self.directory / "table")

    @property
    def files(self) -> Path:
        return Path(self.place)

    def sink(self, schema: str = SCHEMA, **parameters: Any) -> Bench:
        return Bench(DeltaSink, [schema], **self.parameters() | parameters, results=self.directory)

    def parameters(self) -> dict[str, Any]:
        return {"table": self.place, "createTable": True}

    def source_parameters(self) -> dict[str, Any]:
        return {"table": self.place}

    def make(self, table: pa.Table, partition_by: Sequence[str] = ()) -> None:
        deltalake.write_deltalake(self.place, table, partition_by=list(partition_by))

    def source(self, schema: str = SCHEMA, **parameters: Any) -> Bench:
        return Bench(DeltaSource, [], [schema], **self.source_parameters() | parameters)

    def append(self, *rows: Row) -> None:
        deltalake.write_deltalake(self.place, _table(rows), mode="append")

    def delete(self, condition: str) -> None:
        deltalake.DeltaTable(self.place).delete(condition)

    def versions(self) -> list[int]:
        return list(range(deltalake.DeltaTable(self.place).version() + 1))

    def files_of(self, version: int) -> list[Path]:
        return [Path(file) for file in deltalake.DeltaTable(self.place, version=version).file_uris()]

    def add_column(self, name: str) -> None:
        field = deltalake.Field(name, PrimitiveType("long"))
        deltalake.DeltaTable(self.place).alter.add_columns([field])

    def make_empty(self) -> None:
        deltalake.DeltaTable.create(self.place, pa.schema([("k", pa.string()), ("n", pa.int64())]))

    def drop(self) -> None:
        shutil.rmtree(self.place)

    def rows(self) -> list[Row]:
        """Return the rows that Polars reads."""
        return _sorted(pl.read_delta(self.place).rows())

    def rows_of_duckdb(self) -> list[Row]:
        table = deltalake.DeltaTable(self.place)
        files, names = table.file_uris(), ", ".join(field.name for field in table.schema().fields)
        with duckdb.connect() as connection:
            selected = connection.execute(f"SELECT {names} FROM read_parquet({files}, hive_partitioning = true)")
            return _sorted(selected.fetchall())

    def commits(self) -> list[dict[str, Any]]:
        """Return the properties of each commit with an epoch, oldest first."""
        history = reversed(deltalake.DeltaTable(self.place).history())
        return [entry for entry in history if "streams.epoch" in entry]


@dataclass
class Iceberg:
    """A table of Iceberg, in a catalog in SQLite."""

    directory: Path
    operator = "IcebergSink"
    source_operator = "IcebergSource"
    library = "pyiceberg"
    extra = "iceberg"
    commit = (Transaction, "commit_transaction")
    upsert_commit = commit

    @property
    def place(self) -> str:
        return "lake.table"

    @property
    def files(self) -> Path:
        return self.directory / "warehouse"

    def sink(self, schema: str = SCHEMA, **parameters: Any) -> Bench:
        return Bench(IcebergSink, [schema], **self.parameters() | parameters, results=self.directory)

    def catalog(self) -> dict[str, str]:
        files = {"uri": f"sqlite:///{self.directory}/catalog.db", "warehouse": f"file://{self.files}"}
        return {"type": "sql", **files}

    def parameters(self) -> dict[str, Any]:
        return {"catalog": self.catalog(), "table": self.place, "createTable": True}

    def source_parameters(self) -> dict[str, Any]:
        return {"catalog": self.catalog(), "table": self.place}

    def make(self, table: pa.Table, partition_by: Sequence[str] = ()) -> None:
        self._make(table.schema, partition_by).append(table)

    def _make(self, schema: pa.Schema, partition_by: Sequence[str] = ()) -> Table:
        catalog = load_catalog("default", **self.catalog())
        catalog.create_namespace_if_not_exists("lake")
        with catalog.create_table_transaction(self.place, schema) as transaction, transaction.update_spec() as spec:
            for name in partition_by:
                spec.add_identity(name)
        return self.table()

    def source(self, schema: str = SCHEMA, **parameters: Any) -> Bench:
        return Bench(IcebergSource, [], [schema], **self.source_parameters() | parameters)

    def append(self, *rows: Row) -> None:
        self.table().append(_table(rows))

    def delete(self, condition: str) -> None:
        self.table().delete(condition)

    def versions(self) -> list[int]:
        return [snapshot.snapshot_id for snapshot in self.table().snapshots()]

    def files_of(self, version: int) -> list[Path]:
        tasks = self.table().scan(snapshot_id=version).plan_files()
        return [Path(task.file.file_path.removeprefix("file://")) for task in tasks]

    def table(self) -> Table:
        return load_catalog("default", **self.catalog()).load_table(self.place)

    def add_column(self, name: str) -> None:
        with self.table().update_schema() as update:
            update.add_column(name, LongType())

    def make_empty(self) -> None:
        self._make(pa.schema([("k", pa.string()), ("n", pa.int64())]))

    def drop(self) -> None:
        load_catalog("default", **self.catalog()).drop_table(self.place)

    def rows(self) -> list[Row]:
        """Return the rows that Polars reads."""
        return _sorted(pl.scan_iceberg(self.table()).collect().rows())

    def rows_of_duckdb(self) -> list[Row]:
        files = [task.file.file_path.removeprefix("file://") for task in self.table().scan().plan_files()]
        with duckdb.connect() as connection:
            return _sorted(connection.execute(f"SELECT * FROM read_parquet({files})").fetchall())

    def commits(self) -> list[dict[str, Any]]:
        """Return the properties of each commit with an epoch, oldest first; one may be several snapshots."""
        summaries = [snapshot.summary for snapshot in self.table().snapshots() if snapshot.summary]
        named = [
            dict(each.additional_properties) for each in summaries if "streams.epoch" in each.additional_properties
        ]
        commits = [{key: value for key, value in each.items() if key.startswith("streams.")} for each in named]
        return [each | {"streams.epoch": int(each["streams.epoch"])} for each, _ in itertools.groupby(commits)]


@dataclass
class RestIceberg(Iceberg):
    """A table of Iceberg whose catalog is reached by REST, and whose files are on an S3 server."""

    server: RestCatalog
    name: str
    port: int | None = None
    """The port of a proxy in front of the catalog."""

    @property
    def place(self) -> str:
        return self.name

    def catalog(self) -> dict[str, str]:
        return self.server.properties(self.port)

    def _loaded(self) -> Any:
        """Return the catalog, without a proxy."""
        properties = self.server.properties()
        return load_catalog("default", **{name: resolved(value, name) for name, value in properties.items()})

    def table(self) -> Table:
        return self._loaded().load_table(self.place)

    def make_empty(self) -> None:
        self._loaded().create_namespace_if_not_exists("lake")
        self._loaded().create_table(self.place, pa.schema([("k", pa.string()), ("n", pa.int64())]))

    def rows(self) -> list[Row]:
        """Return the rows that the library reads."""
        return _sorted(pl.DataFrame(self.table().scan().to_arrow()).rows())

    def rows_of_duckdb(self) -> list[Row]:
        """From the bytes of the data files, as the server has them."""
        files = [task.file.file_path.removeprefix(f"s3://{BUCKET}/") for task in self.table().scan().plan_files()]
        tables = [pq.read_table(pa.BufferReader(self.server.s3.content(file))) for file in files]
        with duckdb.connect() as connection:
            connection.register("rows", pa.concat_tables(tables, promote_options="default"))
            return _sorted(connection.execute("SELECT * FROM rows").fetchall())


LAKES: dict[str, Any] = {"delta": Delta, "iceberg": Iceberg}


def _table(rows: Sequence[Row]) -> pa.Table:
    return pa.table({"k": [row[0] for row in rows], "n": pa.array([row[1] for row in rows], pa.int64())})


def read(bench: Bench, offset: Offset | None = None, limit: int = 1000) -> Offset:
    """Have a source read until there is nothing more; gives the offset."""
    produced = bench.produce(offset, limit)
    while not produced.exhausted and bench.operator.pause() == 0:  # type: ignore[attr-defined]
        produced = bench.produce(produced.offset, limit)
    return produced.offset


def check_replays(source: Callable[[], Bench], rows: int, limits: list[int]) -> None:
    """Check that calls by instances that have read nothing before give the same rows as one instance."""
    whole, bench = source(), source()
    read(whole)
    assert len(whole.rows()) == rows
    produced = bench.produce()
    while not produced.exhausted:
        limits.append(limits.pop(0))
        produced = bench.restart().produce(produced.offset, limits[0])
    assert bench.rows() == whole.rows()


def numbers(bench: Bench) -> list[int]:
    return [row[1] for row in bench.rows()]


def deliver(bench: Bench, rows: Sequence[Row], key: DeliveryKey | None = None, batches: int = 1) -> None:
    """Write rows in tasks of an epoch, and deliver the files from another process."""
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
