"""JSON texts of SPL values, as the toolkit com.ibm.streamsx.json writes them.

>>> from streams_orchestration.spl.types.written import type_of_text
>>> json_text(type_of_text("tuple<int32 __type, list<rstring> words>"), "__")({"__type": 1, "words": ["a"]})
'{"type":1,"words":["a"]}'
"""

from __future__ import annotations

# pyright: standard
import json
import math
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.values import thawing
from streams_orchestration.spl.types.types import (
    BOOLEAN,
    DECIMALS,
    FLOATS,
    INTEGERS,
    TIMESTAMP,
    Collection,
    Enumeration,
    Optional,
    Tuple,
    Type,
    is_string,
)

Writer = Callable[[Any], str]
_SECOND = 10**9


def string_in_json(text: str) -> str:
    """Return a string in quotes, with escapes only where JSON needs them."""
    return json.dumps(text, ensure_ascii=False)


def float_in_json(value: float) -> str:
    """Return a number as the shortest text with the same value; null for infinities and NaN."""
    return repr(value) if math.isfinite(value) else "null"


def seconds_in_json(timestamp: int) -> str:
    """Return a timestamp, in nanoseconds since 1970, as the text of its seconds without trailing zeros.

    >>> seconds_in_json(1_500_000_000), seconds_in_json(2_000_000_000)
    ('1.5', '2')
    """
    sign = "-" * (timestamp < 0)
    seconds, nanoseconds = divmod(abs(timestamp), _SECOND)
    return f"{sign}{seconds}.{nanoseconds:09d}".rstrip("0").rstrip(".")


def json_text(type_: Type, prefix: str = "", stamp: Writer = seconds_in_json) -> Writer:
    """Return the function that writes values of a type.

    Blobs, XML, complex numbers, maps whose keys are not strings, infinities and NaN become null.

    Args:
        type_: the type.
        prefix: a beginning that attributes lose in the text.
        stamp: writes a timestamp.
    """
    match type_:
        case Optional(content=content):
            write = json_text(content, prefix, stamp)
            return lambda value: "null" if value is None else write(value)
        case Tuple(attributes=attributes):
            parts = [
                (each.name, string_in_json(each.name.removeprefix(prefix)), json_text(each.type, prefix, stamp))
                for each in attributes
            ]
            return lambda value: f"{{{','.join([f'{shown}:{write(value[name])}' for name, shown, write in parts])}}}"
        case Collection(kind="map", elements=(key, content)):
            if not is_string(key):
                return lambda _: "null"
            write = json_text(content, prefix, stamp)
            return lambda value: (
                f"{{{','.join([f'{string_in_json(one)}:{write(other)}' for one, other in value.items()])}}}"
            )
        case Collection(kind=kind, elements=(element,)):
            write, thaw = json_text(element, prefix, stamp), thawing(element)
            if kind == "list":
                return lambda value: f"[{','.join(map(write, value))}]"
            return lambda value: f"[{','.join([write(thaw(each)) for each in value])}]"
        case _:
            return _simple(type_, stamp)


def _simple(type_: Type, stamp: Writer) -> Writer:
    if is_string(type_) or isinstance(type_, Enumeration):
        return string_in_json
    if type_ == BOOLEAN:
        return lambda value: "true" if value else "false"
    if type_ in INTEGERS:
        return str
    if type_ in FLOATS:
        return float_in_json
    if type_ in DECIMALS:
        return lambda value: str(value) if value.is_finite() else "null"
    return stamp if type_ == TIMESTAMP else lambda _: "null"
