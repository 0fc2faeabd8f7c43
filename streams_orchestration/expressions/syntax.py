"""Syntax trees of expressions, without types."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from streams_orchestration.expressions.types import Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal.

    Attributes:
        value: the value; the module `conversion` describes its Python type.
        type: the type of the value.
        offset: the offset of its first character in the text; equality of nodes ignores it.
        local: True for a local time in the expression's time zone, which is not yet converted to a point in time.
    """

    value: object
    type: Type
    offset: int = dataclasses.field(default=0, compare=False)
    local: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """The name of an attribute."""

    name: str
    offset: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """A call of a function or an operator; the name of an operator is its sign."""

    function: str
    arguments: tuple[Syntax, ...]
    offset: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Convert:
    """A `CAST`, or a `TRY_CAST`, whose value is null if the conversion fails."""

    argument: Syntax
    type: Type
    offset: int = dataclasses.field(default=0, compare=False)
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A `CASE`: the value of the first branch whose condition is true."""

    branches: tuple[tuple[Syntax, Syntax], ...]
    otherwise: Syntax | None
    offset: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a struct."""

    argument: Syntax
    field: str
    offset: int = dataclasses.field(default=0, compare=False)


Syntax = Constant | Name | Apply | Convert | Choice | Member


def parts_of(node: Syntax) -> tuple[Syntax, ...]:
    """Return the children of a node, none for a constant or a name."""
    match node:
        case Apply():
            return node.arguments
        case Convert() | Member():
            return (node.argument,)
        case Choice():
            last = () if node.otherwise is None else (node.otherwise,)
            return (*(each for branch in node.branches for each in branch), *last)
        case _:
            return ()


def is_higher(tree: Syntax, limit: int) -> bool:
    """Return True if a tree has more levels than a limit."""
    level: list[Syntax] = [tree]
    for _ in range(limit):
        level = [part for node in level for part in parts_of(node)]
        if not level:
            return False
    return True
