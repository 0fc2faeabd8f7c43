"""Redeploying with state: units that are drained for another plan, and the number of that plan."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns; each deployed application runs its first plan."""
    op.add_column("application", sa.Column("plan", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("unit", sa.Column("held_until", sa.Float()))
