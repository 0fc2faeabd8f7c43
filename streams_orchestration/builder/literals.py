"""Python values as literals of an expression."""

from __future__ import annotations

import datetime
import decimal
import math
import numbers

from streams_orchestration.builder.places import calling_place
from streams_orchestration.builder.references import Reference, TextReference
from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.literals import number_constant
from streams_orchestration.expressions.syntax import Constant, Convert, Syntax
from streams_orchestration.expressions.times import UTC, read_timestamp
from streams_orchestration.expressions.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Type,
    parse_type,
)
from streams_orchestration.expressions.writing import Given

PythonValue = (
    str | int | float | bool | decimal.Decimal | bytes | datetime.date | datetime.datetime | datetime.timedelta | None
)
"""The values of Python that an expression may hold."""
_EPOCH = datetime.date(1970, 1, 1)


class ColumnError(ValueError):
    """An expression cannot have this value or operation; the message names file and line of Python."""

    def __init__(self, message: str) -> None:
        place = calling_place()
        super().__init__(f"{place.file}:{place.line}: {message}")


def literal(value: object) -> Syntax:
    """Return the literal of a Python value.

    Raises:
        ColumnError: no literal has this value.
    """
    match value:
        case TextReference():
            return Constant(Given(f"'{value}'"), STRING)
        case Reference():
            return Constant(Given(value), VOID)
        case None:
            return Constant(None, VOID)
        case bool():
            return Constant(value, BOOLEAN)
        case str():
            return Constant(value, STRING)
        case bytes():
            return Constant(value, BINARY)
        case float():
            return _double(value)
        case decimal.Decimal() if value.is_finite():
            return _number(format(abs(value), "f") + "BD", negative=value.is_signed())
        case datetime.datetime():
            return _point_in_time(value)
        case datetime.date():
            return Constant((value - _EPOCH).days, DATE)
        case datetime.timedelta():
            return Constant(value // datetime.timedelta(microseconds=1), DAY_TIME)
        case numbers.Integral():
            return _number(str(abs(int(value))), negative=value < 0)
        case _:
            message = (
                f"{value!r:.80} of the type {type(value).__name__} is not a literal; cast it to one of Python's own"
            )
            raise ColumnError(message)


def type_named(text: str) -> Type:
    """Return the type that a text names; raises ColumnError if there is none."""
    try:
        return parse_type(text)
    except ValueError as error:
        message = f"{text!r} is not a type: {error}"
        raise ColumnError(message) from error


def _double(value: float) -> Syntax:
    if math.isfinite(value):
        return Constant(float(value), DOUBLE)
    text = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return Convert(Constant(text, STRING), DOUBLE)


def _number(text: str, *, negative: bool) -> Syntax:
    try:
        return number_constant(text, 0, negative=negative)
    except ExpressionError as error:
        raise ColumnError(str(error)) from error


def _point_in_time(value: datetime.datetime) -> Constant:
    text, kind = value.isoformat(" "), TIMESTAMP_NTZ if value.tzinfo is None else TIMESTAMP
    micros = read_timestamp(text, UTC)
    if micros is None:
        message = f"{text} is not a timestamp"
        raise ColumnError(message)
    return Constant(micros, kind)
