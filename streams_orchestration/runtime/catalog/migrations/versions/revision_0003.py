"""Exports that may be read before their epoch is complete."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """What is connected is read committed, and stays so; what is read of Imports that are there is not known."""
    for table in ("stream_export", "stream_connection"):
        op.add_column(table, sa.Column("uncommitted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("stream_import", sa.Column("consistent", sa.Boolean(), nullable=False, server_default=sa.true()))
