"""SQL column types for the attributes of tuples, and tuples converted to rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from streams_orchestration.operators.formats.texts import texts
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import batch_without_unsigned, type_name, without_unsigned
from streams_orchestration.operators.tuples.batch import TupleBatch

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

CHUNK = 10_000
"""Rows per call of the database."""


KEY_LENGTH = 255
"""The length of text columns in a unique key, in characters or bytes. MariaDB and MySQL limit the length of keys."""
WITHOUT_ALL_NUMBERS = {"sqlite": "SQLite", "mysql": "MySQL", "mariadb": "MariaDB"}
"""The databases that lack some values of a double (NaN, infinity), with their names."""


def column_type(kind: pa.DataType, *, key: bool = False) -> TypeEngine[Any]:
    """Return the SQL type of an attribute; a decimal is a text in SQLite.

    Args:
        kind: the type of the attribute.
        key: True if the column is part of a unique key; texts and bytes in it are limited to `KEY_LENGTH` in MariaDB
            and MySQL.

    Raises:
        ValueError: the type is nested, which no database column can hold.
    """
    import sqlalchemy as sa
    from sqlalchemy.dialects import mysql

    types, kind = pa.types, without_unsigned(kind)
    if types.is_boolean(kind):
        return sa.Boolean()
    if types.is_int64(kind):
        return sa.BigInteger()
    if types.is_integer(kind):
        return sa.Integer() if kind.bit_width == 32 else sa.SmallInteger()
    if types.is_floating(kind):
        # MariaDB and MySQL show only six digits of a FLOAT
        return sa.Double() if kind.bit_width == 64 else sa.Float(24).with_variant(mysql.DOUBLE(), "mysql")
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
    message = (
        f"it is {type_name(kind)}, which no column can hold; split it in a Functor before the sink, or leave it out "
        "with suppress"
    )
    raise ValueError(message)


class NotStorableError(ValueError):
    """The database cannot hold a value: it would change the value silently, or refuse the statement."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def check_numbers(row: Mapping[str, Any], columns: Iterable[str], kind: str) -> None:
    """Raise NotStorableError for a floating-point value that the database cannot store.

    SQLite would store NaN as NULL. MySQL and MariaDB have neither NaN nor infinity.

    Args:
        row: the values by column.
        columns: the columns to check.
        kind: the kind of database, a key of `WITHOUT_ALL_NUMBERS`.
    """
    for column in columns:
        value = row[column]
        if isinstance(value, float) and math.isnan(value):
            consequence = " and would store as NULL" if kind == "sqlite" else ""
            reason = (
                f"a number is NaN, which {WITHOUT_ALL_NUMBERS[kind]} does not have{consequence}; replace it by null "
                "before the sink"
            )
            raise NotStorableError(column, reason)
        if kind != "sqlite" and isinstance(value, float) and math.isinf(value):
            reason = (
                f"a number is infinite, which {WITHOUT_ALL_NUMBERS[kind]} does not have; replace it by null before "
                "the sink"
            )
            raise NotStorableError(column, reason)


def rows_of(batch: TupleBatch, columns: dict[str, str], kind: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the tuples in chunks of `CHUNK` rows. Each row is a dictionary from columns to values.

    Nanoseconds are cut off.

    Args:
        batch: the tuples.
        columns: maps attributes to columns.
        kind: the kind of database. Decimals become texts for SQLite, which has no decimal numbers.
    """
    for start in range(0, len(batch), CHUNK):
        part = batch_without_unsigned(batch.arrow.slice(start, CHUNK).select(list(columns)))
        values = [_values(column, kind) for column in part.columns]
        names = list(columns.values())
        yield [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _values(column: pa.Array, kind: str) -> list[Any]:
    if kind == "sqlite" and pa.types.is_decimal(column.type):
        return texts(column).to_pylist()
    return column.to_pylist()
