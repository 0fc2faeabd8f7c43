"""An expression as it is written, before anything is known of types."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from streams_orchestration.expressions.types import Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal.

    Attributes:
        value: as `values` describes for its type.
        type: of the value.
        offset: of its first character in the text, as in the other nodes; equal trees may have other ones.
        local: the value is what clocks of the expression's time zone show, and no point in time yet.
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
    """A function or an operator with its arguments; operators have their sign as name."""

    function: str
    arguments: tuple[Syntax, ...]
    offset: int = dataclasses.field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Convert:
    """A `CAST`, or a `TRY_CAST`, which is null where the value cannot be converted."""

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
    """Return the nodes right below one."""
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
