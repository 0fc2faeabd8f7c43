"""Conversion of SPL values to Python values for users' Python functions, and back.

A list becomes a list, a tuple a dictionary, a timestamp a `pandas.Timestamp` in UTC, null None. A set becomes a set and
a map a dictionary; if their elements or keys are compound, a list of the elements, or of pairs.

>>> from streams_orchestration.spl.types.types import INT32
>>> to_python(Collection("set", (INT32,)))({1: None, 2: None})
{1, 2}
>>> from_python(Primitive("int8"))(200)
Traceback (most recent call last):
...
streams_orchestration.spl.programs.errors.RunError: 200 (int) is not a valid int8
"""

from __future__ import annotations

# pyright: standard
import datetime as dt
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.values import freezing, is_compound, nullable, same, thawing
from streams_orchestration.spl.types.literals import single
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    FLOATS,
    INTEGERS,
    TIMESTAMP,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    Type,
    is_string,
    range_of,
)

Function = Callable[[Any], Any]


@functools.lru_cache(maxsize=1024)
def to_python(type_: Type) -> Function:
    """Return the function that converts SPL values of a type to Python values; the result shares no changeable part."""
    match type_:
        case Optional(content=content):
            return nullable(to_python(content))
        case Tuple(attributes=attributes):
            parts = [(each.name, to_python(each.type)) for each in attributes]
            return lambda value: {name: convert(value[name]) for name, convert in parts}
        case Collection(kind="list", elements=(element,)):
            convert = to_python(element)
            return list if convert is same else lambda value: [convert(each) for each in value]
        case Collection(kind="set", elements=(element,)):
            convert, thaw = to_python(element), thawing(element)
            if is_compound(element):
                return lambda value: [convert(thaw(key)) for key in value]
            return set if convert is same else lambda value: {convert(key) for key in value}
        case Collection(kind="map", elements=(key_type, content)):
            convert, thaw, inner = to_python(key_type), thawing(key_type), to_python(content)
            if is_compound(key_type):
                return lambda value: [(convert(thaw(key)), inner(each)) for key, each in value.items()]
            return lambda value: {convert(key): inner(each) for key, each in value.items()}
        case _:
            return _stamp if type_ == TIMESTAMP else same


def _stamp(value: int) -> Any:
    import pandas as pd

    return pd.Timestamp(value, unit="ns", tz="UTC")


@functools.lru_cache(maxsize=1024)
def from_python(type_: Type) -> Function:
    """Return the function that converts Python values to SPL values of a type; it raises RunError for a misfit.

    Raises:
        RunError: values of the type compile but cannot run.
    """
    match type_:
        case Optional(content=content):
            return nullable(from_python(content))
        case Tuple():
            return _tuple(type_)
        case Collection(kind="map"):
            return _map(type_)
        case Collection():
            return _elements(type_)
        case _:
            return _simple(type_)


def _refuse(value: Any, type_: Type) -> RunError:
    return RunError(f"{value!r:.60} ({type(value).__name__}) is not a valid {type_}")


def _tuple(type_: Tuple) -> Function:
    parts = [(each.name, from_python(each.type)) for each in type_.attributes]
    names = {name for name, _ in parts}

    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _refuse(value, type_)
        if value.keys() != names:
            found = ", ".join(sorted(map(str, value.keys()))) or "none"
            message = f"a tuple has the attributes {', '.join(sorted(names))}, but the dictionary has the keys {found}"
            raise RunError(message)
        return {name: inner(value[name]) for name, inner in parts}

    return convert


def _elements(type_: Collection) -> Function:
    inner, (element,) = from_python(type_.elements[0]), type_.elements
    is_set = type_.kind == "set"
    accepted = (set, frozenset, list, tuple) if is_set else (list, tuple)
    freeze = freezing(element)

    def convert(value: Any) -> Any:
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, accepted):
            raise _refuse(value, type_)
        if is_set:
            return _bounded(dict.fromkeys([freeze(inner(each)) for each in value]), type_)
        return _bounded([inner(each) for each in value], type_)

    return convert


def _map(type_: Collection) -> Function:
    key, content = (from_python(each) for each in type_.elements)
    freeze = freezing(type_.elements[0])

    def convert(value: Any) -> Any:
        pairs = value.items() if isinstance(value, Mapping) else value
        if not isinstance(value, Mapping | list):
            raise _refuse(value, type_)
        try:
            return _bounded({freeze(key(one)): content(other) for one, other in pairs}, type_)
        except (TypeError, ValueError) as error:
            raise _refuse(value, type_) from error

    return convert


def _bounded(value: Any, type_: Collection) -> Any:
    if type_.bound is not None and len(value) > type_.bound:
        message = f"{len(value)} elements are too many for {type_}"
        raise RunError(message)
    return value


def _simple(type_: Type) -> Function:
    if type_ == BOOLEAN:
        return _checked(type_, lambda value: bool(value) if type(value).__name__ in ("bool", "bool_") else None)
    if isinstance(type_, Primitive) and type_ in INTEGERS:
        low, high = range_of(type_)
        return _checked(type_, lambda value: _integer(value, low, high))
    if isinstance(type_, Primitive) and type_ in FLOATS:
        cut = single if FLOATS[type_] == 32 else same
        return _checked(type_, lambda value: None if isinstance(value, str | bool) else cut(float(value)))
    if type_ == BLOB:
        return _checked(
            type_, lambda value: bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None
        )
    if type_ == TIMESTAMP:
        return _checked(type_, _nanoseconds)
    if isinstance(type_, Enumeration):
        return _checked(type_, lambda value: value if value in type_.words else None)
    if is_string(type_):
        bound = type_.bound if isinstance(type_, BoundedString) else None
        return _checked(type_, lambda value: _string(value, bound))
    message = f"values of type {type_} compile but cannot run (SO0720)"
    raise RunError(message)


def _checked(type_: Type, convert: Function) -> Function:
    def checked(value: Any) -> Any:
        try:
            result = convert(value)
        except (TypeError, ValueError, OverflowError):
            result = None
        if result is None:
            raise _refuse(value, type_)
        return result

    return checked


def _integer(value: Any, low: int, high: int) -> int | None:
    if isinstance(value, bool):
        return None
    number = operator.index(value)
    return number if low <= number <= high else None


def _string(value: Any, bound: int | None) -> str | None:
    if not isinstance(value, str) or (bound is not None and len(value.encode()) > bound):
        return None
    return value if value.isascii() or value.encode() else None


def _nanoseconds(value: Any) -> int | None:
    if not isinstance(value, dt.datetime):
        return None
    import pandas as pd

    stamp = pd.Timestamp(value)
    return int((stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp).as_unit("ns").value)
