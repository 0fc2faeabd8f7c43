"""Indexes for what is read of one PE, or of one unit, among thousands."""

from alembic import op

revision = "0016"
down_revision = "0012"


def upgrade() -> None:
    """Made while nobody uses the catalog."""
    op.create_index("operator_state_of_pe", "operator_state", ["application", "pe"])
    op.create_index("pe_of_unit", "pe", ["application", "unit"])
