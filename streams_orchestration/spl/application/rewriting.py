"""Replacement of expressions within typed trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing.typed import Expression, Node, PortAttribute, PortTuple, TupleOf, Variable

_Part = TypeVar("_Part")


def rewritten(part: _Part, change: Callable[[Node], Expression | None]) -> _Part:
    """Return a typed tree with some expressions replaced; `change` returns the new expression, or None to keep one.

    Parts of a replaced expression are not looked into.
    """
    if isinstance(part, tuple):
        return cast("_Part", tuple(rewritten(each, change) for each in cast("tuple[object, ...]", part)))
    if not is_dataclass(part) or not isinstance(part, Node):
        return part
    changed = change(part)
    if changed is not None:
        return cast("_Part", changed)
    inner = {each.name: rewritten(getattr(part, each.name), change) for each in fields(part) if each.init}
    return cast("_Part", replace(part, **inner))


def with_values(checked: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return an expression in which reads of state variables are replaced by the given values."""

    def change(node: Node) -> Expression | None:
        return values.get(node.name) if isinstance(node, Variable) and node.kind == "state" else None

    return rewritten(checked, change) if values else checked


def by_attributes(checked: Expression) -> Expression:
    """Return an expression in which reads of a port's whole tuple are replaced by a tuple literal of its attributes.

    An operator that joins the columns of several ports has the attributes of its ports, but no tuple for a port.
    """

    def change(node: Node) -> Expression | None:
        if not isinstance(node, PortTuple) or not isinstance(node.type, Tuple):
            return None
        port, place = node.port, node.span
        read = ((each.name, PortAttribute(place, each.type, port, each.name)) for each in node.type.attributes)
        return TupleOf(place, node.type, tuple(read))

    return rewritten(checked, change)
