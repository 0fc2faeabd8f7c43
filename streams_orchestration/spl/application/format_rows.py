"""The rows of Format in SPL, as expressions over the attributes of its input stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from streams_orchestration.spl.language.tokens import string_text
from streams_orchestration.spl.models.invocations import Assigned
from streams_orchestration.spl.programs.reading import read_expression
from streams_orchestration.spl.types.types import BLOB, Optional, Type, is_string
from streams_orchestration.spl.typing.scopes import Port
from streams_orchestration.spl.typing.typed import Constant, Expression, OutputCall, PortAttribute

ROW = "Output()"
"""The expression of a binary row, which the operator makes."""
_ROW_PARAMETERS = frozenset(("format", "eolMarker", "separator", "quoteStrings", "suppress"))
"""The parameters of Format that only its rows depend on."""


def without_row_parameters(
    kind: str, given: Mapping[str, tuple[Expression, ...]], parameters: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of an operator, without those that only rows depend on if it is a Format.

    Binary rows are made by the operator, so its parameters stay.
    """
    if not _is_written(kind, given):
        return parameters
    return {name: value for name, value in parameters.items() if name not in _ROW_PARAMETERS}


def with_rows(
    kind: str, values: list[Assigned], inputs: Sequence[Port], given: Mapping[str, tuple[Expression, ...]]
) -> list[Assigned]:
    """Return the assignments of an operator; in a Format, the row replaces `Output()` unless it is binary.

    There, an argument of `AsIs` replaces the call as well. If the input's type is unknown, nothing is replaced.
    """
    if kind != "Format" or not inputs or not inputs[0].is_known:
        return values
    binary = not _is_written(kind, given)
    return [
        each if binary and is_row(each.value) else replace(each, value=_formatted(each.value, inputs[0], given))
        for each in values
    ]


def is_row(value: Expression) -> bool:
    """Return True for the call of `Output()`."""
    return isinstance(value, OutputCall) and value.name == "Output"


def _is_written(kind: str, given: Mapping[str, tuple[Expression, ...]]) -> bool:
    """Return True for a Format whose rows have an expression; rows of the format `bin` have none."""
    return kind == "Format" and _constant(given, "format", "csv") != "bin"


def _formatted(value: Expression, port: Port, given: Mapping[str, tuple[Expression, ...]]) -> Expression:
    if not isinstance(value, OutputCall):
        return value
    if value.name == "AsIs":
        return value.arguments[0]
    suppressed = {each.name for each in given.get("suppress", ()) if isinstance(each, PortAttribute)}
    attributes = [each for each in port.type.attributes if each.name not in suppressed]
    names = [(f"{port.label}.{each.name}", each.type) for each in attributes]
    place = (value.span.source.file, value.span.line, value.span.column)
    return read_expression(_row(names, given), [(port.label, port.type)], place)


def _row(names: list[tuple[str, Type]], given: Mapping[str, tuple[Expression, ...]]) -> str:
    format_ = _constant(given, "format", "csv")
    if format_ == "block" or not names:
        return names[0][0] if names and names[0][1] == BLOB else 'convertToBlob("")'
    end = string_text("\n")
    if format_ == "line":
        end = string_text(str(_constant(given, "eolMarker", "\n")))
        return f"convertToBlob((rstring) {names[0][0]} + {end})"
    if format_ == "txt":
        inner = ", ".join(f"{name.rpartition('.')[2]} = {name}" for name, _ in names)
        return f"convertToBlob((rstring) {{{inner}}} + {end})"
    quoted = _constant(given, "quoteStrings", 1)
    separator = _constant(given, "separator", ",")
    between = string_text(separator if isinstance(separator, str) else chr(int(str(separator))))
    values = [_value(name, type_, quoted=bool(quoted)) for name, type_ in names]
    return f"convertToBlob({f' + {between} + '.join(values)} + {end})"


def _value(name: str, type_: Type, *, quoted: bool) -> str:
    if is_string(type_) and quoted:
        return f"makeRStringLiteral((rstring) {name})"
    if isinstance(type_, Optional) and is_string(type_.content) and quoted:
        return f'({name}?? ? makeRStringLiteral((rstring) {name}!) : "null")'
    return f"(rstring) {name}"


def _constant(given: Mapping[str, tuple[Expression, ...]], name: str, default: object) -> object:
    values = given.get(name, ())
    return values[0].value if values and isinstance(values[0], Constant) else default
