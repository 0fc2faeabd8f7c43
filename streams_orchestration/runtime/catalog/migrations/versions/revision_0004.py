"""Programs of PEs, which hosts load instead of cutting them again; failures of operators, which outlast a reset."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns; deployed PEs have no program until they are deployed again."""
    op.add_column("pe", sa.Column("program", sa.LargeBinary()))
    op.add_column("pe", sa.Column("failures", sa.JSON()))
