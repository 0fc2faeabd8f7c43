"""Checks for values that Arrow accepts: texts that are not UTF-8, numbers and years out of range, and wrong nulls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import is_text, nulls_in, required_fields, type_name

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The first day of year 1 and the last day of year 9999, in days since 1970."""
_DAY = 86_400_000_000
"""Microseconds per day."""


class UnfitValueError(DataError):
    """A value does not fit its attribute's type.

    Args:
        row: the position of the row among those checked.
        column: the name of the attribute.
        reason: the reason.
    """

    def __init__(self, row: int, column: str, reason: str) -> None:
        super().__init__(f"row {row + 1}, column {column}: {reason}")
        self.row, self.column, self.reason = row, column, reason


NULL = "it is null, but the attribute is NOT NULL"
"""The reason given for a row without a required value."""


def check_nulls(batch: pa.RecordBatch) -> None:
    """Check that no column contains null if its field is not nullable.

    Raises:
        UnfitValueError: a required value is null.
    """
    found = nulls_in(dict(zip(batch.schema.names, batch.columns, strict=True)), required_fields(batch.schema))
    if found:
        row = min(found)
        raise UnfitValueError(row, found[row], NULL)


def check_values(batch: pa.RecordBatch) -> None:
    """Check that texts are UTF-8 and that decimals fit their precision, also within lists, maps and structs.

    Raises:
        UnfitValueError: a value is invalid.
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
    """Return why bytes are not UTF-8, with the position; empty if they are valid."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 text: byte {error.start + 1} is 0x{text[error.start]:02x} ({error.reason})"
    return ""


def check_years(batch: pa.RecordBatch) -> None:
    """Check that dates and times are within the years 1 to 9999, the range that a text can represent.

    Raises:
        DataError: a value is outside the range.
    """
    for field, column in zip(batch.schema, batch.columns, strict=True):
        for leaf in leaves(column):
            if pa.types.is_date(leaf.type):
                first, last = FIRST_DAY, LAST_DAY
            elif pa.types.is_timestamp(leaf.type) and leaf.type.unit == "us":  # nanoseconds are within these years
                first, last = FIRST_DAY * _DAY, (LAST_DAY + 1) * _DAY - 1
            else:
                continue
            found = pc.min_max(pc.cast(leaf, pa.int32() if pa.types.is_date(leaf.type) else pa.int64()))
            least, most = found["min"].as_py(), found["max"].as_py()
            if least is not None and (least < first or most > last):
                message = f"{field.name}: a {type_name(leaf.type)} beyond the years 1 to 9999 cannot be written as text"
                raise DataError(message)


def leaves(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the non-nested arrays of values within lists, maps and structs, or the array itself."""
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
    """Return True if one of the checks accepts the type or a type nested in it."""
    if any(check(kind) for check in checks):
        return True
    return pa.types.is_nested(kind) and any(is_within(kind.field(i).type, *checks) for i in range(kind.num_fields))


def _is_checked(kind: pa.DataType) -> bool:
    return is_within(kind, is_text, pa.types.is_decimal, pa.types.is_dictionary)


def _first_invalid(column: pa.Array) -> int:
    """Return the first row whose value is invalid, by bisection of a column that has such a row."""
    first, count = 0, len(column)
    while count > 1:
        half = count // 2
        try:
            # a copy, since validating a slice also validates the values around it
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
            f"{value.cast(pa.decimal256(76, kind.scale))[0].as_py()} is not a valid {type_name(kind)}: "
            f"it has at most {kind.precision - kind.scale} digits before the decimal point and {kind.scale} after it"
        )
    return "a text in it is not UTF-8, or a number is out of range"
