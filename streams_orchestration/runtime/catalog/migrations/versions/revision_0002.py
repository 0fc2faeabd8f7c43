"""Tokens of commits; connections between applications; sinks; the state machine of units, and their events."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

Count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add columns; one that is not nullable needs a server_default for the rows that are there."""
    op.add_column("batch_commit", sa.Column("token", sa.String()))
    op.create_table(
        "stream_export",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("stream", sa.String(), primary_key=True),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("properties", sa.JSON(), nullable=False),
        sa.Column("stream_id", sa.String()),
        sa.Column("waits", sa.Boolean(), nullable=False),
        sa.Column("schema", sa.String(), nullable=False),
    )
    op.create_table(
        "stream_import",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("operator", sa.Integer(), primary_key=True),
        sa.Column("port", sa.Integer(), primary_key=True),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("subscription", sa.String()),
        sa.Column("exporter", sa.String()),
        sa.Column("stream_id", sa.String()),
        sa.Column("filter", sa.String()),
        sa.Column("schema", sa.String(), nullable=False),
    )
    op.create_table(
        "stream_connection",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("operator", sa.Integer(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("filter", sa.String()),
        sa.Column("exporter", sa.String(), nullable=False),
        sa.Column("exporter_pe", sa.Integer(), nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("waits", sa.Boolean(), nullable=False),
        sa.Column("first", Count, nullable=False),
        sa.Column("lost", Count, nullable=False),
        sa.Column("problem", sa.String()),
    )
    for name in ("uncommitted", "retracted"):
        op.add_column("segment", sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.false()))
    _units()
    _sinks()


def _units() -> None:
    """Their state machine goes on from the last complete epoch."""
    op.add_column("host", sa.Column("launches", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("pe", sa.Column("restartable", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("pe", sa.Column("running", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("epoch", sa.Column("seconds", sa.Float()))
    for column in (
        sa.Column("drain_timeout", sa.Float(), nullable=False, server_default="180"),
        sa.Column("reset_timeout", sa.Float(), nullable=False, server_default="180"),
        sa.Column("current_epoch", Count, nullable=False, server_default="1"),
        sa.Column("pending_epoch", Count, nullable=False, server_default="0"),
        sa.Column("retired_epoch", Count, nullable=False, server_default="0"),
        sa.Column("drain_asked", Count),
        sa.Column("dirty", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("since", sa.Float(), nullable=False, server_default="0"),
        sa.Column("timer", sa.String()),
        sa.Column("deadline", sa.Float()),
        sa.Column("timer_number", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("began_at", sa.Float(), nullable=False, server_default="0"),
        sa.Column("cause", sa.Text()),
        sa.Column("asked", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("outage", sa.JSON()),
        sa.Column("drains", sa.JSON()),
        sa.Column("resets", sa.JSON()),
        sa.Column("reset_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("restarts", sa.Integer(), nullable=False, server_default="0"),
    ):
        op.add_column("unit", column)
    op.execute("UPDATE unit SET current_epoch = completed_epoch + 1")
    op.create_table(
        "unit_event",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("unit", sa.String(), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("epoch", Count, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float()),
        sa.Column("cause", sa.Text()),
    )


def _sinks() -> None:
    """Files that are visible for good are only counted from here on, sink by sink."""
    op.rename_table("sink_file", "sink_file_0001")
    sink = op.create_table(
        "sink",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("operator", sa.String(), primary_key=True),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("format", sa.String()),
        sa.Column("visibility", sa.String(), nullable=False),
        sa.Column("pending", sa.String()),
        sa.Column("outputs", Count, nullable=False),
        sa.Column("rows", Count, nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", sa.Float()),
    )
    file = op.create_table(
        "sink_file",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("pending", sa.String(), primary_key=True),
        sa.Column("final", sa.String()),
        sa.Column("operator", sa.String(), nullable=False),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("batch", Count, nullable=False),
        sa.Column("epoch", Count, nullable=False),
        sa.Column("rows", Count, nullable=False),
        sa.Column("size", Count, nullable=False),
        sa.Column("published", sa.Boolean(), nullable=False),
        sa.Column("retracted", sa.Boolean(), nullable=False),
    )
    sinks: dict[tuple[str, str], dict] = {}
    for row in op.get_bind().execute(sa.text("SELECT * FROM sink_file_0001")).mappings().all():
        final, counts = Path(row["final"]), int(row["published"])
        known = {"pe": row["pe"], "kind": "FileSink", "place": str(final.parent), "format": final.suffix[1:]}
        known |= {"visibility": "read_committed", "outputs": 0, "rows": 0, "failures": 0}
        facts = sinks.setdefault((row["application"], row["operator"]), known)
        facts["outputs"] += counts
        facts["rows"] += counts * row["rows"]
        facts["pending"] = str(Path(row["pending"]).parent)
        if not counts:
            op.bulk_insert(file, [{**row, "generation": 1, "retracted": False}])
    op.bulk_insert(sink, [{"application": a, "operator": name, **facts} for (a, name), facts in sinks.items()])
    op.drop_table("sink_file_0001")
