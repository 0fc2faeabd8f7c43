"""Typed trees of expressions. Implicit conversions are nodes of their own, and every node has a type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streams_orchestration.expressions.conversion import depends_on_zone as conversion_depends_on_zone
from streams_orchestration.expressions.conversion import never_fails
from streams_orchestration.expressions.types import Type, in_spark

if TYPE_CHECKING:
    from streams_orchestration.expressions.table import SqlFunction


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant value."""

    value: object
    type: Type


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """The value of an attribute of the tuple."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function; the arguments have exactly the types that it takes."""

    function: SqlFunction
    arguments: tuple[TypedNode, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion. If it is lenient, a failure becomes null."""

    argument: TypedNode
    type: Type
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true; later branches are not evaluated."""

    branches: tuple[tuple[TypedNode, TypedNode], ...]
    otherwise: TypedNode
    type: Type


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first value that is not null; later values are not evaluated."""

    arguments: tuple[TypedNode, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Junction:
    """`left AND right` or `left OR right`; the right operand is not evaluated if the left one decides."""

    left: TypedNode
    right: TypedNode
    conjunction: bool
    type: Type


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct, by its position."""

    argument: TypedNode
    position: int
    type: Type


TypedNode = Literal | AttributeValue | Call | Cast | Case | Coalesce | Junction | Field


def children(node: TypedNode) -> tuple[TypedNode, ...]:
    """Return the children of a node, none for a literal or an attribute."""
    match node:
        case Call() | Coalesce():
            return node.arguments
        case Cast() | Field():
            return (node.argument,)
        case Case():
            return (*(each for branch in node.branches for each in branch), node.otherwise)
        case Junction():
            return (node.left, node.right)
        case _:
            return ()


def nodes(node: TypedNode) -> Iterator[TypedNode]:
    """Yield a node and all nodes below it, parents first."""
    yield node
    for child in children(node):
        yield from nodes(child)


def attributes(node: TypedNode) -> tuple[str, ...]:
    """Return the distinct names of the attributes that an expression uses, in the order of `nodes`."""
    return tuple(dict.fromkeys(each.name for each in nodes(node) if isinstance(each, AttributeValue)))


def attribute_types(node: TypedNode) -> dict[str, Type]:
    """Map the attributes of an expression to the types by which it reads them."""
    return {each.name: each.type for each in nodes(node) if isinstance(each, AttributeValue)}


def read_by_spark(node: TypedNode) -> TypedNode:
    """Return a node for an attribute, or for a field of one, with the Spark type that holds its values.

    Any other node is returned unchanged.
    """
    match node:
        case AttributeValue():
            return AttributeValue(node.name, in_spark(node.type))
        case Field():
            return Field(read_by_spark(node.argument), node.position, in_spark(node.type))
        case _:
            return node


def depends_on_zone(node: TypedNode) -> bool:
    """Return True if the value of an expression depends on the time zone, apart from its constants."""
    match node:
        case Call() if node.function.zoned is not None:
            own = node.function.zoned([each.type for each in node.arguments], node.type)
        case Cast():
            own = conversion_depends_on_zone(node.argument.type, node.type)
        case _:
            own = False
    return own or any(map(depends_on_zone, children(node)))


def may_fail(node: TypedNode) -> bool:
    """Return True if there may be tuples for which a node has no value."""
    match node:
        case Call() if node.function.fails:
            return True
        case Cast() if not node.lenient and not never_fails(node.argument.type, node.type):
            return True
        case _:
            return any(map(may_fail, children(node)))
