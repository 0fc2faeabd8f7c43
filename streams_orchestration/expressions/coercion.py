"""Implicit conversions in ANSI mode: the common types of different types (Spark's `AnsiTypeCoercion`)."""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration.expressions.types import (
    BIGINT,
    DAY_TIME,
    DOUBLE,
    INTEGRAL_DIGITS,
    VOID,
    Type,
    decimal_type,
)

_WIDTHS = ("tinyint", "smallint", "int", "bigint")
_DATETIMES = ("date", "timestamp_ntz", "timestamp")


def is_implicit(source: Type, target: Type) -> bool:
    """Return True if an argument of one type is accepted for a parameter of another."""
    if source in (target, VOID):
        return True
    if source.is_nested or target.is_nested:
        return (
            source.name == target.name
            and len(source.parts) == len(target.parts)
            and all(map(is_implicit, source.parts, target.parts))
        )
    if source.name == "string" or target.name == "string":
        return not (source.is_interval or target.is_interval)
    if source.is_interval and target.is_interval:
        return target == DAY_TIME and source.name.startswith("interval day")
    return (source.is_numeric and target.is_numeric) or (source.is_datetime and target.is_datetime)


def as_decimal(kind: Type) -> Type:
    """Return the decimal that holds all values of a type of whole numbers; a decimal is returned as it is."""
    return decimal_type(INTEGRAL_DIGITS[kind.name], 0) if kind.is_integral else kind


def common(one: Type, other: Type, *, texts: bool = True) -> Type | None:
    """Return the common type that two types are converted to, or None if there is none.

    Args:
        one: the type on the left.
        other: the type on the right.
        texts: True if a text may be converted to the other value's type: a bigint, a double, a date or a boolean. False
            if a text has a common type only with texts.
    """
    if other in (one, VOID):
        return one
    if one == VOID:
        return other
    if one.name == "string" or other.name == "string":
        return _with_text(other if one.name == "string" else one) if texts else None
    if one.is_numeric and other.is_numeric:
        return _common_number(one, other)
    if one.is_datetime and other.is_datetime:
        return one if _DATETIMES.index(one.name) > _DATETIMES.index(other.name) else other
    if one.is_interval and other.is_interval:
        return DAY_TIME if is_implicit(one, DAY_TIME) and is_implicit(other, DAY_TIME) else None
    if one.is_nested and one.name == other.name and len(one.parts) == len(other.parts):
        if one.name == "struct" and [each.lower() for each in one.fields] != [each.lower() for each in other.fields]:
            return None
        parts = [common(*pair, texts=texts) for pair in zip(one.parts, other.parts, strict=True)]
        known = tuple(part for part in parts if part is not None)
        return Type(one.name, parts=known, fields=one.fields) if len(known) == len(parts) else None
    return None


def common_of(kinds: Iterable[Type], *, texts: bool = True) -> Type | None:
    """Return the common type of several types, or None if there is none; `VOID` without types."""
    result: Type | None = VOID
    for kind in kinds:
        result = None if result is None else common(result, kind, texts=texts)
    return result


def _with_text(other: Type) -> Type | None:
    """Return the common type of a text and a value of another type; None if the two have none."""
    if other.is_integral:
        return BIGINT
    if other.is_numeric:
        return DOUBLE
    return None if other.is_nested or other.is_interval else other


def _common_number(one: Type, other: Type) -> Type:
    if one.is_integral and other.is_integral:
        return one if _WIDTHS.index(one.name) > _WIDTHS.index(other.name) else other
    if one.is_fractional or other.is_fractional:
        return DOUBLE
    one, other = as_decimal(one), as_decimal(other)
    scale = max(one.scale, other.scale)
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return decimal_type(whole + scale, scale)
