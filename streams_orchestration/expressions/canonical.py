"""The canonical text of a typed expression: every conversion is written, and every literal says its type.

Two texts that mean the same by Spark's rules for types have one canonical text; reading it gives the same tree.

>>> from streams_orchestration.expressions.types import INT
>>> from streams_orchestration.expressions.typing import typed
>>> canonical(typed("(delay>15) and not  delay = 7L", {"delay": INT}))
'delay > 15 AND (NOT CAST(delay AS bigint) = 7L)'
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Sequence
from typing import Any, assert_never, cast

from streams_orchestration.expressions.literals import number_constant
from streams_orchestration.expressions.reading import KEYWORDS, LEVELS
from streams_orchestration.expressions.times import DAY as MICROS_OF_A_DAY
from streams_orchestration.expressions.times import SECOND, UTC, write_date, write_timestamp
from streams_orchestration.expressions.tokens import name_token
from streams_orchestration.expressions.tree import (
    Attribute,
    Call,
    Case,
    Cast,
    Coalesce,
    Field,
    Junction,
    Literal,
    Node,
)
from streams_orchestration.expressions.types import STRING, VOID, YEAR_MONTH, Type

_WORD = re.compile(r"[^\W\d]\w*")
_SUFFIXES = {"tinyint": "Y", "smallint": "S", "int": "", "bigint": "L"}
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", **{chr(code): f"\\u{code:04X}" for code in (*range(32), 127, 0x85, 0x2028, 0x2029)}}
)
_PATTERNS = frozenset(("like", "ilike", "rlike"))
_WEAKEST, _STRONGEST = -1, max(LEVELS.values()) + 1
"""The level of what stands in no operator, and the one of what needs no brackets in any."""


def canonical(node: Node) -> str:
    """Return the canonical text of an expression."""
    return _written(node, _WEAKEST)


def _written(node: Node, least: int) -> str:
    """Return a node, in brackets if it binds weaker than a level."""
    text, level = _text(node)
    return f"({text})" if level < least else text


def _text(node: Node) -> tuple[str, int]:
    """Return a node without brackets, and its level."""
    match node:
        case Literal():
            return literal_text(node.value, node.type), _STRONGEST
        case Attribute():
            return _name(node.name), _STRONGEST
        case Call():
            return _call(node)
        case Cast():
            word = "TRY_CAST" if node.lenient else "CAST"
            return f"{word}({canonical(node.argument)} AS {node.type})", _STRONGEST
        case Case():
            branches = " ".join(f"WHEN {canonical(one)} THEN {canonical(other)}" for one, other in node.branches)
            return f"CASE {branches} ELSE {canonical(node.otherwise)} END", _STRONGEST
        case Coalesce():
            return f"coalesce({_listed(node.arguments)})", _STRONGEST
        case Junction():
            word = "AND" if node.conjunction else "OR"
            return f"{_written(node.left, 0)} {word} {_written(node.right, 0)}", _WEAKEST
        case Field():
            return (
                f"{_written(node.argument, _STRONGEST)}.{_name(node.argument.type.fields[node.position])}",
                _STRONGEST,
            )
        case _:
            assert_never(node)


def _call(node: Call) -> tuple[str, int]:
    name, arguments, count = node.function.name, node.arguments, len(node.arguments)
    if name in LEVELS and count == 2:
        level = LEVELS[name]
        return f"{_written(arguments[0], level)} {name.upper()} {_written(arguments[1], level + 1)}", level
    if name == "not":
        return f"NOT {_written(arguments[0], 0)}", _WEAKEST
    if name == "in":
        return f"{_written(arguments[0], 0)} IN ({_listed(arguments[1:])})", _WEAKEST
    if name in _PATTERNS:
        escape = f" ESCAPE {_written(arguments[2], 0)}" if count > 2 else ""
        return f"{_written(arguments[0], 0)} {name.upper()} {_written(arguments[1], 0)}{escape}", _WEAKEST
    if name == "~":
        return f"~({canonical(arguments[0])})", _STRONGEST
    if name == "[]":
        return f"{_written(arguments[0], _STRONGEST)}[{canonical(arguments[1])}]", _STRONGEST
    return f"{name}({_listed(arguments)})", _STRONGEST


def _listed(nodes: Sequence[Node]) -> str:
    return ", ".join(map(canonical, nodes))


def _name(name: str) -> str:
    """Return a name as it is, or in backticks where it would be something else."""
    return name if _WORD.fullmatch(name) and name.lower() not in KEYWORDS else name_token(name)


def literal_text(value: object, kind: Type) -> str:
    """Return a literal that has just this type."""
    if value is None:
        return "NULL" if kind == VOID or kind.is_interval else f"CAST(NULL AS {kind})"
    given = cast("Any", value)
    match kind.name:
        case "boolean":
            return "TRUE" if value else "FALSE"
        case "tinyint" | "smallint" | "int" | "bigint":
            return f"{value}{_SUFFIXES[kind.name]}"
        case "float" | "double":
            return _floating(given, kind)
        case "decimal":
            return _decimal(given, kind)
        case "string":
            return f"'{given.translate(_ESCAPES)}'"
        case "binary":
            return f"X'{given.hex().upper()}'"
        case "date":
            return f"DATE '{write_date(given)}'"
        case "timestamp":
            return f"TIMESTAMP '{write_timestamp(given, UTC)}Z'"
        case "timestamp_ntz":
            return f"TIMESTAMP_NTZ '{write_timestamp(given, None)}'"
        case "array" | "map" | "struct":
            return _nested(given, kind)
        case _:
            return _interval(given, kind)


def _floating(value: float, kind: Type) -> str:
    if math.isfinite(value):
        return f"{value!r}{'F' if kind.name == 'float' else 'D'}"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS {kind})"


def _decimal(value: decimal.Decimal, kind: Type) -> str:
    digits = f"{abs(value):f}BD"
    text = f"{'-' if value.is_signed() and value else ''}{digits}"
    natural = number_constant(digits, 0, negative=value.is_signed())
    return text if natural.type == kind else f"CAST({text} AS {kind})"


def _nested(value: Any, kind: Type) -> str:
    if kind.name == "struct":
        pairs = zip(kind.fields, kind.parts, value, strict=True)
        fields = (f"{literal_text(name, STRING)}, {literal_text(each, part)}" for name, part, each in pairs)
        return f"named_struct({', '.join(fields)})"
    if not value:
        empty = [f"array_repeat({literal_text(None, part)}, 0)" for part in kind.parts]
        return f"map_from_arrays({', '.join(empty)})" if kind.name == "map" else empty[0]
    if kind.name == "array":
        return f"array({', '.join(literal_text(each, kind.parts[0]) for each in value)})"
    key, held = kind.parts
    return f"map({', '.join(f'{literal_text(name, key)}, {literal_text(each, held)}' for name, each in value.items())})"


def _interval(value: int, kind: Type) -> str:
    if kind == YEAR_MONTH:
        return f"INTERVAL '{value}' MONTH"
    if kind.name == "interval day":
        return f"INTERVAL '{value // MICROS_OF_A_DAY}' DAY"
    seconds, micros = divmod(abs(value), SECOND)
    return f"INTERVAL '{'-' if value < 0 else ''}{seconds}.{micros:06}' SECOND"
