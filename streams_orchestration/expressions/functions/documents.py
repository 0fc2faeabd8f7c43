"""Functions of JSON texts."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from typing import Any

from streams_orchestration.expressions.datetime_patterns import pattern_of
from streams_orchestration.expressions.errors import MisfitError
from streams_orchestration.expressions.functions.json_paths import found, steps_of
from streams_orchestration.expressions.functions.json_values import INVALID_JSON, parsed, reader
from streams_orchestration.expressions.table import (
    Binding,
    FunctionGroup,
    Operand,
    Resolved,
    TupleFunction,
    with_timestamps,
)
from streams_orchestration.expressions.types import STRING, VOID, Type, parse_type, struct_of
from streams_orchestration.expressions.value_texts import writer
from streams_orchestration.model.schema import parse_schema

DOCUMENTS = FunctionGroup("JSON")


@DOCUMENTS.function(
    "get_json_object(json string, path string) -> string",
    summary="Return the part of a JSON text that a path such as `$.a.b[0]` leads to; null if it does not exist.",
    examples=[("get_json_object('{\"a\": {\"b\": [1, 2]}}', '$.a.b[1]')", "2")],
    exact=True,
)
def _get_json_object(text: str, path: str) -> str | None:
    value, steps = parsed(text), steps_of(path)
    return None if value is INVALID_JSON or steps is None else found(value, steps)


@DOCUMENTS.function(
    "json_array_length(json string) -> int",
    summary="Count the elements of a JSON array; null if the text is not an array.",
    examples=[("json_array_length('[1, 2]')", "2")],
    exact=True,
)
def _json_array_length(text: str) -> int | None:
    value = parsed(text)
    return len(value) if isinstance(value, list) else None


@DOCUMENTS.function(
    "json_object_keys(json string) -> array<string>",
    summary="Return the outermost keys of a JSON object; null if the text is not an object.",
    examples=[('json_object_keys(\'{"a": 1, "b": 2}\')', "[a, b]")],
    exact=True,
)
def _json_object_keys(text: str) -> tuple[str, ...] | None:
    value = parsed(text)
    return tuple(value) if isinstance(value, dict) else None


def _nested(operands: Sequence[Operand]) -> Resolved | None:
    return Resolved((operands[0].type,), STRING) if len(operands) == 1 and operands[0].type.is_nested else None


@DOCUMENTS.bound(
    summary="Write an array, map or struct as JSON; fields that are null are left out.",
    examples=[("to_json(named_struct('a', 1, 'b', NULL))", '{"a":1}')],
    resolver=_nested,
    name="to_json",
    zoned=with_timestamps,
)
def _to_json(binding: Binding) -> TupleFunction:
    return json_writer(binding.arguments[0], binding.zone)


def json_writer(kind: Type, zone: dt.tzinfo) -> Callable[[Any], str]:
    """Return the function that writes a value of a type as JSON.

    Fields of structs that are null are left out. Values other than numbers and booleans, and NaN and infinities, are
    texts.
    """
    text = writer(kind, zone)
    if kind.name == "array":
        each = _nullable(json_writer(kind.parts[0], zone))
        return lambda values: f"[{','.join(map(each, values))}]"
    if kind.name == "map":
        key = writer(kind.parts[0], zone)
        item = _nullable(json_writer(kind.parts[1], zone))
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
        message = f"{text!r} is not a type: {schema.errors[0]}"
        raise MisfitError(message) from None


@DOCUMENTS.bound(
    summary=(
        "Parse a JSON text as a type, which is a constant text such as 'a int, b string'. A field that "
        "does not fit is null; an array or a map with a part that does not fit is null as a whole."
    ),
    examples=[("from_json('{\"a\": 1}', 'a int').a", "1")],
    resolver=_described,
    name="from_json",
    zoned=with_timestamps,
    fails=True,
)
def _from_json(binding: Binding) -> TupleFunction:
    read = reader(binding.result, binding.zone)
    return lambda text, _type: read(text)
