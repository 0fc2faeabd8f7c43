"""Imports by the names of operators, connections that a redeploy has ended, and numbers that none is to use again."""

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

Count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Name receivers of tuples by operator name instead of by their number in the program of their PE."""
    op.add_column("application", sa.Column("last_epoch", Count, nullable=False, server_default="0"))
    op.add_column("application", sa.Column("last_batch", Count, nullable=False, server_default="-1"))
    op.add_column("application", sa.Column("last_generation", sa.Integer(), nullable=False, server_default="0"))
    rows = op.get_bind().execute(sa.text("SELECT application, id, program FROM pe")).all()
    names = {(row.application, row.id): _names(row.program) for row in rows}
    for table, columns in (("stream_import", _import()), ("stream_connection", _connection())):
        op.rename_table(table, f"{table}_0006")
        made = op.create_table(table, *columns)
        former = sa.Table(f"{table}_0006", sa.MetaData(), autoload_with=op.get_bind())
        for row in op.get_bind().execute(sa.select(former)).mappings().all():
            name = names.get((row["application"], row["pe"]), {}).get(row["operator"])
            if name is not None:
                op.bulk_insert(made, [{**row, "operator": name}])
        op.drop_table(f"{table}_0006")


def _names(program: bytes | None) -> Mapping[int, str]:
    """The operators of a program by their numbers; none of what an older version has deployed."""
    try:
        document: Any = json.loads(program or b"{}")
    except ValueError:
        return {}
    return {each["index"]: each["name"] for each in document.get("operators", {}).values()}


def _import() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("operator", sa.String(), primary_key=True),
        sa.Column("port", sa.Integer(), primary_key=True),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("subscription", sa.String()),
        sa.Column("exporter", sa.String()),
        sa.Column("stream_id", sa.String()),
        sa.Column("filter", sa.String()),
        sa.Column("schema", sa.String(), nullable=False),
        sa.Column("consistent", sa.Boolean(), nullable=False),
    )


def _connection() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("application", sa.String(), primary_key=True),
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("pe", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("operator", sa.String(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("filter", sa.String()),
        sa.Column("exporter", sa.String(), nullable=False),
        sa.Column("exporter_pe", sa.Integer(), nullable=False),
        sa.Column("stream", sa.String(), nullable=False),
        sa.Column("waits", sa.Boolean(), nullable=False),
        sa.Column("first", Count, nullable=False),
        sa.Column("last", Count),
        sa.Column("lost", Count, nullable=False),
        sa.Column("problem", sa.String()),
        sa.Column("uncommitted", sa.Boolean(), nullable=False),
    )
