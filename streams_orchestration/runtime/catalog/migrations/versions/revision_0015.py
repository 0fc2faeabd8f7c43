"""Where the files are that the catalog names: for what was deployed so far, in the state directory."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0016"


def upgrade() -> None:
    """Absolute paths of files that are named already stay as they are."""
    op.create_table("storage", sa.Column("address", sa.String(), primary_key=True))
    op.execute("INSERT INTO storage (address) SELECT '' FROM application LIMIT 1")
