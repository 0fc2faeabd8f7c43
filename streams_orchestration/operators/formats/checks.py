"""Checks of values that Arrow's readers let through: texts that are no UTF-8, decimals and numbers out of range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators.arrow_types import is_text, nulls_in, required_fields, type_name
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import pa

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""Days since 1970 of the first day of the year 1 and the last one of 9999."""
_DAY = 86_400_000_000
"""Microseconds of a day."""


class UnfitValueError(DataError):
    """A value that is not of its attribute's type.

    Args:
        row: the number of the row among those checked.
        column: the name of its attribute.
        reason: the reason.
    """

    def __init__(self, row: int, column: str, reason: str) -> None:
        super().__init__(f"row {row + 1}, column {column}: {reason}")
        self.row, self.column, self.reason = row, column, reason


NULL = "it is null, but the attribute is NOT NULL"
"""The reason why a row without a required value does not fit."""


def check_nulls(batch: pa.RecordBatch) -> None:
    """See that no column is null whose field is not nullable.

    Raises:
        UnfitValueError: one is.
    """
    found = nulls_in(dict(zip(batch.schema.names, batch.columns, strict=True)), required_fields(batch.schema))
    if found:
        row = min(found)
        raise UnfitValueError(row, found[row], NULL)


def check_values(batch: pa.RecordBatch) -> None:
    """See that texts are UTF-8 and decimals have no more digits than their types, also in lists, maps and structs.

    Raises:
        UnfitValueError: one is not so.
    """
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if not _is_checked(field.type):
            continue
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            row = _first_invalid(column)
            raise UnfitValueError(row, field.name, _reason(column.slice(row, 1), field.type)) from None


def utf8_fault(text: bytes) -> str:
    """Return why bytes are no UTF-8 text, with the place; empty when they are."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 text: byte {error.start + 1} is 0x{text[error.start]:02x} ({error.reason})"
    return ""


def check_years(batch: pa.RecordBatch) -> None:
    """See that dates and times are within the years 1 to 9999, which are those that a text can have.

    Raises:
        DataError: one is not.
    """
    for field, column in zip(batch.schema, batch.columns, strict=True):
        for leaf in leaves(column):
            if pa.types.is_date(leaf.type):
                first, last = FIRST_DAY, LAST_DAY
            elif pa.types.is_timestamp(leaf.type):
                first, last = FIRST_DAY * _DAY, (LAST_DAY + 1) * _DAY - 1
            else:
                continue
            found = pc.min_max(pc.cast(leaf, pa.int32() if pa.types.is_date(leaf.type) else pa.int64()))
            least, most = found["min"].as_py(), found["max"].as_py()
            if least is not None and (least < first or most > last):
                message = f"{field.name}: a {type_name(leaf.type)} beyond the years 1 to 9999 cannot be written as text"
                raise DataError(message)


def leaves(array: pa.Array) -> Iterator[pa.Array]:
    """Return the arrays of values that are not nested: those within lists, maps and structs, or the array itself."""
    types = pa.types
    if types.is_map(array.type):
        yield from leaves(array.keys)
        yield from leaves(array.items)
    elif types.is_list(array.type):
        yield from leaves(array.flatten())
    elif types.is_struct(array.type):
        for part in array.flatten():
            yield from leaves(part)
    else:
        yield array


def is_within(kind: pa.DataType, *checks: Any) -> bool:
    """Return True if the type, or one within it, meets one of some checks."""
    if any(check(kind) for check in checks):
        return True
    return pa.types.is_nested(kind) and any(is_within(kind.field(i).type, *checks) for i in range(kind.num_fields))


def _is_checked(kind: pa.DataType) -> bool:
    return is_within(kind, is_text, pa.types.is_decimal, pa.types.is_dictionary)


def _first_invalid(column: pa.Array) -> int:
    """Return the first row whose value is invalid, found by halves."""
    first, count = 0, len(column)
    while count > 1:
        half = count // 2
        try:
            # a copy: what is around a slice would be checked, too
            pa.concat_arrays([column.slice(first, half), column.slice(0, 0)]).validate(full=True)
        except pa.ArrowInvalid:
            count = half
        else:
            first, count = first + half, count - half
    return first


def _reason(value: pa.Array, kind: pa.DataType) -> str:
    if is_text(kind):
        return utf8_fault(pc.cast(value, pa.large_binary())[0].as_py())
    if pa.types.is_decimal(kind):
        return (
            f"{value.cast(pa.decimal256(76, kind.scale))[0].as_py()} is no {type_name(kind)}: "
            f"it has at most {kind.precision - kind.scale} digits before the point and {kind.scale} behind it"
        )
    return "a text in it is not UTF-8, or a number is out of range"
