"""What a batch is recognised by when its commit was lost out of sight."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add columns; one that is not nullable needs a server_default for the rows that are there."""
    op.add_column("batch_commit", sa.Column("token", sa.String()))
