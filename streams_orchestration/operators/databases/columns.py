"""Columns of a table for attributes of tuples: their SQL types, and the values as databases take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.libraries import pa

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

CHUNK = 10_000
"""Rows that go to the database in one call."""


KEY_LENGTH = 255
"""Characters, or bytes, of a text in a unique key of MariaDB and MySQL, which have no keys of any length."""


def column_type(kind: pa.DataType, *, key: bool = False) -> TypeEngine[Any]:
    """The SQL type of an attribute.

    Args:
        kind: of the attribute.
        key: the column is part of a unique key.

    Raises:
        ValueError: it is nested, no database has a column for it.
    """
    import sqlalchemy as sa
    from sqlalchemy.dialects import mysql

    types = pa.types
    if types.is_boolean(kind):
        return sa.Boolean()
    if types.is_int64(kind):
        return sa.BigInteger()
    if types.is_integer(kind):
        return sa.Integer() if kind.bit_width == 32 else sa.SmallInteger()
    if types.is_floating(kind):
        return sa.Double() if kind.bit_width == 64 else sa.Float(24)
    if types.is_string(kind):
        return sa.Text().with_variant(mysql.VARCHAR(KEY_LENGTH) if key else mysql.LONGTEXT(), "mysql")
    if types.is_date(kind):
        return sa.Date()
    if types.is_timestamp(kind):
        return sa.DateTime(timezone=kind.tz is not None).with_variant(mysql.DATETIME(fsp=6), "mysql")
    if types.is_binary(kind):
        return sa.LargeBinary().with_variant(mysql.VARBINARY(KEY_LENGTH) if key else mysql.LONGBLOB(), "mysql")
    if types.is_decimal(kind):
        return sa.Numeric(kind.precision, kind.scale).with_variant(sa.Text(), "sqlite")
    message = f"it is {type_name(kind)}, which no column can hold; take it apart before, or leave it out with suppress"
    raise ValueError(message)


def rows_of(batch: TupleBatch, columns: dict[str, str], *, decimals_as_text: bool) -> Iterator[list[dict[str, Any]]]:
    """The tuples as rows by column, in chunks.

    Args:
        batch: the tuples.
        columns: attribute -> column.
        decimals_as_text: for a database that has no decimal numbers.
    """
    for start in range(0, len(batch), CHUNK):
        part = batch.arrow.slice(start, CHUNK).select(list(columns))
        values = [_values(column, decimals_as_text=decimals_as_text) for column in part.columns]
        names = list(columns.values())
        yield [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _values(column: pa.Array, *, decimals_as_text: bool) -> list[Any]:
    if decimals_as_text and pa.types.is_decimal(column.type):
        return [None if value is None else str(value) for value in column.to_pylist()]
    return column.to_pylist()
