"""The place of the files that the catalog names; the state directory for earlier deployments."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0016"


def upgrade() -> None:
    """Absolute paths of files that are named already stay as they are."""
    op.create_table("storage", sa.Column("address", sa.String(), primary_key=True))
    op.execute("INSERT INTO storage (address) SELECT '' FROM application LIMIT 1")
