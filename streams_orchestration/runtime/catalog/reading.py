"""Reads the rows of a statement as dataclasses, so that the type checker knows the names and types of columns."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from sqlalchemy import Connection, CursorResult, Executable


@dataclass(frozen=True, slots=True)
class CatalogRow:
    """A row that a statement returns; a subclass has the statement's columns as fields, in their order.

    Reading raises TypeError when the statement has other columns.
    """

    @classmethod
    def all(
        cls, connection: Connection, statement: Executable, parameters: Mapping[str, Any] | None = None
    ) -> list[Self]:
        """Return all rows of a statement."""
        return [cls(*row) for row in cls._execute(connection, statement, parameters)]

    @classmethod
    def one(cls, connection: Connection, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Self:
        """Return the only row.

        Raises:
            NoResultFound, MultipleResultsFound: there are none, or several.
        """
        return cls(*cls._execute(connection, statement, parameters).one())

    @classmethod
    def one_or_none(
        cls, connection: Connection, statement: Executable, parameters: Mapping[str, Any] | None = None
    ) -> Self | None:
        """Return the only row, or None if there is no row.

        Raises:
            MultipleResultsFound: there are several.
        """
        row = cls._execute(connection, statement, parameters).one_or_none()
        return None if row is None else cls(*row)

    @classmethod
    def _execute(
        cls, connection: Connection, statement: Executable, parameters: Mapping[str, Any] | None = None
    ) -> CursorResult[Any]:
        result = connection.execute(statement, parameters)
        columns, expected = tuple(result.keys()), _columns(cls)
        if columns != expected:
            message = f"{cls.__name__} has the fields {expected}, the statement has the columns {columns}"
            raise TypeError(message)
        return result


@functools.cache
def _columns(row: type[CatalogRow]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(row))
