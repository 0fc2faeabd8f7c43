"""SPL values at run time, and their defaults, copies, keys and texts by type.

Numbers, booleans, strings, words of enumerations, blobs and null are Python values; a timestamp is its nanoseconds
since 1970. A list is a list, a tuple a dictionary. A set is a dictionary from keys to None, a map a dictionary from
keys to values. A key is the element itself if it can be hashed, else its frozen form.

>>> numbers = Collection("list", (INT32,))
>>> text_function(numbers)([1, 2])
'[1,2]'
>>> freezing(numbers)([1, 2]), thawing(numbers)((1, 2))
((1, 2), [1, 2])
"""

from __future__ import annotations

# pyright: standard
import functools
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.types.text import ValueTextError, text_of, value_of
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    COMPLEX,
    DECIMALS,
    FLOATS,
    INT32,
    INTEGERS,
    TIMESTAMP,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    Type,
    is_string,
)

Function = Callable[[Any], Any]
__all__ = ["INT32", "default_of", "freezing", "plain_function", "text_function", "thawing", "value_function"]


def same(value: Any) -> Any:
    """Return the value unchanged."""
    return value


def nullable(convert: Function) -> Function:
    """Return a function that keeps None, and converts any other value of an optional."""
    return same if convert is same else lambda value: None if value is None else convert(value)


def default_of(type_: Type) -> Any:
    """Return a new default value of a type: null for an optional type, and the first word of an enumeration."""
    match type_:
        case Optional():
            return None
        case Enumeration(words=words):
            return words[0]
        case Tuple(attributes=attributes):
            return {each.name: default_of(each.type) for each in attributes}
        case Collection(kind="list"):
            return []
        case Collection():
            return {}
        case _ if is_string(type_):
            return ""
        case _:
            return _simple_default(type_)


def _simple_default(type_: Type) -> Any:
    if type_ == BOOLEAN:
        return False
    if type_ in FLOATS:
        return 0.0
    if type_ in DECIMALS:
        return Decimal(0)
    if type_ in COMPLEX:
        return 0j
    if type_ == BLOB:
        return b""
    return 0 if type_ in INTEGERS or type_ == TIMESTAMP else ""


@functools.lru_cache(maxsize=1024)
def unequal_to_itself(type_: Type) -> Callable[[Any], bool] | None:
    """Return the test for values that are NaN or hold NaN, so that they do not equal themselves.

    >>> test = unequal_to_itself(Collection("list", (Primitive("float64"),)))
    >>> test([1.0, math.nan]), test([1.0]), unequal_to_itself(INT32)
    (True, False, None)

    None if the type has no such values.
    """
    if type_ in FLOATS:
        return math.isnan
    if type_ in DECIMALS:
        return Decimal.is_nan
    match type_:
        case Optional(content=content):
            inner = unequal_to_itself(content)
            return None if inner is None else lambda value: value is not None and inner(value)
        case Tuple(attributes=attributes):
            tests = [(each.name, test) for each in attributes if (test := unequal_to_itself(each.type)) is not None]
            return (lambda value: any(test(value[name]) for name, test in tests)) if tests else None
        case Collection(kind=kind, elements=elements):
            key, content = unequal_to_itself(elements[0]), unequal_to_itself(elements[-1])
            if kind == "list":
                return None if key is None else lambda value: any(map(key, value))
            thaw = thawing(elements[0])
            of_keys = None if key is None else lambda value: any(key(thaw(each)) for each in value)
            of_map = None if content is None or kind == "set" else lambda value: any(map(content, value.values()))
            found = [test for test in (of_keys, of_map) if test is not None]
            return (lambda value: any(test(value) for test in found)) if found else None
        case _:
            return None


def is_compound(type_: Type) -> bool:
    """Return True if values of a type can be changed in place."""
    return is_compound(type_.content) if isinstance(type_, Optional) else isinstance(type_, Tuple | Collection)


@functools.lru_cache(maxsize=1024)
def copying(type_: Type) -> Function:
    """Return the function that copies values of a type, so that a change of the copy leaves the original unchanged."""
    match type_:
        case Optional(content=content):
            return nullable(copying(content))
        case Tuple(attributes=attributes):
            inner = [(each.name, copying(each.type)) for each in attributes if is_compound(each.type)]
            if not inner:
                return dict
            return lambda value: {**value, **{name: copy(value[name]) for name, copy in inner}}
        case Collection(kind="list", elements=(element,)):
            if not is_compound(element):
                return list
            copy = copying(element)
            return lambda value: [copy(each) for each in value]
        case Collection(kind="map", elements=(_, content)) if is_compound(content):
            copy = copying(content)
            return lambda value: {key: copy(each) for key, each in value.items()}
        case Collection():
            return dict
        case _:
            return same


def is_key(type_: Type) -> bool:
    """Return True if values of a type are their own keys, but for NaN: they can be hashed, and are equal as in SPL."""
    return is_key(type_.content) if isinstance(type_, Optional) else not isinstance(type_, Tuple | Collection)


def _another_nan(value: Any) -> Any:
    """Return NaN as a new object, since Python's dictionaries find NaN by identity; other values are unchanged."""
    if value == value:  # noqa: PLR0124  False for NaN
        return value
    return value.copy_sign(value) if isinstance(value, Decimal) else value + 0.0


@functools.lru_cache(maxsize=1024)
def freezing(type_: Type) -> Function:
    """Return the function that converts values of a type to dictionary keys.

    Equal values have equal keys, whatever the order of elements in sets and maps. The key of a value that is NaN, or
    holds NaN, equals no key, not even another key of the same value.
    """
    if type_ in FLOATS or type_ in DECIMALS:
        return _another_nan
    if isinstance(type_, Optional) and is_key(type_):
        return nullable(freezing(type_.content))
    if is_key(type_):
        return same
    match type_:
        case Optional(content=content):
            return nullable(freezing(content))
        case Tuple(attributes=attributes):
            parts = [(each.name, freezing(each.type)) for each in attributes]
            return lambda value: tuple([freeze(value[name]) for name, freeze in parts])
        case Collection(kind="list", elements=(element,)):
            freeze = freezing(element)
            return tuple if freeze is same else lambda value: tuple(map(freeze, value))
        case Collection(kind="set", elements=(element,)):
            again = refreezing(element)
            return frozenset if again is same else lambda value: frozenset(map(again, value))
        case Collection(kind="map", elements=(key_type, content)):
            again, freeze = refreezing(key_type), freezing(content)
            return lambda value: frozenset([(again(key), freeze(each)) for key, each in value.items()])
    message = f"no key of type {type_}"
    raise AssertionError(message)


@functools.lru_cache(maxsize=1024)
def refreezing(type_: Type) -> Function:
    """Return the function that converts keys of one collection to keys of another; `same` for types without NaN."""
    if unequal_to_itself(type_) is None:
        return same
    freeze, thaw = freezing(type_), thawing(type_)
    return freeze if thaw is same else lambda key: freeze(thaw(key))


def member(container: Type) -> Callable[[Any, Any], bool]:
    """Return the function that implements `in` for a type of container."""
    assert isinstance(container, Collection)
    element = container.elements[0]
    freeze = same if container.kind == "list" else freezing(element)
    differs = unequal_to_itself(element)
    if differs is not None:
        return lambda value, values: freeze(value) in values and not differs(value)
    return lambda value, values: freeze(value) in values


@functools.lru_cache(maxsize=1024)
def thawing(type_: Type) -> Function:
    """Return the function that converts keys back to values, the inverse of `freezing`.

    Keys of sets and maps have no order, so their elements come in the order of their texts.
    """
    if is_key(type_):
        return same
    match type_:
        case Optional(content=content):
            return nullable(thawing(content))
        case Tuple(attributes=attributes):
            parts = [(each.name, thawing(each.type)) for each in attributes]
            return lambda key: {name: thaw(part) for (name, thaw), part in zip(parts, key, strict=True)}
        case Collection(kind="list", elements=(element,)):
            thaw = thawing(element)
            return list if thaw is same else lambda key: list(map(thaw, key))
        case Collection(kind="set"):
            return lambda key: dict.fromkeys(sorted(key, key=repr))
        case Collection(kind="map", elements=(_, content)):
            thaw = thawing(content)
            return lambda key: {each: thaw(value) for each, value in sorted(key, key=repr)}
    message = f"no key of type {type_}"
    raise AssertionError(message)


@functools.lru_cache(maxsize=1024)
def plain_function(type_: Type) -> Function:
    """Return the function that converts values to the form that `types.text` formats.

    In this form a set is a list of its elements, a map a list of pairs, and a decimal a text.
    """
    match type_:
        case Collection(kind="set", elements=(element,)):
            thaw, plain = thawing(element), plain_function(element)
            return lambda value: [plain(thaw(key)) for key in value]
        case Collection(kind="map", elements=(key_type, content)):
            thaw, plain, inner = thawing(key_type), plain_function(key_type), plain_function(content)
            return lambda value: [(plain(thaw(key)), inner(each)) for key, each in value.items()]
        case _:
            return str if type_ in DECIMALS else _by_parts(type_, plain_function)


@functools.lru_cache(maxsize=1024)
def unplain_function(type_: Type) -> Function:
    """Return the function that converts values from the form of `types.text` back, the inverse of `plain_function`."""
    match type_:
        case Collection(kind="set", elements=(element,)):
            freeze, convert = freezing(element), unplain_function(element)
            return lambda value: dict.fromkeys([freeze(convert(each)) for each in value])
        case Collection(kind="map", elements=(key, content)):
            freeze, convert, inner = freezing(key), unplain_function(key), unplain_function(content)
            return lambda value: first_entries((freeze(convert(one)), inner(other)) for one, other in _pairs(value))
        case _:
            return Decimal if type_ in DECIMALS else _by_parts(type_, unplain_function)


def first_entries(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return a map of keys and values. The first one of several values for a key counts, as in IBM Streams.

    >>> first_entries([(1, "a"), (2, "b"), (1, "c")])
    {1: 'a', 2: 'b'}
    """
    entries: dict[Any, Any] = {}
    for key, value in pairs:
        entries.setdefault(key, value)
    return entries


def _by_parts(type_: Type, conversion: Callable[[Type], Function]) -> Function:
    """Return the function that converts the parts of an optional, a tuple or a list; `same` if no part changes."""
    match type_:
        case Optional(content=content):
            return nullable(conversion(content))
        case Tuple(attributes=attributes):
            parts = [(each.name, conversion(each.type)) for each in attributes]
            if all(convert is same for _, convert in parts):
                return same
            return lambda value: {name: convert(value[name]) for name, convert in parts}
        case Collection(kind="list", elements=(element,)):
            convert = conversion(element)
            return same if convert is same else lambda value: [convert(each) for each in value]
        case _:
            return same


def _pairs(value: Any) -> Any:
    return value.items() if isinstance(value, dict) else value


@functools.lru_cache(maxsize=1024)
def text_function(type_: Type) -> Function:
    """Return the function that casts values of a type to rstring."""
    if is_string(type_) or isinstance(type_, Enumeration):
        return same
    if type_ in INTEGERS:
        return str
    if type_ == BOOLEAN:
        return lambda value: "true" if value else "false"
    if isinstance(type_, Primitive) and type_ in FLOATS:
        form = ("%.15g" if FLOATS[type_] == 64 else "%.6g").__mod__
        return lambda value: text_of(value, type_) if math.isnan(value) else form(value)
    plain = plain_function(type_)
    return lambda value: text_of(plain(value), type_)


@functools.lru_cache(maxsize=1024)
def value_function(type_: Type) -> Function:
    """Return the function that casts strings to a type.

    It raises RunError if the whole string is not a value of the type.
    """
    unplain = unplain_function(type_)

    def convert(text: str) -> Any:
        try:
            return unplain(value_of(text, type_))
        except ValueTextError as error:
            raise RunError(str(error)) from None

    return convert
