"""Functions of JSON texts."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.expressions.conversion import converter, single, write_floating, writer
from streams_orchestration.expressions.datetime_patterns import pattern_of
from streams_orchestration.expressions.errors import EvaluationError, MisfitError
from streams_orchestration.expressions.table import Binding, Group, Operand, Resolved, Row, with_timestamps
from streams_orchestration.expressions.times import read_date, read_timestamp
from streams_orchestration.expressions.types import INTEGRAL_RANGES, STRING, VOID, Type, parse_type, struct_of
from streams_orchestration.model.schema import parse_schema

DOCUMENTS = Group("JSON")

_STEP = re.compile(r"\.(\*|[^.\[]+)|\[(?:(\d+)|(\*)|'([^']*)')\]")
_NOTHING = object()


class _Number(str):
    """A number as it is written, so that no digit is lost."""

    __slots__ = ()


def _parsed(text: str) -> Any:
    """Return a JSON text as lists, dicts and `_Number`; `_NOTHING` if it is none."""
    try:
        return json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_refused)
    except (ValueError, RecursionError):
        return _NOTHING


def _refused(name: str) -> Any:
    raise ValueError(name)


def _steps(path: str) -> list[str | int] | None:
    """Return the steps of a path such as `$.a.b[0]`; None if it is no path."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return None
        name, index, every, quoted = match.groups()
        steps.append(int(index) if index is not None else "*" if every else quoted if quoted is not None else name)
        position = match.end()
    return steps


def _found(value: Any, steps: Sequence[str | int]) -> list[Any]:
    """Return the values that steps lead to."""
    if not steps:
        return [value]
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        return _found(value[step], rest) if isinstance(value, list) and step < len(value) else []
    if step == "*":
        inner = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
        return [each for part in inner for each in _found(part, rest)]
    if isinstance(value, dict):
        return _found(value[step], rest) if step in value else []
    if isinstance(value, list):
        return [each for part in value if isinstance(part, dict) for each in _found(part, steps)]
    return []


def _json(value: Any) -> str:
    """Return a parsed value as JSON without blanks."""
    match value:
        case _Number():
            return _number(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bool() | None:
            return json.dumps(value)
        case list():
            return f"[{','.join(map(_json, value))}]"
        case dict():
            return (
                f"{{{','.join(f'{json.dumps(key, ensure_ascii=False)}:{_json(item)}' for key, item in value.items())}}}"
            )
        case _:
            raise AssertionError(value)


def _number(text: str) -> str:
    """Return a number as Java writes a double, if it is no whole one."""
    return text if re.fullmatch(r"-?\d+", text) else write_floating(float(text), Type("double"))


@DOCUMENTS.function(
    "get_json_object(json string, path string) -> string",
    summary="What a path such as `$.a.b[0]` finds in a JSON text; null if it finds nothing.",
    examples=[("get_json_object('{\"a\": {\"b\": [1, 2]}}', '$.a.b[1]')", "2")],
    exact=True,
)
def _get_json_object(text: str, path: str) -> str | None:
    value, steps = _parsed(text), _steps(path)
    if value is _NOTHING or steps is None:
        return None
    found = _found(value, steps)
    if not found or (len(found) == 1 and found[0] is None):
        return None
    if len(found) > 1:
        return f"[{','.join(map(_json, found))}]"
    one = found[0]
    return str(one) if isinstance(one, str) and not isinstance(one, _Number) else _json(one)


@DOCUMENTS.function(
    "json_array_length(json string) -> int",
    summary="How many elements the array of a JSON text has; null if it is none.",
    examples=[("json_array_length('[1, 2]')", "2")],
    exact=True,
)
def _json_array_length(text: str) -> int | None:
    value = _parsed(text)
    return len(value) if isinstance(value, list) else None


@DOCUMENTS.function(
    "json_object_keys(json string) -> array<string>",
    summary="The outermost keys of a JSON text; null if it is no object.",
    examples=[('json_object_keys(\'{"a": 1, "b": 2}\')', "[a, b]")],
    exact=True,
)
def _json_object_keys(text: str) -> tuple[str, ...] | None:
    value = _parsed(text)
    return tuple(value) if isinstance(value, dict) else None


def _nested(operands: Sequence[Operand]) -> Resolved | None:
    return Resolved((operands[0].type,), STRING) if len(operands) == 1 and operands[0].type.is_nested else None


@DOCUMENTS.bound(
    summary="An array, map or struct as JSON; fields that are null are left out.",
    examples=[("to_json(named_struct('a', 1, 'b', NULL))", '{"a":1}')],
    resolver=_nested,
    name="to_json",
    zoned=with_timestamps,
)
def _to_json(binding: Binding) -> Row:
    return json_writer(binding.arguments[0], binding.zone)


def json_writer(kind: Type, zone: dt.tzinfo) -> Callable[[Any], str]:
    """Return the function that writes a value of a type as JSON."""
    text = writer(kind, zone)
    if kind.name == "array":
        each = _nullable(json_writer(kind.parts[0], zone))
        return lambda values: f"[{','.join(map(each, values))}]"
    if kind.name == "map":
        key, item = writer(kind.parts[0], zone), _nullable(json_writer(kind.parts[1], zone))
        return lambda values: (
            f"{{{','.join(f'{json.dumps(key(k), ensure_ascii=False)}:{item(v)}' for k, v in values.items())}}}"
        )
    if kind.name == "struct":
        writers = [
            (json.dumps(name, ensure_ascii=False), json_writer(part, zone))
            for name, part in zip(kind.fields, kind.parts, strict=True)
        ]
        return lambda values: (
            f"{{{','.join(f'{n}:{w(v)}' for (n, w), v in zip(writers, values, strict=True) if v is not None)}}}"
        )
    if kind.name in ("timestamp", "timestamp_ntz"):
        zoned = kind.name == "timestamp"
        pattern = pattern_of("yyyy-MM-dd'T'HH:mm:ss.SSS" + ("XXXXX" if zoned else ""))
        return lambda value: f'"{pattern.write(value, zone if zoned else None)}"'
    if kind.is_fractional:
        return lambda value: text(value) if text(value)[-1].isdigit() else f'"{text(value)}"'
    if kind.is_numeric or kind.name == "boolean":
        return text
    return lambda value: json.dumps(text(value), ensure_ascii=False)


def _nullable(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "null" if value is None else write(value)


def _described(operands: Sequence[Operand]) -> Resolved | None:
    if len(operands) != 2 or operands[0].type not in (STRING, VOID):
        return None
    text = None if operands[1].constant is None else operands[1].constant[0]
    if not isinstance(text, str):
        message = "the type must be a constant text, such as 'a int, b string'"
        raise MisfitError(message)
    schema = parse_schema(text)
    if not schema.errors:
        parts = tuple(parse_type(each.type) for each in schema.attributes)
        return Resolved((STRING, STRING), struct_of(schema.names, parts))
    try:
        return Resolved((STRING, STRING), parse_type(text))
    except ValueError:
        message = f"{text!r} is no type: {schema.errors[0]}"
        raise MisfitError(message) from None


@DOCUMENTS.bound(
    summary="The value of a JSON text, whose type is a constant text such as 'a int, b string'; a part that does not "
    "fit is null.",
    examples=[("from_json('{\"a\": 1}', 'a int').a", "1")],
    resolver=_described,
    name="from_json",
    zoned=with_timestamps,
)
def _from_json(binding: Binding) -> Row:
    read, kind = _json_reader(binding.result, binding.zone), binding.result

    def row(text: str, _type: str) -> Any:
        value = _parsed(text)
        if kind.name == "struct":
            if isinstance(value, list):
                value = value[0] if value else {}
            return (None,) * len(kind.parts) if not isinstance(value, dict) else read(value)
        return None if value is _NOTHING else read(value)

    return row


def _json_reader(kind: Type, zone: dt.tzinfo) -> Callable[[Any], Any]:
    """Return the function from a parsed value to one of a type; null where it does not fit."""
    parts = [_json_reader(part, zone) for part in kind.parts]
    if kind.name == "array":
        return lambda value: tuple(map(parts[0], value)) if isinstance(value, list) else None
    if kind.name == "map":
        key = converter(STRING, kind.parts[0], zone)
        return lambda value: {key(k): parts[1](v) for k, v in value.items()} if isinstance(value, dict) else None
    if kind.name == "struct":
        names = kind.fields
        return lambda value: (
            tuple(read(value.get(name)) for name, read in zip(names, parts, strict=True))
            if isinstance(value, dict)
            else None
        )
    return lambda value: None if value is None else _simple(value, kind, zone)


def _simple(value: Any, kind: Type, zone: dt.tzinfo) -> Any:
    number = isinstance(value, _Number)
    try:
        match kind.name:
            case "string":
                return str(value) if isinstance(value, str) else _json(value)
            case "boolean":
                return value if isinstance(value, bool) else None
            case "float" | "double":
                if not number and value not in ("NaN", "Infinity", "-Infinity", "INF", "-INF", "+INF"):
                    return None
                read = float(value) if value not in ("INF", "-INF", "+INF") else float(value + "INITY")
                return single(read) if kind.name == "float" else read
            case "decimal":
                return converter(STRING, kind, zone)(str(value)) if isinstance(value, str) else None
            case "date":
                return read_date(value) if isinstance(value, str) and not number else None
            case "timestamp" | "timestamp_ntz":
                plain = isinstance(value, str) and not number
                return read_timestamp(value, zone if kind.name == "timestamp" else None) if plain else None
            case _ if kind.is_integral:
                low, high = INTEGRAL_RANGES[kind.name]
                whole = int(value) if number and re.fullmatch(r"-?\d+", value) else None
                return whole if whole is not None and low <= whole <= high else None
            case _:
                return None
    except (EvaluationError, decimal.InvalidOperation):
        return None
