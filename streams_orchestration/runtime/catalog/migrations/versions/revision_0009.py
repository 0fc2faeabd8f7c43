"""The trial of a redeploy names the plan that was tried; what is stopped may run for a while."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns; earlier trials have no fingerprint, and no application has a temporary run."""
    op.add_column("trial", sa.Column("fingerprint", sa.String()))
    op.add_column("application", sa.Column("runs_until", sa.Float()))
