"""The tables of the first catalogs."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "application",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("life", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("compilation", sa.LargeBinary(), nullable=False),
        sa.Column("base", sa.String(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("wanted", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("deployed_at", sa.Float(), nullable=False),
    )
    op.create_table(
        "host",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("incarnation", sa.String()),
        sa.Column("pid", sa.Integer()),
        sa.Column("process_started", sa.Float()),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("asked_at", sa.Float()),
        sa.Column("launched_at", sa.Float(), nullable=False),
        sa.Column("start_up", sa.JSON()),
        sa.Column("heartbeat_at", sa.Float()),
        sa.Column("error", sa.Text()),
    )
    op.create_table(
        "host_process",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("incarnation", sa.String(), primary_key=True),
        sa.Column("pid", sa.Integer(), primary_key=True),
        sa.Column("host", sa.Integer(), nullable=False),
        sa.Column("started", sa.Float(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
    )
    op.create_table(
        "unit",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("region", sa.Integer()),
        sa.Column("period", sa.Float()),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("trigger_epoch", Count, nullable=False),
        sa.Column("completed_epoch", Count, nullable=False),
        sa.Column("final_epoch", Count),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("configured_attempts", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("completed_at", sa.Float()),
    )
    op.create_table(
        "pe",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("host", sa.Integer(), nullable=False),
        sa.Column("feeds", sa.Boolean(), nullable=False),
        sa.Column("operators", sa.JSON(), nullable=False),
        sa.Column("levels", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("permanent", sa.Boolean(), nullable=False),
        sa.Column("batch", Count, nullable=False),
        sa.Column("epoch", Count, nullable=False),
        sa.Column("exhausted", sa.Boolean(), nullable=False),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.Column("initial", sa.JSON(), nullable=False),
        sa.Column("position", sa.JSON(), nullable=False),
        sa.Column("rows_in", Count, nullable=False),
        sa.Column("rows_out", Count, nullable=False),
        sa.Column("busy_seconds", sa.Float(), nullable=False),
        sa.Column("committed_at", sa.Float()),
    )
    op.create_table(
        "batch_commit",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("pe", sa.Integer(), primary_key=True),
        sa.Column("batch", Count, primary_key=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("epoch", Count, nullable=False),
        sa.Column("boundary", sa.Boolean(), nullable=False),
        sa.Column("exhausted", sa.Boolean(), nullable=False),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.Column("position", sa.JSON(), nullable=False),
        sa.Column("rows_in", Count, nullable=False),
        sa.Column("rows_out", Count, nullable=False),
        sa.Column("busy_seconds", sa.Float(), nullable=False),
        sa.Column("committed_at", sa.Float(), nullable=False),
    )
    op.create_table(
        "segment",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("stream", sa.String(), primary_key=True),
        sa.Column("number", Count, primary_key=True),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("batch", Count, nullable=False),
        sa.Column("epoch", Count, nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("rows", Count, nullable=False),
        sa.Column("size", Count, nullable=False),
        sa.Column("checksum", Count, nullable=False),
        sa.Column("committed_at", sa.Float(), nullable=False),
    )
    op.create_table(
        "operator_state",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("operator", sa.String(), primary_key=True),
        sa.Column("batch", Count, primary_key=True),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
    )
    op.create_table(
        "sink_file",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("final", sa.String(), primary_key=True),
        sa.Column("operator", sa.String(), nullable=False),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("batch", Count, nullable=False),
        sa.Column("epoch", Count, nullable=False),
        sa.Column("pending", sa.String(), nullable=False),
        sa.Column("rows", Count, nullable=False),
        sa.Column("size", Count, nullable=False),
        sa.Column("published", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "epoch",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("unit", sa.String(), primary_key=True),
        sa.Column("epoch", Count, primary_key=True),
        sa.Column("cut", sa.JSON(), nullable=False),
        sa.Column("completed_at", sa.Float(), nullable=False),
    )
    op.create_table(
        "pe_metrics",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("pe", sa.Integer(), primary_key=True),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("sampled_at", sa.Float(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
    )
    op.create_table(
        "metrics_sample",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("pe", sa.Integer(), primary_key=True),
        sa.Column("slot", sa.Integer(), primary_key=True),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
    )
