"""Parsing and typing of programs from canonical text, in the scope of an operator's ports."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.expressions import expression_of
from streams_orchestration.spl.language.recovery import FaultError, NestingError
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing import typed
from streams_orchestration.spl.typing.checking import check_expression
from streams_orchestration.spl.typing.scopes import Port, Scope, port_scope
from streams_orchestration.spl.typing.spans import Mistake, Source


class ProgramTextError(ValueError):
    """The text of a program has mistakes, which `mistakes` holds."""

    def __init__(self, mistakes: Sequence[Mistake], text: str) -> None:
        super().__init__("; ".join(map(_placed, mistakes)) or f"{text!r:.60} is not a program of SPL")
        self.mistakes = tuple(mistakes)


def _placed(mistake: Mistake) -> str:
    return f"{mistake.span}: {mistake.message}" if mistake.span.source.file else mistake.message


def tree_of(text: str) -> tree.Expression:
    """Parse an expression and return its syntax tree.

    Raises:
        ProgramTextError: the text is not an expression.
    """
    try:
        return expression_of(text)
    except (FaultError, NestingError) as error:
        raise ProgramTextError((), text) from error


def labels_in(node: tree.Expression) -> set[str]:
    """Return all names before a dot in an expression: names of ports, and of attributes that are tuples."""
    operands = [each.operand for each in nodes_in(node, tree.Member)]
    return {each.name for each in operands if isinstance(each, tree.Name)}


def read_expression(
    text: str,
    ports: Sequence[tuple[str, Tuple]],
    place: tuple[str, int, int] = ("", 1, 1),
    around: Scope | None = None,
) -> typed.Expression:
    """Parse and type an expression over the attributes of ports.

    Args:
        text: the expression.
        ports: the name and type of each input port.
        place: file, line and column of the expression.
        around: the surrounding scope, with the native and the own functions of the program.

    Raises:
        ProgramTextError: the text has mistakes.
    """
    written = tree_of(text)
    source = Source.of(text, *place)
    mistakes: list[Mistake] = []
    scope = port_scope(around or Scope(), [Port(label, type_) for label, type_ in ports])
    checked = check_expression(written, scope, source, mistakes)
    if mistakes:
        raise ProgramTextError(mistakes, text)
    return checked
