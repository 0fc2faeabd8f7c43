"""The tables of version 0.1.0."""

revision = "0.1.0"
down_revision = None


def upgrade() -> None:
    """Do nothing: a catalog of 0.1.0 was made from the tables of that version, and no catalog is older."""
