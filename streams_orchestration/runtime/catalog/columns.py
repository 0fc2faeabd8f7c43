"""Makes a table of the dataclass of its rows: each field is a column.

The type of a field says the type of the column, and if it may be null. `Key`, `Count` and the other types of this
module say the rest; to a type checker they are the plain types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from sqlalchemy import Column, Dialect, Index, MetaData, Table
from sqlalchemy.types import (
    JSON,
    BigInteger,
    Boolean,
    Float,
    Integer,
    LargeBinary,
    String,
    Text,
    TypeDecorator,
    TypeEngine,
)

from streams_orchestration.model.printable import encodable
from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime.catalog.reading import CatalogRow

metadata = MetaData()


@dataclass(frozen=True, slots=True)
class Default:
    """The value that an insert without this column writes."""

    value: object


class Reason(TypeDecorator[str]):
    """The column type of texts of errors; no secrets and no lone surrogates of them are stored."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  SQLAlchemy's
        """Return the text to store; None stays None."""
        return None if value is None else encodable(masked(value))

    @property
    def python_type(self) -> type[str]:
        """The Python type of the column's values."""
        return str


_T = TypeVar("_T")
_KEY = object()
BIG_INTEGER = BigInteger().with_variant(Integer, "sqlite")
Key = Annotated[_T, _KEY]
"""A column of the primary key."""
Flag = Annotated[bool, Default(value=False)]
Count = Annotated[int, BIG_INTEGER]
"""A count of tuples, bytes or batches: 64 bits. An SQLite integer always has them."""
LongText = Annotated[str, Text()]
Cause = Annotated[str | None, Reason()]
"""The text of an error, whose secrets are hidden."""
NullableJson = Annotated[_T | None, JSON(none_as_null=True)]
_TYPES: dict[Any, type[TypeEngine[Any]]] = {str: String, int: Integer, float: Float, bool: Boolean, bytes: LargeBinary}
"""Type of a field -> type of its column; a field of another type is stored as JSON."""


def table_of(row: type[CatalogRow], name: str, *indexes: Index) -> Table:
    """Add to `metadata` the table that has the fields of a row as columns, and return it."""
    hints = get_type_hints(row, include_extras=True)
    return Table(name, metadata, *(_column(each.name, hints[each.name]) for each in fields(row)), *indexes)


def _column(name: str, hint: Any) -> Column[Any]:
    parts = list(_parts(hint))
    kinds: list[TypeEngine[Any]] = [each for each in parts if isinstance(each, TypeEngine)]
    plain = next(each for each in parts if each is not NoneType and isinstance(each, type))
    default = next((each.value for each in parts if isinstance(each, Default)), None)
    kind = kinds[0] if kinds else _TYPES.get(plain, JSON)
    return Column(name, kind, primary_key=_KEY in parts, nullable=NoneType in parts, default=default)


def _parts(hint: Any) -> Iterator[Any]:
    """Yield the marks and plain types in a hint; a literal counts as the type of its value."""
    origin = get_origin(hint)
    if origin is Annotated:
        yield from hint.__metadata__
        yield from _parts(hint.__origin__)
    elif origin in (Union, UnionType):
        for each in get_args(hint):
            yield from _parts(each)
    elif origin is Literal:
        yield type(get_args(hint)[0])
    else:
        yield origin or hint
