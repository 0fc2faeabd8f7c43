"""SPL values of JSON, as the operator JSONToTuple and the function extractFromJSON read them.

The operator converts texts and numbers into one another and fails for what it cannot convert. The function changes a
tuple wherever the JSON has a value of a suitable kind, and leaves the rest.

>>> from streams_orchestration.spl.types.written import type_of_text
>>> type_ = type_of_text("tuple<int32 n, list<rstring> words>")
>>> read_tuple(type_)({"n": "5", "words": [1.5, None], "x": 0})
{'n': 5, 'words': ['1.5']}
>>> extracted(type_)({"n": 1, "words": ["a"]}, {"n": "5", "words": ["b", 2]})
{'n': 1, 'words': ['a', 'b']}
"""

from __future__ import annotations

# pyright: standard
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.json_texts import float_in_json
from streams_orchestration.spl.programs.library.spl_string import cut
from streams_orchestration.spl.programs.library.spl_time import checked
from streams_orchestration.spl.programs.values import copying, default_of, freezing
from streams_orchestration.spl.programs.wrapping import context_of, wrapper
from streams_orchestration.spl.types.literals import single
from streams_orchestration.spl.types.types import (
    BOOLEAN,
    DECIMALS,
    FLOATS,
    INTEGERS,
    TIMESTAMP,
    BoundedString,
    Collection,
    Optional,
    Primitive,
    Tuple,
    Type,
    is_string,
    range_of,
)

Reader = Callable[[Any], Any]
ABSENT = object()
"""The result of a reader for JSON that gives an attribute no value."""


def parse_json(text: str, *, whole: bool = True) -> Any:
    """Parse JSON.

    Of equal keys in an object the last counts. If `whole` is false, the first counts, and text after the first value is
    left out.

    Raises:
        json.JSONDecodeError: the text is not JSON, is nested too deeply, has half of a surrogate pair, or an integer
            that is too large for a float64; with `whole` false also another number that is too large.
    """
    begin = len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = (_WHOLE if whole else _BEGINNING).raw_decode(text, begin)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise json.JSONDecodeError(HALF_PAIR, text, 0) from None
    except RecursionError:
        raise json.JSONDecodeError(TOO_DEEP, text, 0) from None
    if whole and text[end:].strip(_BLANKS):
        raise json.JSONDecodeError("Extra data", text, end)  # noqa: EM101 - the message of the library
    return value


def _no_constant(word: str) -> Any:
    raise json.JSONDecodeError("Expecting value", word, 0)  # noqa: EM101 - the message of the library


def _integer(digits: str) -> int:
    if len(digits) > _SURELY_FINITE:
        _finite(digits)
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise json.JSONDecodeError(TOO_BIG, digits, 0)
    return value


TOO_BIG, TOO_DEEP, HALF_PAIR = "Number too big", "Nested too deeply", "Half of a surrogate pair"
"""The messages about JSON that Python's parser takes or cannot take."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURELY_FINITE = 308
"""A number of digits with which an integer fits a float64."""
_BLANKS = " \t\n\r"
_WHOLE = json.JSONDecoder(parse_int=_integer, parse_constant=_no_constant)
_BEGINNING = json.JSONDecoder(
    parse_int=_integer,
    parse_float=_finite,
    parse_constant=_no_constant,
    object_pairs_hook=lambda pairs: dict(reversed(pairs)),
)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return float_in_json(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# --- JSONToTuple


def read_tuple(type_: Tuple, prefix: str = "") -> Reader:
    """Return the function from a JSON object to the values of the attributes that it has.

    A null counts as missing, and so does an attribute of a type that is not read from JSON; the caller adds defaults.
    The function raises RunError for JSON that is not an object, or that cannot be converted.

    Args:
        type_: the tuple type.
        prefix: a beginning of attributes that names in JSON lack.
    """
    parts = [(each.name, each.name.removeprefix(prefix), read_value(each.type, prefix)) for each in type_.attributes]

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _misfit(value, "an object")
        found = {}
        for name, key, convert in parts:
            if value.get(key) is not None and (converted := convert(value[key])) is not ABSENT:
                found[name] = converted
        return found

    return read


def read_value(type_: Type, prefix: str) -> Reader:
    """Return the function from a JSON value other than null to a value of a type.

    Blobs, maps, enumerations, XML and complex numbers are `ABSENT`, as the toolkit does not read them. Timestamps are
    seconds in JSON. Null elements are dropped, except from a list of optional values. The function raises RunError for
    JSON that cannot be converted.
    """
    match type_:
        case Optional(content=content):
            return read_value(content, prefix)
        case Tuple():
            read, default = read_tuple(type_, prefix), default_of(type_)
            copy = copying(type_)
            return lambda value: {**copy(default), **read(value)}
        case Collection(kind="map"):
            return lambda _: ABSENT
        case Collection():
            return _read_elements(type_, prefix)
        case _:
            return _read_simple(type_)


def _read_elements(type_: Collection, prefix: str) -> Reader:
    element = type_.elements[0]
    read, freeze = read_value(element, prefix), freezing(element)
    keeps_null = type_.kind == "list" and isinstance(element, Optional)

    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            raise _misfit(value, "an array")
        found = [None if each is None else read(each) for each in value if each is not None or keeps_null]
        if ABSENT in found:
            message = f"elements of type {element} cannot be read from JSON"
            raise RunError(message)
        if type_.bound is not None and len(found) > type_.bound:
            message = f"{len(found)} elements are too many for {type_}"
            raise RunError(message)
        return found if type_.kind == "list" else dict.fromkeys(map(freeze, found))

    return convert


def _read_simple(type_: Type) -> Reader:
    if type_ == BOOLEAN:
        return lambda value: value if isinstance(value, bool) else _text(value).lower() == "true"
    if isinstance(type_, Primitive) and type_ in INTEGERS:
        return _read_integer(type_)
    if type_ in FLOATS:
        cut_ = single if FLOATS[type_] == 32 else float
        return lambda value: cut_(_number(value, float, 0.0))
    if type_ in DECIMALS:
        plus = context_of(type_).plus
        return lambda value: plus(_number(_text(value), Decimal, Decimal(0)))
    if type_ == TIMESTAMP:
        return _read_timestamp
    if is_string(type_):
        return _bounded(type_, _text)
    return lambda _: ABSENT


def _read_timestamp(value: Any) -> int:
    seconds = _number(_text(value), Decimal, Decimal(0))
    if not seconds.is_finite() or not -_MOST_SECONDS < seconds < _MOST_SECONDS:
        raise _misfit(value, "a timestamp")
    return checked(int(seconds * 10**9))


_MOST_SECONDS = 10**11
"""More than the seconds of any timestamp."""


def _read_integer(type_: Primitive) -> Reader:
    wrap, (low, high) = wrapper(type_), range_of(type_)

    def convert(value: Any) -> int:
        if is_number(value) and math.isfinite(value):
            return wrap(int(value))
        if isinstance(value, float):
            raise _misfit(value, str(type_))
        number = _number(value, int, 0)
        if not low <= number <= high:
            raise _misfit(value, str(type_))
        return number

    return convert


def _number(value: Any, convert: Callable[[Any], Any], empty: Any) -> Any:
    """Convert a number or the text of one; the empty text is `empty`. Raise RunError for anything else."""
    if isinstance(value, str | float | int) and not isinstance(value, bool):
        try:
            return empty if value == "" else convert(value)
        except (ValueError, InvalidOperation):
            pass
    raise _misfit(value, "a number")


def _bounded(type_: Type, convert: Reader) -> Reader:
    return (lambda value: cut(convert(value), type_.bound)) if isinstance(type_, BoundedString) else convert


def _misfit(value: Any, wanted: str) -> RunError:
    return RunError(f"{_text(value):.60} is not {wanted}")


# --- extractFromJSON


def extracted(type_: Tuple) -> Callable[[dict[str, Any], Any], dict[str, Any]]:
    """Return the function from a tuple and a JSON value to the tuple with the attributes that the JSON has.

    Lists, sets and maps keep their elements and get the JSON's elements, too; a map keeps the values of its own keys.
    JSON of an unsuitable kind changes nothing, and null sets only optional attributes.
    """
    parts = {each.name: _part(each.type) for each in type_.attributes}

    def change(value: dict[str, Any], found: Any) -> dict[str, Any]:
        changed = dict(value)
        for name, each in found.items() if isinstance(found, dict) else ():
            if name in parts:
                changed[name] = parts[name](changed[name], each)
        return changed

    return change


Change = Callable[[Any, Any], Any]
"""A function from a value and JSON to the new value."""


def _part(type_: Type) -> Change:
    match type_:
        case Optional(content=content):
            change = _part(content)
            if isinstance(content, Tuple | Collection):
                return lambda value, found: (
                    None if found is None else change(default_of(content) if value is None else value, found)
                )
            suits = _simple(content)
            return lambda value, found: None if found is None else (value if (new := suits(found)) is ABSENT else new)
        case Tuple():
            return _with_object(extracted(type_))
        case Collection(kind="map", elements=(key, content)) if is_string(key):
            return _with_object(_entries(_element(content)))
        case Collection(kind="list", elements=(element,)):
            return _elements(_element(element))
        case Collection(kind="set", elements=(element,)):
            return _members(_element(element))
        case _:
            suits = _simple(type_)
            return lambda value, found: value if (new := suits(found)) is ABSENT else new


def _with_object(change: Change) -> Change:
    return lambda value, found: change(value, found) if isinstance(found, dict) else value


def _element(type_: Type) -> Reader:
    """Return the function from JSON to an element of a collection; other collections are not elements."""
    content = type_.content if isinstance(type_, Optional) else type_
    none = None if isinstance(type_, Optional) else ABSENT
    if isinstance(content, Tuple):
        change = extracted(content)
        return lambda found: (
            none if found is None else change(default_of(content), found) if isinstance(found, dict) else ABSENT
        )
    suits = _simple(content)
    return lambda found: none if found is None else suits(found)


def _entries(read: Reader) -> Change:
    def change(value: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
        new = {key: read(each) for key, each in found.items() if key not in value}
        return {**value, **{key: each for key, each in new.items() if each is not ABSENT}}

    return change


def _elements(read: Reader) -> Change:
    def change(value: list[Any], found: Any) -> list[Any]:
        new = map(read, found) if isinstance(found, list) else ()
        return [*value, *(each for each in new if each is not ABSENT)]

    return change


def _members(read: Reader) -> Change:
    def change(value: dict[Any, None], found: Any) -> dict[Any, None]:
        new = map(read, found) if isinstance(found, list) else ()
        return {**value, **dict.fromkeys(each for each in new if each not in (ABSENT, None) and is_hashable(each))}

    return change


def is_hashable(value: Any) -> bool:
    """Return True for a value that can be a key; sets of tuples get no elements from JSON."""
    return not isinstance(value, dict | list)


def _simple(type_: Type) -> Reader:
    """Return the function from JSON to a boolean, integer, float or string; `ABSENT` for JSON of another kind.

    It is `ABSENT` for every other type as well.
    """
    if type_ == BOOLEAN:
        return lambda found: found if isinstance(found, bool) else ABSENT
    if type_ in INTEGERS or type_ in FLOATS:
        convert = json_number(type_)
        return lambda found: convert(found) if is_number(found) else ABSENT
    if is_string(type_):
        take = _bounded(type_, str)
        return lambda found: take(found) if isinstance(found, str) else ABSENT
    return lambda _: ABSENT


def is_number(found: Any) -> bool:
    """Return True for a number of JSON."""
    return isinstance(found, int | float) and not isinstance(found, bool)


def json_number(type_: Type) -> Reader:
    """Return the function from a number of JSON to an integer, a float or a decimal.

    Integers are cut to their bits, and an infinity or NaN is the integer 0.
    """
    if type_ in INTEGERS:
        wrap = wrapper(type_)
        return lambda found: wrap(int(found)) if math.isfinite(found) else 0
    if type_ in DECIMALS:
        plus = context_of(type_).plus
        return lambda found: plus(Decimal(_text(found) if math.isfinite(found) else found))
    return single if type_ == Primitive("float32") else float
