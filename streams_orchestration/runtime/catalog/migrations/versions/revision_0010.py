"""Machines: where hosts are to run, and where their processes are."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add machines; running hosts count as started on the machine that upgrades, known later by its process space."""
    op.add_column("host", sa.Column("wish", sa.JSON()))
    op.add_column("host", sa.Column("machine", sa.String()))
    op.add_column("host", sa.Column("space", sa.String()))
    op.add_column("host_process", sa.Column("space", sa.String()))
    op.create_table(
        "machine",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("process_started", sa.Float(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("cores", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("lease_until", sa.Float(), nullable=False),
        sa.Column("standbys", sa.Integer(), nullable=False),
        sa.Column("load", sa.Float()),
    )
