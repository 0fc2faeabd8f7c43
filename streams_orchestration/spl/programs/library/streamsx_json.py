"""The native functions of the toolkit com.ibm.streamsx.json: texts of values, extraction, queries of parsed JSON."""

from __future__ import annotations

# pyright: standard
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.json_texts import json_text, string_in_json
from streams_orchestration.spl.programs.library.json_values import (
    HALF_PAIR,
    TOO_BIG,
    TOO_DEEP,
    extracted,
    is_number,
    json_number,
    parse_json,
)
from streams_orchestration.spl.programs.library.registry import plain, typed
from streams_orchestration.spl.programs.library.spl_time import ctime
from streams_orchestration.spl.programs.values import copying
from streams_orchestration.spl.types.types import BOOLEAN, INTEGERS, Collection, Enumeration, Tuple, Type, is_string

_PARSE_ERRORS = {
    "PARSED": "No error.",
    "DOCUMENT_EMPTY": "The document is empty.",
    "MULTIPLE_ROOTS": "The document root must not be followed by other values.",
    "VALUE_INVALID": "Invalid value.",
    "KEY_MISSING": "Missing a name for object member.",
    "COLON_MISSING": "Missing a colon after a name of object member.",
    "OBJECT_COMMA_OR_BRACKET_MISSING": "Missing a comma or } after an object member.",
    "ARRAY_COMMA_OR_BRACKET_MISSING": "Missing a comma or ] after an array element.",
    "UNICODE_ESCAPE_INVALID": "Incorrect hex digit after \\u escape in string.",
    "UNICODE_SURROGATE_INVALID": "The surrogate pair in string is invalid.",
    "STRING_ESCAPE_INVALID": "Invalid escape character in string.",
    "STRING_QUOTATION_MISSING": "Missing a closing quotation mark in string.",
    "STRING_INVALID_ENCODING": "Invalid encoding in string.",
    "NUMBER_TOO_BIG": "Number too big to be stored in double.",
    "NUMBER_MISS_FRACTION": "Miss fraction part in number.",
    "NUMBER_MISS_EXPONENT": "Miss exponent in number.",
    "TERMINATION": "Terminate parsing due to Handler error.",
    "SYNTAX_ERROR": "Unspecific syntax error.",
}
"""Word of `JsonParseStatus.status` -> its text, in the order of the words."""
_REASONS = {
    "Expecting property name": "KEY_MISSING",
    "Illegal trailing comma": "KEY_MISSING",
    "Expecting ':'": "COLON_MISSING",
    "Invalid \\u": "UNICODE_ESCAPE_INVALID",
    "Invalid \\": "STRING_ESCAPE_INVALID",
    "Unterminated string": "STRING_QUOTATION_MISSING",
    "Invalid control character": "STRING_INVALID_ENCODING",
    TOO_DEEP: "TERMINATION",
    TOO_BIG: "NUMBER_TOO_BIG",
    HALF_PAIR: "UNICODE_SURROGATE_INVALID",
}
"""Beginning of a message of the JSON parser -> the word."""
_OUTSIDE_OF_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)
_INDEX = re.compile("0|[1-9][0-9]{0,17}")
_STATUS = ("FOUND", "FOUND_CAST", "FOUND_WRONG_TYPE", "FOUND_NULL", "NOT_FOUND")
"""The words of `JsonStatus.status` about a value, in their order."""


# --- texts


def _writer(run: Any, type_: Type, prefix: str) -> Callable[[Any], str]:
    return json_text(type_, prefix, lambda timestamp: string_in_json(ctime(timestamp, run.zone)))


@typed("tupleToJSON", "mapToJSON", run=True)
def _to_json(types: tuple[Type, ...], _: Type) -> Callable[..., str]:
    return lambda run, value, prefix="": _writer(run, types[0], prefix)(value)


@typed("toJSON", run=True)
def _pair_to_json(types: tuple[Type, ...], _: Type) -> Callable[..., str]:
    def write(run: Any, key: str, value: Any, prefix: str = "") -> str:
        return f"{{{string_in_json(key)}:{_writer(run, types[1], prefix)(value)}}}"

    return write


# --- values


@typed("extractFromJSON", assigns=(1,))
def _extract(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    type_ = types[1]
    assert isinstance(type_, Tuple)
    change, copy = extracted(type_), copying(type_)

    def extract(text: str, value: Any) -> Any:
        try:
            found = parse_json(text, whole=False)
        except ValueError:
            found = None
        changed = change(value, found)
        return changed, copy(changed)

    return extract


def _without_status(types: tuple[Type, ...]) -> bool:
    return len(types) in (2, 3) and isinstance(types[-1], Enumeration)


@plain("parseJSON", when=_without_status, run=True)
def _parse(run: Any, text: str, index: str) -> int:
    _, status, _ = _parsed(run, text, "PARSED", 0, index)
    if status != "PARSED":
        run.log("error", _PARSE_ERRORS[status])
    return list(_PARSE_ERRORS).index(status)


@plain("parseJSON", run=True, assigns=(1, 2))
def _parsed(run: Any, text: str, status: str, offset: int, index: str) -> tuple[bool, str, int]:
    """Keep the JSON of a text for queries, an empty object if it is faulty.

    Return True if it is right, with `status` and `offset` as they were; else False, the status, and the byte of the
    fault, counted from 0.
    """
    try:
        run.documents[index] = parse_json(text, whole=False)
    except json.JSONDecodeError as error:
        run.documents[index] = {}
        return False, _reason(text, error), len(text[: error.pos].encode())
    return True, status, offset


def _reason(text: str, error: json.JSONDecodeError) -> str:
    if not text.strip(" \t\n\r"):
        return "DOCUMENT_EMPTY"
    found = next((word for begin, word in _REASONS.items() if error.msg.startswith(begin)), None)
    if found is None and error.msg.startswith("Expecting ','"):
        open_ = []
        for match in _OUTSIDE_OF_STRINGS.finditer(text, 0, error.pos):
            open_ = [*open_, match[1]] if match[1] else open_[:-1] if match[2] else open_
        return f"{'OBJECT' if open_[-1:] == ['{'] else 'ARRAY'}_COMMA_OR_BRACKET_MISSING"
    return found or "VALUE_INVALID"


@plain("getParseError")
def parse_error(status: str) -> str:
    """Return the text of a parse status."""
    return _PARSE_ERRORS[status]


@typed("queryJSON", when=_without_status, run=True)
def _query(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    convert = _converted(types[1])
    return lambda run, path, default, index: _queried(run, path, default, index, convert)[0]


@typed("queryJSON", run=True, assigns=(2,))
def _query_with_status(types: tuple[Type, ...], _: Type) -> Callable[..., Any]:
    convert = _converted(types[1])
    return lambda run, path, default, _status, index: _queried(run, path, default, index, convert)


def _queried(
    run: Any, path: str, default: Any, index: str, convert: Callable[[Any], tuple[int, Any]]
) -> tuple[Any, str]:
    """Return the value at a path of the parsed JSON, or the default, and the status."""
    if index not in run.documents:
        message = "queryJSON needs an earlier call of parseJSON with the same index"
        raise RunError(message)
    keys, fault = _keys(path)
    if fault:
        return default, fault
    value = run.documents[index]
    for key in keys:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return default, "NOT_FOUND"
    if value is None:
        return default, "FOUND_NULL"
    status, converted = convert(value)
    return (default if status > 1 else converted), _STATUS[status]


def _keys(path: str) -> tuple[list[str], str]:
    """Return the keys of a JSON pointer, and an empty text; no keys and the status of a faulty one."""
    if path.startswith("#"):
        if re.search(r"%(?![0-9A-Fa-f]{2})", path):
            return [], "INVALID_PERCENT_ENCODING"
        path = unquote(path[1:])
    if path and not path.startswith("/"):
        return [], "PATH_MUST_BEGIN_WITH_SLASH"
    if re.search(r"~(?![01])", path):
        return [], "INVALID_ESCAPE"
    return [each.replace("~1", "/").replace("~0", "~") for each in path.split("/")[1:]], ""


def _converted(type_: Type) -> Callable[[Any], tuple[int, Any]]:
    """Return the function from JSON to a status and a value: 0 for the right kind, 1 for a cast value, 2 for none.

    A list is of the right kind, and its elements of another kind are dropped.
    """
    if isinstance(type_, Collection):
        element = _converted(type_.elements[0])

        def elements(found: Any) -> tuple[int, Any]:
            if not isinstance(found, list):
                return 2, None
            return 0, [value for status, value in map(element, found) if status == 0]

        return elements
    if type_ == BOOLEAN:
        return lambda found: (
            (0, found) if isinstance(found, bool) else (1, found == "1") if found in ("0", "1") else (2, None)
        )
    if is_string(type_):
        return lambda found: (0, found) if isinstance(found, str) else _as_text(found)
    number, parse = json_number(type_), int if type_ in INTEGERS else float

    def convert(found: Any) -> tuple[int, Any]:
        if is_number(found):
            return 0, number(found)
        try:
            return (1, number(parse(found))) if isinstance(found, str) else (2, None)
        except (ValueError, OverflowError):
            return 2, None

    return convert


def _as_text(found: Any) -> tuple[int, Any]:
    return (2, None) if isinstance(found, dict | list) else (1, json.dumps(found))
