"""Exports that may be read before their epoch is complete."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns; existing connections stay read committed, and consistency of existing Imports is assumed."""
    for table in ("stream_export", "stream_connection"):
        op.add_column(table, sa.Column("uncommitted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("stream_import", sa.Column("consistent", sa.Boolean(), nullable=False, server_default=sa.true()))
