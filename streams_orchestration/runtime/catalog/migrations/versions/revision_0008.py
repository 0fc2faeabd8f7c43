"""Redeploys on trial: what they show is held back, and the plan before is kept until they have proved themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

Count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table of trials; no redeploy is on trial."""
    op.add_column("unit", sa.Column("shown_epoch", Count))
    op.create_table(
        "trial",
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("plan", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("within", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        sa.Column("cause", sa.Text()),
        sa.Column("pause", sa.Float()),
        sa.Column("before", sa.LargeBinary()),
        sa.Column("files", sa.JSON(), nullable=False),
    )
