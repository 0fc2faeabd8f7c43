"""What a batch is recognised by when its commit was lost out of sight; connections between applications."""

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
