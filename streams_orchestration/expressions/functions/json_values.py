"""JSON texts as Spark reads them: the first value of a text, and values of a type.

A text may use single quotes, and may continue after its first value. If a part does not fit its type, then a struct
with this part gets a null field, but an array or a map with this part becomes null as a whole.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, cast

from streams_orchestration.expressions.conversion import converter
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.maps import map_from
from streams_orchestration.expressions.times import read_date, read_timestamp
from streams_orchestration.expressions.types import INTEGRAL_RANGES, STRING, Type
from streams_orchestration.expressions.value_texts import single, write_floating

INVALID_JSON = object()
"""A value that represents invalid JSON, since None represents null."""
_PARTS = re.compile(
    r"\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<infinite>[-+]INF\b|\+Infinity\b)", re.DOTALL
)
"""Matches strings, and the infinite numbers (outside of strings) that Python's parser does not know."""
_UNUSUAL = re.compile(r"[-+]INF|\+Inf")
_FLOATING = ("NaN", "Infinity", "+Infinity", "-Infinity", "+INF", "-INF")
"""Texts that are accepted as values of floating-point types."""
_DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_ESCAPE = re.compile(r"\\(.)|\"", re.DOTALL)
_BLANK = " \t\r\n"
_INVISIBLE = "".join(map(chr, range(33)))


class JsonNumber(str):
    """A number as its text, so that no digit is lost."""

    __slots__ = ()


class Unfit(Exception):  # noqa: N818  # no error: it becomes null
    """A JSON value does not fit the expected type.

    Attributes:
        partial: the array, map or struct, with null for the unfit fields of structs in it; `INVALID_JSON` if the whole
            value is unfit.
    """

    def __init__(self, partial: Any = INVALID_JSON) -> None:
        super().__init__()
        self.partial = partial


def parsed(text: str) -> Any:
    """Parse the first value of a text into lists, dicts and `JsonNumber`; return `INVALID_JSON` if there is none.

    Strings may contain control characters. If an object has a name twice, its first value is used.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_firsts,
        parse_float=JsonNumber,
        parse_int=_whole_number,
        parse_constant=_refused,
        strict=False,
    )
    return _decoded(text, decoder)


def _firsts(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        values.setdefault(name, value)
    return values


def _decoded(text: str, decoder: json.JSONDecoder) -> Any:
    if "'" in text or _UNUSUAL.search(text):
        text = _plain(text)
    text = text.lstrip(_BLANK)
    try:
        value, end = decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return INVALID_JSON
    return INVALID_JSON if isinstance(value, JsonNumber) and text[end : end + 1].strip(_BLANK) else value


def _whole_number(text: str) -> JsonNumber:
    return JsonNumber("0" if text == "-0" else text)


def _refused(name: str) -> Any:
    raise ValueError(name)


def _plain(text: str) -> str:
    """Return the JSON text with strings in double quotes, and with infinite numbers as Python writes them."""

    def escape(match: re.Match[str]) -> str:
        return "'" if match[1] == "'" else '\\"' if match[0] == '"' else match[0]

    def quoted(match: re.Match[str]) -> str:
        if match["infinite"] is not None:
            return match["infinite"][:1].strip("+") + "Infinity"
        body = match["single"] if match["double"] is None else match["double"]
        return f'"{_ESCAPE.sub(escape, body)}"'

    return _PARTS.sub(quoted, text)


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of pairs, in which a name may occur twice."""


def reader(kind: Type, zone: dt.tzinfo) -> Callable[[str], Any]:
    """Return the function that parses a text as an array, a map or a struct, as `from_json` does.

    A text that does not fit gives null, or a struct of nulls; a text of blanks gives null. An object is also an array
    of one struct. A key of a map that does not fit its type raises EvaluationError.
    """
    read = _reader(kind, zone)
    missing = (None,) * len(kind.parts) if kind.name == "struct" else None
    decoder = json.JSONDecoder(
        object_pairs_hook=_Pairs, parse_float=JsonNumber, parse_int=_whole_number, parse_constant=JsonNumber
    )
    in_array = kind.name == "array" and kind.parts[0].name == "struct"

    def convert(text: str) -> Any:
        if not text.strip(_INVISIBLE):
            return None
        value = _decoded(text, decoder)
        if in_array and isinstance(value, _Pairs):
            value = [value]
        if value is INVALID_JSON or value is None:
            return missing
        try:
            return read(value)
        except Unfit as unfit:
            return missing if unfit.partial is INVALID_JSON else unfit.partial

    return convert


def _reader(kind: Type, zone: dt.tzinfo) -> Callable[[Any], Any]:
    """Return the function that converts a parsed value other than null to a type.

    The function raises Unfit, or EvaluationError for the key of a map.
    """
    parts = [_reader(part, zone) for part in kind.parts]
    match kind.name:
        case "array":
            return lambda value: _array(parts[0], value)
        case "map":
            key = converter(STRING, kind.parts[0], zone)
            return lambda value: _map(key, parts[1], value)
        case "struct":
            readers = dict(zip(kind.fields, parts, strict=True))
            return lambda value: _struct(readers, value)
        case _:
            return lambda value: _simple(value, kind, zone)


def _taken(read: Callable[[Any], Any], value: Any) -> tuple[Any, bool]:
    """Convert a value with `read`; return the result, and True if all parts of the value fit the type.

    Raise Unfit if the whole value does not fit.
    """
    if value is None:
        return None, True
    try:
        return read(value), True
    except Unfit as unfit:
        if unfit.partial is INVALID_JSON:
            raise
        return unfit.partial, False


def _whole(value: Any, fits: Iterable[bool]) -> Any:
    if not all(fits):
        raise Unfit(value)
    return value


def _array(read: Callable[[Any], Any], value: Any) -> Any:
    if not isinstance(value, list) or isinstance(value, _Pairs):
        raise Unfit
    taken = [_taken(read, each) for each in value]
    return _whole(tuple(each for each, _ in taken), (fits for _, fits in taken))


def _map(key: Callable[[Any], Any], read: Callable[[Any], Any], value: Any) -> Any:
    if not isinstance(value, _Pairs):
        raise Unfit
    taken = [(key(name), *_taken(read, each)) for name, each in value]
    return _whole(map_from((name, each) for name, each, _ in taken), (fits for _, _, fits in taken))


def _struct(readers: dict[str, Callable[[Any], Any]], value: Any) -> Any:
    if not isinstance(value, _Pairs):
        raise Unfit
    fields, fits = dict[str, Any].fromkeys(readers), list[bool]()
    for name, each in value:
        if name in readers:
            try:
                fields[name], whole = _taken(readers[name], each)
                fits.append(whole)
            except Unfit:
                fits.append(False)
    return _whole(tuple(fields.values()), fits)


def _simple(value: Any, kind: Type, zone: dt.tzinfo) -> Any:
    try:
        read = _read(value, kind, zone)
    except (EvaluationError, decimal.InvalidOperation, ValueError) as error:
        raise Unfit from error
    if read is None:
        raise Unfit
    return read


def _read(value: Any, kind: Type, zone: dt.tzinfo) -> Any:
    """Convert a value to a scalar type; return None if it does not fit."""
    number = isinstance(value, JsonNumber)
    match kind.name:
        case "string":
            return str(value) if isinstance(value, str) and not number else json_text(value)
        case "boolean":
            return value if isinstance(value, bool) else None
        case "float" | "double":
            if not number and value not in _FLOATING:
                return None
            read = float(value)
            return single(read) if kind.name == "float" else read
        case "decimal":
            text = value.replace(",", "") if isinstance(value, str) else ""
            return converter(STRING, kind, zone)(text) if _DECIMAL.fullmatch(text) else None
        case "date":
            return _date(value) if isinstance(value, str) and not number else None
        case "timestamp" | "timestamp_ntz":
            if number and kind.name == "timestamp":
                return _seconds(value)
            plain = isinstance(value, str) and not number
            return read_timestamp(value, zone if kind.name == "timestamp" else None) if plain else None
        case _ if kind.is_integral:
            low, high = INTEGRAL_RANGES[kind.name]
            whole = int(value) if number and re.fullmatch(r"-?\d+", value) else None
            return whole if whole is not None and low <= whole <= high else None
        case _:
            return None


def _seconds(text: str) -> int | None:
    """Return the timestamp in microseconds of a text of whole seconds.

    The result is None if the timestamp is out of range, where Spark wraps around.
    """
    micros = int(text) * 1_000_000 if re.fullmatch(r"-?[0-9]+", text) else None
    low, high = INTEGRAL_RANGES["bigint"]
    return micros if micros is not None and low <= micros <= high else None


def _date(text: str) -> int | None:
    """Parse a date; a text of digits counts as days since 1970 if they are an int, as Spark 1.5 wrote dates.

    None if the text is neither.
    """
    days = read_date(text)
    if days is not None or not re.fullmatch(r"[+-]?[0-9]{1,10}", text):
        return days
    low, high = INTEGRAL_RANGES["int"]
    return int(text) if low <= int(text) <= high else None


def json_text(value: Any) -> str:
    """Return a parsed value as JSON without blanks."""
    match value:
        case JsonNumber():
            return _number(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bool() | None:
            return json.dumps(value)
        case _Pairs():
            return _object(value)
        case list():
            return f"[{','.join(map(json_text, cast('list[Any]', value)))}]"
        case dict():
            return _object(cast("dict[str, Any]", value).items())
        case _:
            raise AssertionError(value)


def _object(pairs: Iterable[tuple[str, Any]]) -> str:
    return f"{{{','.join(f'{json.dumps(name, ensure_ascii=False)}:{json_text(value)}' for name, value in pairs)}}}"


def _number(text: str) -> str:
    """Write a JSON number: whole numbers unchanged, others as Java writes doubles, NaN and infinities in quotes."""
    if re.fullmatch(r"-?\d+", text):
        return text
    written = write_floating(float(text), Type("double"))
    return written if math.isfinite(float(text)) else f'"{written}"'
