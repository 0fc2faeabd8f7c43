"""The tables of the catalog about sinks; `tables` has them with all others."""

from __future__ import annotations

from sqlalchemy import Column, MetaData, Table
from sqlalchemy.types import JSON, BigInteger, Boolean, Float, Integer, String

from streams_orchestration.runtime.catalog.reason import Reason

metadata = MetaData()
Count = BigInteger().with_variant(Integer, "sqlite")
"""Column type for counts of tuples, bytes or batches: 64 bits. An SQLite integer always has them."""

sink = Table(
    "sink",
    metadata,
    Column("application", String, primary_key=True),
    Column("operator", String, primary_key=True),
    Column("pe", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("place", String, nullable=False),  # a directory, or what else it writes to, for people
    Column("format", String),  # the format of its files; null for a sink without files
    Column("read_with", JSON(none_as_null=True)),  # parameters of a FileSource for its files, and their schema
    Column("visibility", String, nullable=False),  # read_committed or read_uncommitted
    Column("pending", String),  # directory of the files that wait
    Column("outputs", Count, nullable=False, default=0),  # visible for good: files, or epochs that were delivered
    Column("rows", Count, nullable=False, default=0),  # in these
    Column("undeliverable", Count, nullable=False, default=0),  # rows that were set aside
    Column("routed", Count, nullable=False, default=0),  # up to this epoch a person wants that
    Column("error", Reason),  # the reason why waiting outputs cannot become visible
    Column("failures", Integer, nullable=False, default=0),  # in a row
    Column("failed_at", Float),
    Column("delivered_at", Float),  # when an output became visible last
    Column("gatherer", String),  # token of the only gatherer that may name merged files
    Column("marks", Boolean, nullable=False, default=False),  # directories that are complete (sink_directory)
)

sink_file = Table(
    "sink_file",  # outputs of sinks that are not visible for good: they wait, or a reset may take them back
    metadata,
    Column("application", String, primary_key=True),
    Column("pending", String, primary_key=True),
    # the place at which it becomes visible; null for an output that is delivered to another system
    Column("final", String),
    Column("operator", String, nullable=False),
    Column("pe", Integer, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("batch", Count, nullable=False),
    Column("epoch", Count, nullable=False),
    Column("rows", Count, nullable=False),
    Column("size", Count, nullable=False),
    Column("checksum", Count, nullable=False),  # CRC-32
    Column("published", Boolean, nullable=False, default=False),
    Column("retracted", Boolean, nullable=False, default=False),  # to be removed, then forgotten
)

sink_directory = Table(
    "sink_directory",  # directories with files that no reset takes back, and that are not marked as complete since then
    metadata,
    Column("application", String, primary_key=True),
    Column("place", String, primary_key=True),  # the place of the sink; all its channels write there
    Column("directory", String, primary_key=True),  # below the place
    Column("token", String, nullable=False),  # changes when it gets another file
)
