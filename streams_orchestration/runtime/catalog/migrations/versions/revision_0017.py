"""Whether a host reaches the storage."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0015"


def upgrade() -> None:
    """Add the columns; no host has checked the storage yet."""
    op.add_column("host", sa.Column("storage_error", sa.Text()))
    op.add_column("host", sa.Column("storage_failed_at", sa.Float()))
