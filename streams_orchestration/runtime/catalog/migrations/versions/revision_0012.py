"""The number of PEs of a unit that have not closed its current epoch."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Counted once; from then on commits count down."""
    op.add_column("unit", sa.Column("unclosed", sa.Integer(), nullable=False, server_default="0"))
    op.execute(
        "UPDATE unit SET unclosed = (SELECT count(*) FROM pe WHERE pe.application = unit.application "
        "AND pe.unit = unit.name AND pe.epoch <= unit.current_epoch)"
    )
