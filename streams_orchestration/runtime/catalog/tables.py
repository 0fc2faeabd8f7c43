"""The tables of the catalog. Those whose rows are read whole are made of the dataclasses of these rows."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Index, Table, func
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import JSON, Float, Integer, String, Text

from streams_orchestration.runtime.catalog import rows, sink_rows
from streams_orchestration.runtime.catalog.columns import BIG_INTEGER, metadata, table_of

_statements: dict[str, tuple[str, ...]] = {}
"""The statements that create all tables and indexes, by the kind of the database."""

application = table_of(rows.ApplicationRow, "application")
host = table_of(rows.HostRow, "host")
machine = table_of(rows.MachineRow, "machine")
log_request = table_of(rows.LogRequestRow, "log_request")
unit = table_of(rows.UnitRow, "unit")
unit_event = table_of(rows.UnitEventRow, "unit_event")
pe = table_of(rows.PeRow, "pe", Index("pe_of_unit", "application", "unit"))
commit = table_of(rows.CommitRow, "batch_commit")
segment = table_of(rows.SegmentRow, "segment")
state = table_of(rows.StateRow, "operator_state", Index("operator_state_of_pe", "application", "pe"))
stream_export = table_of(rows.ExportRow, "stream_export")
stream_import = table_of(rows.ImportRow, "stream_import")
stream_connection = table_of(rows.ConnectionRow, "stream_connection")
trial = table_of(rows.TrialRow, "trial")
sink = table_of(sink_rows.SinkRow, "sink")
sink_file = table_of(sink_rows.SinkFileRow, "sink_file")
lineage_run = table_of(rows.LineageRunRow, "lineage_run")

sink_directory = Table(
    "sink_directory",  # directories with visible files that are not marked as complete since then
    metadata,
    Column("application", String, primary_key=True),
    Column("place", String, primary_key=True),  # the place of the sink; all its channels write there
    Column("directory", String, primary_key=True),  # path below the place
    Column("token", String, nullable=False),  # the token changes when the directory gets another file
)

storage = Table("storage", metadata, Column("address", String, primary_key=True))
"""One row: the address of the storage of the catalog's files, from STREAMS_STORAGE; empty for the state directory."""

installation = Table("installation", metadata, Column("id", String, primary_key=True))
"""One row: the id that tells this catalog from every other one."""

process = Table(
    "host_process",
    metadata,
    Column("application", String, primary_key=True),
    Column("incarnation", String, primary_key=True),
    Column("pid", Integer, primary_key=True),
    Column("host", Integer, nullable=False),
    Column("started", Float, nullable=False),
    Column("command", Text, nullable=False),
    Column("space", String),
)

SHOWN_EPOCH = func.coalesce(unit.c.shown_epoch, unit.c.completed_epoch)
"""The last epoch of a unit whose results are visible outside, and that no revert of a redeploy undoes."""

epoch = Table(
    "epoch",
    metadata,
    Column("application", String, primary_key=True),
    Column("unit", String, primary_key=True),
    Column("epoch", BIG_INTEGER, primary_key=True),
    Column("cut", JSON, nullable=False),  # {PE: batch}
    Column("completed_at", Float, nullable=False),
    Column("seconds", Float),  # seconds from the trigger to the completion
)

pe_metrics = Table(
    "pe_metrics",
    metadata,
    Column("application", String, primary_key=True),
    Column("pe", Integer, primary_key=True),
    Column("since", Float, nullable=False),
    Column("at", Float, nullable=False),
    Column("sampled_at", Float, nullable=False),  # time of the newest total in the ring
    Column("counts", JSON, nullable=False),  # totals of this life; a reset does not take them back
)

metrics_sample = Table(
    "metrics_sample",
    metadata,
    Column("application", String, primary_key=True),
    Column("pe", Integer, primary_key=True),
    Column("slot", Integer, primary_key=True),  # a ring by time, so that it never grows
    Column("at", Float, nullable=False),
    Column("counts", JSON, nullable=False),
)


def create_tables(connection: Connection) -> None:
    """Create all tables and indexes in a database that has none of them."""
    dialect = connection.dialect
    if dialect.name not in _statements:
        steps = [
            step
            for table in metadata.sorted_tables
            for step in (CreateTable(table), *(CreateIndex(each) for each in sorted(table.indexes, key=_name_of)))
        ]
        _statements[dialect.name] = tuple(str(step.compile(dialect=dialect)) for step in steps)
    for statement in _statements[dialect.name]:
        connection.exec_driver_sql(statement)


def _name_of(index: Index) -> str:
    return str(index.name)
