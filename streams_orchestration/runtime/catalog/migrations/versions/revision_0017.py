"""Storage, logs elsewhere, checksums of sinks, plans before, bounded runs, causes of resets, lineage, an id."""

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0015"
Count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add columns and tables; no host has checked the storage yet, and agents register their state directories."""
    op.add_column("host", sa.Column("storage_error", sa.Text()))
    op.add_column("host", sa.Column("storage_failed_at", sa.Float()))
    op.add_column("trial", sa.Column("earlier", sa.LargeBinary()))
    op.add_column("trial", sa.Column("taken_back", sa.String()))
    op.add_column("machine", sa.Column("home", sa.String(), nullable=False, server_default=""))
    op.create_table(
        "log_request",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("application", sa.String(), nullable=False),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("lines", sa.Integer(), nullable=False),
        sa.Column("after", sa.JSON(), nullable=False),
        sa.Column("asked_at", sa.Float(), nullable=False),
        sa.Column("answer", sa.JSON()),
    )
    op.create_table(
        "lineage_run",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("run", sa.String(), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("rows", sa.JSON(), nullable=False),
    )
    installation = op.create_table("installation", sa.Column("id", sa.String(), primary_key=True))
    op.bulk_insert(installation, [{"id": uuid.uuid4().hex}])
    op.add_column("sink_file", sa.Column("checksum", Count))
    op.add_column("sink", sa.Column("undeliverable", Count, nullable=False, server_default="0"))
    op.add_column("sink", sa.Column("routed", Count, nullable=False, server_default="0"))
    op.add_column("sink", sa.Column("gatherer", sa.String()))
    op.add_column("sink", sa.Column("read_with", sa.JSON(none_as_null=True)))
    op.add_column("application", sa.Column("bounded", sa.String()))
    op.add_column("application", sa.Column("taken_at", sa.Float()))
    op.add_column("application", sa.Column("started_at", sa.Float()))
    op.add_column("pe", sa.Column("bounds", sa.JSON(none_as_null=True)))
    op.add_column("unit", sa.Column("restart_pause", sa.Float(), nullable=False, server_default="60.0"))
    op.add_column("unit", sa.Column("restart_limit", sa.Float(), nullable=False, server_default="86400.0"))
    op.add_column("unit", sa.Column("kind", sa.Text(), nullable=False, server_default=""))
    op.add_column("unit", sa.Column("give_up_at", sa.Float()))
    op.add_column("unit", sa.Column("tries", sa.JSON()))
    op.add_column("pe", sa.Column("kind", sa.Text(), nullable=False, server_default=""))
    op.add_column("pe", sa.Column("outside", sa.Boolean(), nullable=False, server_default=sa.false()))
