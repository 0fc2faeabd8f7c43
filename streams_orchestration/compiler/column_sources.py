"""The attributes of input streams from which standard operators compute the attributes of their outputs.

The names come from the typed trees of the expressions, so a text in quotes, a field of a struct or a function is never
taken for an attribute.

>>> ports = [port_of("carrier string, delay double")]
>>> sources = column_sources("Functor", {"output": {"late": "Delay > 15"}}, ports, ["carrier", "late"])
>>> for name, uses in sources.items():
...     print(name, {pair: [str(each) for each in ways] for pair, ways in uses.items()})
carrier {(0, 'carrier'): ['DIRECT IDENTITY']}
late {(0, 'delay'): ['DIRECT TRANSFORMATION']}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from streams_orchestration.compiler.column_uses import AGGREGATION, IDENTITY, Uses, united, uses_of
from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.naming import outer_call
from streams_orchestration.expressions.types import Type, parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration.model.schema import parse_schema

Port = Mapping[str, Type]
"""The tuple type of an input port: attribute -> type."""
Pair = tuple[int, str]
"""An attribute of an input port."""
Sources = frozenset[Pair]

_FIRST_PORT = frozenset(
    (
        *("Filter", "Split", "Throttle", "DeDuplicate", "Delay", "DynamicFilter", "Gate", "Sort", "Switch"),
        *("ThreadedSplit", "Lookup", "ReplayableStart"),
    )
)
"""Operators that submit the attributes of their first input port unchanged; their other ports only control them."""
_ALL_PORTS = frozenset(("Union", "Merge", "Pair"))
"""Operators that submit the attributes of all input ports unchanged."""
_ASSIGNING = frozenset(("Aggregate", "CharacterTransform", "Functor", "Punctor"))
"""Operators with an expression for each attribute that they do not submit unchanged."""
_JOINED = {"Join": ("lhs_{}", "rhs_{}"), "Barrier": ("in{0}_{1}",)}
"""Operators whose expressions can use the attributes of all input ports."""
_TYPED: Mapping[str, Mapping[str, int]] = {
    "DeDuplicate": {"key": 0},
    "DynamicFilter": {"key": 0, "addKey": 1, "removeKey": 2},
    "Filter": {"filter": 0},
    "Functor": {"filter": 0},
    "Gate": {"numTuplesToAck": 1},
    "Join": {"match": 0},
    "MetricsSink": {"metrics": 0},
    "Punctor": {"punctuate": 0},
    "Sort": {"sortBy": 0},
    "Split": {"index": 0, "key": 0},
    "Switch": {"status": 1},
}
"""Parameter other than `output` that is an expression -> the input port whose attributes it uses."""


def port_of(ddl: str) -> Port:
    """Return the tuple type of a port from its DDL; a DDL that cannot be read to its end gives no attributes."""
    return {each.name: parse_type(each.type) for each in parse_schema(ddl).attributes}


def column_sources(
    kind: str, parameters: Mapping[str, Any], ports: Sequence[Port], columns: Sequence[str], output: int = 0
) -> dict[str, Uses[Pair]]:
    """Map attributes of an output port to the input attributes of their values, and the kind of dependence.

    Attributes that only decide if, where or when a tuple is submitted, such as in a filter, are not among them (see
    `column_influences`).

    Args:
        kind: the name of a standard operator, without its namespace.
        parameters: the parameters as in the spec.
        ports: the tuple types of the input ports.
        columns: the attributes of the output port.
        output: the number of the output port.

    Returns:
        Attribute -> its sources. An attribute has none if the operator's code computes it, if a Lookup takes it from
        its table, or if its expression has a mistake.
    """
    if kind == "Join" and output:  # the unmatched tuples of one side, alone
        side = 1 if output == 2 or parameters.get("algorithm") == "rightOuter" else 0
        return {name: {(side, name): frozenset({IDENTITY})} if name in ports[side] else {} for name in columns}
    scope = scope_of(kind, ports)
    assigned = _assigned(parameters, output) if kind in _ASSIGNING or kind in _JOINED else {}
    taken: Mapping[str, Any] = parameters.get("take") or {} if kind == "Lookup" else {}
    types = types_of(kind, ports)
    return {
        column: _uses_in(assigned[column], kind, scope, types)
        if column in assigned
        else dict.fromkeys(() if column in taken else sorted(scope.get(column, ())), frozenset({IDENTITY}))
        for column in columns
    }


def expression_types(kind: str, parameters: Mapping[str, Any], ports: Sequence[Port]) -> dict[str, str]:
    """Return the types of an operator's expressions by their parameters, such as `output.late`.

    The types of a list of expressions are one text, in order. Expressions without a type, which checking reports, and
    the outputs of Aggregate are left out.

    Args:
        kind: the name of a standard operator, without its namespace.
        parameters: the parameters as in the spec.
        ports: the tuple types of the input ports.
    """
    written: dict[str, tuple[list[Any], Port]] = {}
    for name, number in _TYPED.get(kind, {}).items():
        if name in parameters and number < len(ports):
            value: Any = parameters[name]
            scope = types_of(kind, ports) if kind in _JOINED else ports[number]
            written[name] = cast("list[Any]", value if isinstance(value, list) else [value]), scope
    if kind in ("CharacterTransform", "Functor", "Punctor", *_JOINED):
        clause: Any = parameters.get("output") or {}
        for number in range(len(cast("list[Any]", clause)) if isinstance(clause, list) else 1):
            label = f"output[{number}]" if isinstance(clause, list) else "output"
            for name, text in _assigned(parameters, number).items():
                written[f"{label}.{name}"] = [text], types_of(kind, ports)
    types: dict[str, str] = {}
    for name, (texts, scope) in written.items():
        try:
            types[name] = ", ".join(str(typed(str(text), scope).type) for text in texts)
        except ExpressionError:
            continue
    return types


def types_of(kind: str, ports: Sequence[Port]) -> Port:
    """Return the types of the names that an operator's expressions may use; a name of several ports has the first."""
    return {name: ports[min(of)[0]][min(of)[1]] for name, of in scope_of(kind, ports).items()}


def scope_of(kind: str, ports: Sequence[Port]) -> dict[str, Sources]:
    """Return the names that expressions of an operator may use, each with the attributes to which it refers.

    An attribute that several ports of a Join or Barrier have is named with its port, as in `lhs_a` and `in0_a`. An
    operator whose code computes the values has no names.
    """
    if kind in _JOINED:
        several = Counter(name for port in ports for name in port)
        forms = _JOINED[kind]
        return {
            name if several[name] == 1 else _renamed(forms, number, name): frozenset({(number, name)})
            for number, port in enumerate(ports)
            for name in port
        }
    if kind not in _FIRST_PORT | _ALL_PORTS | _ASSIGNING:
        return {}
    scope: dict[str, Sources] = {}
    for number, port in enumerate(ports if kind in _ALL_PORTS else ports[:1]):
        for name in port:
            scope[name] = scope.get(name, frozenset[tuple[int, str]]()) | {(number, name)}
    return scope


def _renamed(forms: Sequence[str], number: int, name: str) -> str:
    return forms[number].format(name) if len(forms) > 1 else forms[0].format(number, name)


def _assigned(parameters: Mapping[str, Any], output: int) -> dict[str, str]:
    """Return the expression of each attribute of one output port; `output` is one clause for all ports, or a list.

    Without a clause for the port there are none.
    """
    clause: Any = parameters.get("output") or {}
    ports = cast("list[Mapping[str, Any]]", clause if isinstance(clause, list) else [clause] * (output + 1))
    return {name: str(text) for name, text in ports[output].items()} if output < len(ports) else {}


def _uses_in(text: str, kind: str, scope: Mapping[str, Sources], types: Port) -> Uses[Pair]:
    """Return the attributes that an expression, or the arguments of an output function, use, and how.

    A faulty expression uses none.
    """
    try:
        call = outer_call(text) if kind == "Aggregate" else None
        texts = [text] if call is None else [part.text for part in call.arguments]
        uses = united(uses_of(typed(each, types), None if call is None else AGGREGATION) for each in texts)
    except ExpressionError:
        return {}  # checking the operator reports it
    return united({pair: ways} for name, ways in uses.items() for pair in scope[name])
