"""The column type of reasons: texts of errors."""

from __future__ import annotations

from sqlalchemy import Dialect
from sqlalchemy.types import Text, TypeDecorator

from streams_orchestration.model.secrets import masked


class Reason(TypeDecorator[str]):
    """The column type of texts of errors, which are stored without secrets."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  SQLAlchemy's
        """Return the text as it is stored."""
        return None if value is None else masked(value)

    @property
    def python_type(self) -> type[str]:
        """The type of a value."""
        return str
