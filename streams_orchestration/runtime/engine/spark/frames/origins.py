"""Finds the input attributes from which the columns of a query are computed, by walking Spark's analysed plan.

Attributes that only decide which rows there are, as in conditions and grouping keys, are influences on all columns, not
origins of a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.column_uses import FILTER, GROUP_BY, JOIN, SORT, ColumnUse
from streams_orchestration.compiler.query_columns import ColumnOrigin, QueryInfluences
from streams_orchestration.runtime.engine.spark.frames.plans import analysed, each, kind_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INPUT_ALIAS = "streams_input_"
"""Prefix of the alias of an input port's view, before the port's number; the walk ends at such an alias."""
PASSING = frozenset({"EventTimeWatermark", "Filter", "Join", "SubqueryAlias", "View"})
"""Plan nodes that pass on the columns of the nodes below. For other nodes, the columns are compared one by one."""
SUBQUERIES = frozenset({"Exists", "LateralSubquery", "ListQuery", "ScalarSubquery"})
"""Expressions that contain a plan."""

Scope = Mapping[int, ColumnOrigin]
"""Number of an attribute in the plan (`exprId`) -> its origin."""


DECIDING: Mapping[str, tuple[str, ColumnUse]] = {
    "Aggregate": ("groupingExpressions", GROUP_BY),
    "Deduplicate": ("keys", FILTER),
    "DeduplicateWithinWatermark": ("keys", FILTER),
    "Distinct": ("output", FILTER),
    "Filter": ("condition", FILTER),
    "FlatMapGroupsInPandas": ("groupingAttributes", GROUP_BY),
    "FlatMapGroupsInPandasWithState": ("groupingAttributes", GROUP_BY),
    "Join": ("condition", JOIN),
    "LateralJoin": ("condition", JOIN),
    "Sort": ("order", SORT),
}
"""The plan nodes that decide which rows exist, or their order.

For each kind of node there is the method that returns the deciding expressions, and the kind of use.
"""


def column_origins(frame: DataFrame) -> tuple[dict[str, ColumnOrigin], QueryInfluences]:
    """Return the origin of every column of a DataFrame that is composed from views of input ports (`INPUT_ALIAS`).

    The second result is the attributes that decide which rows exist, or their order. If a plan node is not understood,
    such as a function over rows, each of its columns counts as computed from all inputs of the node. Py4J's error is
    raised for a plan that cannot be followed.
    """
    plan = analysed(frame)
    walk = _Walk()
    scope = walk.scope_of(plan, {})
    origins = {str(attribute.name()): scope.get(_id(attribute), ColumnOrigin()) for attribute in each(plan.output())}
    return origins, frozenset(walk.influences)


class _Walk:
    def __init__(self) -> None:
        self._common: dict[int, list[ColumnOrigin]] = {}
        """Number of a common table expression -> the origins of its columns."""
        self.influences: set[tuple[int, str, ColumnUse]] = set()

    def scope_of(self, node: Any, outer: Scope) -> Scope:
        """Return the origins of the columns of a plan node; add deciding attributes at and below it to `influences`.

        `outer` has the origins of the columns that a subquery can use from the plan around it.
        """
        kind = kind_of(node)
        if kind == "SubqueryAlias" and str(node.alias()).startswith(INPUT_ALIAS):
            port = int(str(node.alias()).removeprefix(INPUT_ALIAS))
            return {_id(column): ColumnOrigin(((port, str(column.name())),)) for column in each(node.output())}
        scopes = [self.scope_of(child, outer) for child in each(node.children())]
        below = {number: origin for scope in scopes for number, origin in scope.items()}
        if kind == "LateralJoin":
            below |= self.scope_of(node.right().plan(), {**outer, **below})
        if kind in DECIDING:
            self._note(node, kind, {**outer, **below})
        if kind in PASSING:
            return below
        made = self._made(node, kind, scopes, {**outer, **below})
        if kind == "CTERelationDef":
            self._common[node.id()] = list(made.values())
        return made

    def _note(self, node: Any, kind: str, seen: Scope) -> None:
        """Add to `influences` the attributes that decide which rows a node has."""
        method, use = DECIDING[kind]
        found = getattr(node, method)()
        if method == "condition":  # a join has an optional condition
            option = kind_of(found)
            expressions = [] if option == "None$" else [found.get() if option == "Some" else found]
        else:
            expressions = list(each(found))
        for expression in expressions:
            self.influences |= {(port, name, use) for port, name in self._inputs_of(expression, seen).inputs}

    def _made(self, node: Any, kind: str, scopes: list[Scope], seen: Scope) -> dict[int, ColumnOrigin]:
        """Return the origin of each output column of a node, by the number of the column.

        A column of a union has the origins of all branches. A column that the node neither names nor passes on comes
        from the node's generator, or else from whole rows of the node's inputs.
        """
        columns = [_id(column) for column in each(node.output())]
        if kind == "CTERelationRef":
            return dict(zip(columns, self._common.get(node.cteId(), ()), strict=False))
        if kind == "Union":
            rows = [
                [scope.get(_id(column), ColumnOrigin()) for column in each(child.output())]
                for child, scope in zip(each(node.children()), scopes, strict=True)
            ]
            return {number: _union(cells) for number, cells in zip(columns, zip(*rows, strict=True), strict=True)}
        if kind == "Expand":
            rows = [[self._inputs_of(cell, seen) for cell in each(row)] for row in each(node.projections())]
            return {number: _union(cells) for number, cells in zip(columns, zip(*rows, strict=True), strict=True)}
        named = {_id(part): part for part in each(node.expressions()) if kind_of(part) == "Alias"}
        rest = self._inputs_of(node.generator(), seen) if kind == "Generate" else None
        made: dict[int, ColumnOrigin] = {}
        for number in columns:
            if number in named:
                made[number] = self._inputs_of(named[number], seen)
            elif number in seen:
                made[number] = seen[number]
            else:
                rest = rest or (_whole_rows(node, scopes) if scopes else ColumnOrigin())
                made[number] = rest
        return made

    def _inputs_of(self, expression: Any, seen: Scope) -> ColumnOrigin:
        """Return the input attributes from which an expression is computed, also through subqueries; empty if none are.

        `seen` has the input attributes of visible columns. Add attributes that decide which rows a subquery has to
        `influences`.
        """
        kind = kind_of(expression)
        if kind == "AttributeReference":
            return seen.get(_id(expression), ColumnOrigin())
        if kind == "OuterReference":
            return self._inputs_of(expression.e(), seen)
        parts = [self._inputs_of(child, seen) for child in each(expression.children())]
        if kind in SUBQUERIES:
            inner = self.scope_of(expression.plan(), seen)
            parts += [inner.get(_id(column), ColumnOrigin()) for column in each(expression.plan().output())]
        return _union(parts)


def _whole_rows(node: Any, scopes: list[Scope]) -> ColumnOrigin:
    columns = [
        scope[_id(column)]
        for child, scope in zip(each(node.children()), scopes, strict=True)
        for column in each(child.output())
        if _id(column) in scope
    ]
    return ColumnOrigin(_union(columns).inputs, whole_rows=True)


def _union(origins: Iterable[ColumnOrigin]) -> ColumnOrigin:
    return reduce(_both, origins, ColumnOrigin())


def _both(one: ColumnOrigin, other: ColumnOrigin) -> ColumnOrigin:
    if other in (one, ColumnOrigin()):
        return one
    return ColumnOrigin(tuple(sorted({*one.inputs, *other.inputs})), one.whole_rows or other.whole_rows)


def _id(named: Any) -> int:
    return int(named.exprId().id())
