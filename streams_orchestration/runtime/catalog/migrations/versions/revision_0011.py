"""Sinks: when an output became visible last."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the column; the times of earlier deliveries are not known."""
    op.add_column("sink", sa.Column("delivered_at", sa.Float()))
