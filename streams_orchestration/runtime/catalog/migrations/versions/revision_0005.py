"""Units without the epochs of a part that is written after a drain, and of a retired checkpoint: nothing read them."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """State is part of every commit, so nothing is pending behind a drain."""
    op.drop_column("unit", "pending_epoch")
    op.drop_column("unit", "retired_epoch")
