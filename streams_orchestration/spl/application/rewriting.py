"""Replacement of expressions within typed trees."""

from __future__ import annotations

from collections.abc import Mapping

from streams_orchestration.spl.language.walking import TreeNode, rewritten
from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing.typed import Expression, PortAttribute, PortTuple, TupleOf, Variable


def with_values(checked: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return an expression in which reads of state variables are replaced by the given values."""

    def change(node: TreeNode) -> Expression | None:
        return values.get(node.name) if isinstance(node, Variable) and node.kind == "state" else None

    return rewritten(checked, change) if values else checked


def by_attributes(checked: Expression) -> Expression:
    """Return an expression in which reads of a port's whole tuple are replaced by a tuple literal of its attributes.

    An operator that joins the columns of several ports has the attributes of its ports, but no tuple for a port.
    """

    def change(node: TreeNode) -> Expression | None:
        if not isinstance(node, PortTuple) or not isinstance(node.type, Tuple):
            return None
        port, place = node.port, node.span
        read = ((each.name, PortAttribute(place, each.type, port, each.name)) for each in node.type.attributes)
        return TupleOf(place, node.type, tuple(read))

    return rewritten(checked, change)
