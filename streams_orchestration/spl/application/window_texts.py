"""Texts of windows for a document, and programs for windows whose arguments only a submission knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.model.programs import CONSTANTS, LOGIC
from streams_orchestration.spl.application.values import (
    SUBMISSION,
    ConstantReader,
    UnknownValue,
)
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.language.tokens import string_text
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.types.types import DECIMALS
from streams_orchestration.spl.typing.canonical import canonical_text
from streams_orchestration.spl.typing.checking import check_expression
from streams_orchestration.spl.typing.scopes import Port, port_scope
from streams_orchestration.spl.typing.typed import Call, Constant, Expression, PortAttribute, Variable


@dataclass
class WindowText:
    """A writer of one window clause.

    Arguments that are known at compile time are written as numbers, attributes as their names, and single
    submission-time values as references. With any other argument that submission-time values determine, the window is
    a program that gives its text.
    """

    reader: ConstantReader
    port: Port | None = None
    """The input port of the window; None if it is unknown."""
    _open: list[tuple[str, Expression | None]] = field(default_factory=list[tuple[str, "Expression | None"]])
    """The text of each argument that a submission determines, with its typed expression if it is not a single value."""

    def of(self, parts: Sequence[tree.Expression], kind: str = "") -> Any:
        """Return the text or the program of a clause, and report mistakes in its arguments.

        `kind` is its first word unless that is one of the parts.
        """
        pieces = [*([kind] if kind else []), *(self._written(each) for each in parts)]
        clause = ", ".join(pieces)
        if all(checked is None for _, checked in self._open):
            for number, (text, _) in enumerate(self._open):
                clause = clause.replace(_hole(number), text)
            return clause
        return self._program(clause)

    def plain(self, parts: Sequence[tree.Expression]) -> str:
        """Return the text of a clause, with arguments that are not known as they are written; report their mistakes."""
        clause = ", ".join(self._written(each) for each in parts)
        for number, (text, _) in enumerate(self._open):
            clause = clause.replace(_hole(number), text)
        return clause

    def _program(self, clause: str) -> dict[str, Any]:
        names: dict[str, str] = {}
        terms: list[str] = []
        for number, (text, checked) in enumerate(self._open):
            before, _, clause = clause.partition(_hole(number))
            name = text.removeprefix("${").removesuffix("}")
            call = f"{SUBMISSION}({string_text(name)})" if checked is None else f"(rstring) ({canonical_text(checked)})"
            terms += [string_text(before), call]
            names |= {name: text} if checked is None else {each: f"${{{each}}}" for each in _submitted(checked)}
        return {LOGIC: " + ".join([*terms, string_text(clause)]), CONSTANTS: dict(sorted(names.items()))}

    def _written(self, written: tree.Expression) -> str:
        if isinstance(written, tree.Call) and isinstance(written.function, tree.Name):
            decimal = self._decimal(written.arguments[0]) if written.function.name == "delta" else []
            return f"{written.function.name}({', '.join([*map(self._argument, written.arguments), *decimal])})"
        return text_of(written)

    def _decimal(self, attribute: tree.Expression) -> list[str]:
        """Return the type of a delta's attribute if it is a decimal, since its column is a text."""
        if self.port is None:
            return []
        scope = port_scope(self.reader.scope, (self.port,))
        type_ = check_expression(attribute, scope, self.reader.source, []).type
        return [str(type_)] if type_ in DECIMALS else []

    def _argument(self, written: tree.Expression) -> str:
        if isinstance(written, tree.Name) and not written.name.startswith("$"):
            return written.name
        if isinstance(written, tree.Member) and isinstance(written.operand, tree.Name):
            return written.name.name  # an attribute with its port, as in delta(In.t, 1.0)
        try:
            value = self.reader.value(written)
        except UnknownValue:
            checked = check_expression(written, self.reader.scope, self.reader.source, [])
            if not _is_determined(checked):
                return text_of(written)
            self._open.append((text_of(written), checked))
            return _hole(len(self._open) - 1)
        if isinstance(value, str) and value.startswith("${"):
            self._open.append((value, None))
            return _hole(len(self._open) - 1)
        return repr(value) if isinstance(value, float) else str(value)


def _hole(number: int) -> str:
    """Return the placeholder of an argument; no clause contains such a text."""
    return f"\0{number}\0"


def _submitted(checked: Expression) -> list[str]:
    """Return the submission-time values with constant names that an expression reads, as often as it reads them."""
    return [
        str(each.arguments[0].value)
        for each in nodes_in(checked, Call)
        if each.signature.name == SUBMISSION and isinstance(each.arguments[0], Constant)
    ]


def _is_determined(checked: Expression) -> bool:
    """Return True if submission-time values determine the value of an expression; False if it reads none of them."""
    if any(nodes_in(checked, PortAttribute, Variable)) or not _submitted(checked):
        return False
    calls = [each.signature for each in nodes_in(checked, Call)]
    try:
        canonical_text(checked)
    except ValueError:
        return False
    return all(each.name == SUBMISSION or each.is_determined for each in calls)
