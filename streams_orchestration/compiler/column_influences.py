"""The attributes that decide which tuples an operator submits, and so influence all columns of its outputs.

>>> from streams_orchestration.compiler.column_sources import port_of
>>> column_influences("Filter", {"filter": "delay > 15"}, [port_of("carrier string, delay double")])
{(0, 'delay'): frozenset({ColumnUse(type='INDIRECT', subtype='FILTER')})}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from streams_orchestration.compiler.column_sources import Pair, Port, scope_of, types_of
from streams_orchestration.compiler.column_uses import FILTER, GROUP_BY, JOIN, SORT, WINDOW, ColumnUse, united
from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.tree import attributes
from streams_orchestration.expressions.typing import typed
from streams_orchestration.operators.windows.clause import parse_window

_CONDITIONS: Mapping[str, Mapping[str, tuple[int, ColumnUse]]] = {
    "DeDuplicate": {"key": (0, FILTER)},
    "DynamicFilter": {"key": (0, FILTER), "addKey": (1, FILTER), "removeKey": (2, FILTER)},
    "Filter": {"filter": (0, FILTER)},
    "Functor": {"filter": (0, FILTER)},
    "Join": {"match": (0, JOIN)},
    "Sort": {"sortBy": (0, SORT)},
    "Split": {"index": (0, FILTER), "key": (0, FILTER)},
}
"""Parameter that is an expression -> the input port whose attributes it uses, and the kind of use.

The expressions of Join use the attributes of both ports.
"""
_NAMES: Mapping[str, Mapping[str, tuple[int, ColumnUse]]] = {
    "Aggregate": {"groupBy": (0, GROUP_BY), "partitionBy": (0, GROUP_BY)},
    "DeDuplicate": {"deltaAttribute": (0, FILTER)},
    "Join": {"equalityLHS": (0, JOIN), "equalityRHS": (1, JOIN)},
    "Sort": {"partitionBy": (0, WINDOW)},
}
"""Parameter that names attributes -> the input port that has them, and the kind of use."""
_OF_PORTS: Mapping[str, Mapping[str, ColumnUse]] = {
    "Barrier": {"partitionBy": JOIN},
    "Merge": {"orderBy": SORT},
    "Pair": {"partitionBy": JOIN},
}
"""Operator -> its parameters that name attributes of all input ports: one name for all, or a name per port."""


def column_influences(
    kind: str, parameters: Mapping[str, Any], ports: Sequence[Port]
) -> dict[Pair, frozenset[ColumnUse]]:
    """Return the attributes of the input ports that decide which tuples are submitted, with the way in which they do.

    Attributes that only decide when a tuple is submitted, as in Gate, Switch or Throttle, are not among them. Nor are
    attributes of expressions and windows with mistakes, which checking reports, and attributes that a port lacks.

    Args:
        kind: the name of a standard operator, without its namespace.
        parameters: the parameters as in the spec.
        ports: the tuple types of the input ports.
    """
    found = chain(
        _of_conditions(kind, parameters, ports),
        _of_names(kind, parameters, len(ports)),
        _of_windows(kind, parameters),
    )
    uses = united({pair: frozenset({use})} for pair, use in found)
    return {(port, name): ways for (port, name), ways in uses.items() if port < len(ports) and name in ports[port]}


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _of_conditions(kind: str, parameters: Mapping[str, Any], ports: Sequence[Port]) -> Iterable[tuple[Pair, ColumnUse]]:
    for parameter, (port, use) in _CONDITIONS.get(kind, {}).items():
        if parameter not in parameters or port >= len(ports):
            continue
        joined = kind == "Join"
        types = types_of(kind, ports) if joined else ports[port]
        scope = scope_of(kind, ports)
        for text in _listed(parameters[parameter]):
            try:
                names = attributes(typed(str(text), types))
            except ExpressionError:
                continue  # checking the operator reports it
            for name in names:
                for pair in scope[name] if joined else ((port, name),):
                    yield pair, use


def _of_names(kind: str, parameters: Mapping[str, Any], ports: int) -> Iterable[tuple[Pair, ColumnUse]]:
    for parameter, (port, use) in _NAMES.get(kind, {}).items():
        for name in _listed(parameters.get(parameter) or []):
            yield (port, str(name)), use
    if kind == "Lookup":
        for name in _listed(parameters.get("attribute") or parameters.get("key") or []):
            yield (0, str(name)), JOIN
    for parameter, use in _OF_PORTS.get(kind, {}).items():
        given = _listed(parameters.get(parameter) or [])
        for_each = isinstance(parameters.get(parameter), list) if parameter == "orderBy" else _is_nested(given)
        for port in range(len(given) if for_each else ports):
            for name in _listed(given[port]) if for_each else given:
                yield (port, str(name)), use


def _is_nested(values: list[Any]) -> bool:
    return any(isinstance(each, list) for each in values)


def _of_windows(kind: str, parameters: Mapping[str, Any]) -> Iterable[tuple[Pair, ColumnUse]]:
    if kind not in ("Aggregate", "Join", "Sort") or "window" not in parameters:
        return
    clauses = _listed(parameters["window"])
    sides = range(2) if kind == "Join" else range(1)
    for port in sides:
        try:
            window = parse_window(str(clauses[min(port, len(clauses) - 1)]), least=0)
        except ValueError:
            continue  # checking the operator reports it
        names = (window.eviction.attribute, window.trigger.attribute, parameters.get("timeAttribute"))
        yield from (((port, str(name)), WINDOW) for name in names if name is not None)
