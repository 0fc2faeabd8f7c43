"""The ways in which a value depends on an attribute, in the terms of OpenLineage's facet for column lineage.

>>> from streams_orchestration.expressions.types import INT
>>> from streams_orchestration.expressions.typing import typed
>>> uses = uses_of(typed("if(n > 1, m, 0)", {"n": INT, "m": INT}))
>>> {name: [str(each) for each in ways] for name, ways in uses.items()}
{'n': ['INDIRECT CONDITIONAL'], 'm': ['DIRECT TRANSFORMATION']}
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from streams_orchestration.expressions.tree import AttributeValue, Case, TypedNode, children

DIRECT, INDIRECT = "DIRECT", "INDIRECT"
_STRENGTH = ("IDENTITY", "", "TRANSFORMATION", "AGGREGATION")


class ColumnUse(NamedTuple):
    """The way in which a column depends on an attribute: a type, and a subtype that is empty if it is unknown."""

    type: str
    subtype: str

    def __str__(self) -> str:
        """Return type and subtype, separated by a space; only the type if the subtype is empty."""
        return f"{self.type} {self.subtype}".rstrip()


IDENTITY = ColumnUse(DIRECT, "IDENTITY")
TRANSFORMATION = ColumnUse(DIRECT, "TRANSFORMATION")
AGGREGATION = ColumnUse(DIRECT, "AGGREGATION")
UNSPECIFIED = ColumnUse(DIRECT, "")
CONDITIONAL = ColumnUse(INDIRECT, "CONDITIONAL")
FILTER = ColumnUse(INDIRECT, "FILTER")
GROUP_BY = ColumnUse(INDIRECT, "GROUP_BY")
JOIN = ColumnUse(INDIRECT, "JOIN")
SORT = ColumnUse(INDIRECT, "SORT")
WINDOW = ColumnUse(INDIRECT, "WINDOW")

Thing = TypeVar("Thing", bound=Hashable)
Uses = Mapping[Thing, frozenset[ColumnUse]]
"""Attribute or column -> the ways in which a value depends on it."""


def uses_of(node: TypedNode, direct: ColumnUse | None = None) -> Uses[str]:
    """Return the ways in which the value of an expression depends on each attribute that it names.

    Args:
        node: the typed expression.
        direct: the use of attributes outside of CASE conditions; by default identity if the expression is one
            attribute, else transformation.
    """
    if direct is None:
        direct = IDENTITY if isinstance(node, AttributeValue) else TRANSFORMATION
    return united(_found(node, direct))


def _found(node: TypedNode, use: ColumnUse) -> Iterable[Uses[str]]:
    match node:
        case AttributeValue():
            yield {node.name: frozenset({use})}
        case Case():
            for condition, value in node.branches:
                yield from _found(condition, CONDITIONAL)
                yield from _found(value, use)
            yield from _found(node.otherwise, use)
        case _:
            for child in children(node):
                yield from _found(child, use)


def united(several: Iterable[Uses[Thing]]) -> dict[Thing, frozenset[ColumnUse]]:
    """Return the union of several mappings of dependences."""
    together: dict[Thing, frozenset[ColumnUse]] = defaultdict(frozenset)
    for uses in several:
        for thing, ways in uses.items():
            together[thing] |= ways
    return dict(together)


def through(uses: Uses[Thing], ways: Iterable[ColumnUse]) -> dict[Thing, frozenset[ColumnUse]]:
    """Return the dependences of a result that uses a value in some ways, given the dependences of that value.

    >>> through({"a": frozenset({TRANSFORMATION})}, [FILTER])["a"] == {FILTER}
    True
    """
    return {thing: frozenset(_joined(one, way) for one in before for way in ways) for thing, before in uses.items()}


def _joined(first: ColumnUse, then: ColumnUse) -> ColumnUse:
    """Combine the use of an attribute in a value with the use of that value in a result.

    If one of the two is indirect, it is the combination, and `then` if both are. Otherwise the stronger one is it.
    """
    if then.type == INDIRECT:
        return then
    return first if first.type == INDIRECT else max(first, then, key=lambda use: _STRENGTH.index(use.subtype))
