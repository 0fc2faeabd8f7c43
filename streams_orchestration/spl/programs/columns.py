"""Conversion of Arrow columns to lists of SPL values, and back."""

from __future__ import annotations

# pyright: standard
import functools
import itertools
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.outcome import FailedError
from streams_orchestration.spl.programs.values import default_of, freezing, plain_function, same
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    DECIMALS,
    FLOATS,
    INTEGERS,
    REALS,
    SIGNED,
    TIMESTAMP,
    XML,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    Type,
    is_string,
)

STAMP = pa.timestamp("ns", "UTC")


@functools.lru_cache(maxsize=1024)
def arrow_type(type_: Type) -> pa.DataType:
    """Return the Arrow type of a column that holds the values of an SPL type; decimals and enumerations are strings."""
    match type_:
        case Optional(content=content):
            return arrow_type(content)
        case Tuple(attributes=attributes):
            return pa.struct([(each.name, arrow_type(each.type)) for each in attributes])
        case Collection(kind="map", elements=(key, value)):
            return pa.map_(arrow_type(key), arrow_type(value))
        case Collection(elements=(element,)):
            return pa.list_(arrow_type(element))
        case Primitive() if type_ in INTEGERS:
            return getattr(pa, f"{'' if type_ in SIGNED else 'u'}int{INTEGERS[type_]}")()
        case Primitive() if type_ in FLOATS:
            return getattr(pa, f"float{FLOATS[type_]}")()
        case _:
            kinds: dict[Type, pa.DataType] = {BOOLEAN: pa.bool_(), TIMESTAMP: STAMP, BLOB: pa.binary()}
            return kinds.get(type_, pa.string())


def is_carried(type_: Type) -> bool:
    """Return True if programs can run on values of a type; applications with complex numbers or XML only compile."""
    match type_:
        case Optional(content=content):
            return is_carried(content)
        case Tuple(attributes=attributes):
            return all(is_carried(each.type) for each in attributes)
        case Collection(elements=elements):
            return all(map(is_carried, elements))
        case _ if is_string(type_) or isinstance(type_, Enumeration):
            return True
        case _:
            return type_ in (BOOLEAN, TIMESTAMP, BLOB) or type_ in REALS


def values_of(array: pa.Array, type_: Type) -> list[Any]:
    """Return the values of an Arrow column as SPL values.

    Raises:
        RunError: a value is null, but its type is not optional; or the text of a decimal is not a number, or a
            timestamp is outside of the years 1677 to 2262.
    """
    if isinstance(type_, Optional):
        return _optional_values(array, type_.content)
    if array.null_count:
        message = f"a value of type {type_} is null"
        raise RunError(message)
    match type_:
        case Tuple(attributes=attributes):
            names = [each.name for each in attributes]
            columns = [values_of(array.field(each.name), each.type) for each in attributes]
            return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        case Collection():
            return _collections(array, type_)
        case _ if is_string(type_) or type_ == XML or isinstance(type_, Enumeration):
            return _texts(array)
        case _ if type_ == TIMESTAMP:
            try:
                return array.cast(STAMP).view(pa.int64()).to_numpy().tolist()
            except pa.ArrowInvalid as error:
                message = f"a value of type {type_} is outside of the years 1677 to 2262: {error}"
                raise RunError(message) from None
        case _ if type_ == BLOB:
            return array.to_pylist()
        case _ if type_ in DECIMALS:
            return list(map(_decimal, _texts(array)))
        case _:
            return array.to_numpy(zero_copy_only=False).tolist()


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        message = f"{text!r} is not a decimal number"
        raise RunError(message) from None


def _texts(array: pa.Array) -> list[str]:
    import polars as pl

    series = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series.to_list()


def refuse_nulls(name: str, array: pa.Array, type_: Type, file: str) -> None:
    """Raise FailedError if an attribute that a program in a file reads is null without being optional."""
    if array.null_count and not isinstance(type_, Optional):
        message = f"{name} is null, but its type in SPL is not optional"
        raise FailedError(message, file, array.is_null().index(True).as_py())


def attribute_values(name: str, array: pa.Array, type_: Type, file: str) -> list[Any]:
    """Return the values of an attribute that a program in a file reads.

    Raises:
        FailedError: a value does not have the type; the error has the index of the first such value.
    """
    refuse_nulls(name, array, type_, file)
    try:
        return values_of(array, type_)
    except RunError as error:
        message = f"{name} cannot be read: {error}"
        index = first_failing(len(array), lambda at: values_of(array.take(pa.array([at])), type_))
        raise FailedError(message, file, index) from error


def first_failing(count: int, attempt: Callable[[int], object]) -> int:
    """Return the first index for which an attempt raises RunError; the last one if none does."""
    for index in range(count):
        try:
            attempt(index)
        except RunError:
            return index
    return count - 1


def _optional_values(array: pa.Array, content: Type) -> list[Any]:
    if not array.null_count:
        return values_of(array, content)
    present = array.is_valid()
    inner = iter(values_of(array.filter(present), content))
    return [next(inner) if there else None for there in present.to_numpy(zero_copy_only=False).tolist()]


def _collections(array: Any, type_: Collection) -> list[Any]:
    offsets = array.offsets.to_numpy().tolist()
    spans = itertools.pairwise(offsets)
    if type_.kind == "map":
        freeze, (key, value) = freezing(type_.elements[0]), type_.elements
        keys, items = list(map(freeze, values_of(array.keys, key))), values_of(array.items, value)
        return [dict(zip(keys[start:end], items[start:end], strict=True)) for start, end in spans]
    values = values_of(array.values, type_.elements[0])
    if type_.kind == "list":
        return [values[start:end] for start, end in spans]
    keys = list(map(freezing(type_.elements[0]), values))
    return [dict.fromkeys(keys[start:end]) for start, end in spans]


def array_of(values: list[Any], type_: Type) -> pa.Array:
    """Return SPL values as an Arrow column.

    Raises:
        RunError: a timestamp is outside of the years 1677 to 2262, or a string cannot be encoded.
    """
    kind = arrow_type(type_)
    plain = plain_function(type_)
    try:
        if type_ in INTEGERS or type_ in FLOATS:
            return pa.array(np.array(values, kind.to_pandas_dtype()))
        return pa.array(values if plain is same else list(map(plain, values)), kind)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError) as error:
        message = f"a value of type {type_} cannot be stored in a column: {error}"
        raise RunError(message) from None


def filled(array: pa.Array, type_: Type) -> pa.Array:
    """Return a column with nulls replaced by the type's default, for data from other systems.

    A column of an optional type is returned unchanged.
    """
    if isinstance(type_, Optional) or not array.null_count:
        return array
    return pc.fill_null(array, pa.scalar(plain_function(type_)(default_of(type_)), array.type))
