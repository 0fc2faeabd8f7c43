"""The column type of reasons, which are texts of errors."""

from __future__ import annotations

from sqlalchemy import Dialect
from sqlalchemy.types import Text, TypeDecorator

from streams_orchestration.model.secrets import masked


class Reason(TypeDecorator[str]):
    """The column type of texts of errors; secrets in them are hidden before they are stored."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  SQLAlchemy's
        """Return the text to store, with its secrets hidden; None stays None."""
        return None if value is None else masked(value)

    @property
    def python_type(self) -> type[str]:
        """The Python type of the column's values."""
        return str
