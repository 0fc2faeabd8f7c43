"""Conversion of SPL values to the forms of our operators: output functions, enumerations, attributes of tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.types.columns import has_canonical_column, may_hold_nan
from streams_orchestration.spl.types.types import INT32, Collection, Enumeration, Optional, Tuple, TupleAttribute
from streams_orchestration.spl.typing.defaults import own_default
from streams_orchestration.spl.typing.scopes import Port
from streams_orchestration.spl.typing.spans import Span
from streams_orchestration.spl.typing.typed import (
    Call,
    Cast,
    Constant,
    Expression,
    ListOf,
    Member,
    OutputCall,
    PortAttribute,
    TupleOf,
)

_BY_FIRST = frozenset(("ArgMin", "ArgMax", "CollectArgMin", "CollectArgMax"))
"""Output functions that compare by their first argument in Streams, and by their second argument here."""
_ORDERED = frozenset(("Min", "Max", "MinCount", "MaxCount"))
"""Output functions that depend on the order of values."""


def attributes_of(value: Expression) -> list[tuple[str, Expression]]:
    """Return each attribute of an expression of a tuple type, with the expression of its value."""
    if isinstance(value, TupleOf):
        return list(value.attributes)
    assert isinstance(value.type, Tuple)
    return [(each.name, Member(value.span, each.type, value, each.name)) for each in value.type.attributes]


def own_parameters(
    kind: str, given: Mapping[str, tuple[Expression, ...]], inputs: Sequence[Port], place: Span
) -> dict[str, tuple[Expression, ...]]:
    """Return the parameters of an operator, with those that Streams implies, and with keys in our form.

    Args:
        kind: the operator.
        given: its parameters.
        inputs: its input ports.
        place: the place of the expressions.
    """
    if kind == "DeDuplicate" and "key" not in given:
        return {**given, **_whole_key(inputs, place)}
    return {**_absent_partners(given, inputs, place), **given, **_equal_nulls(given)} if kind == "Join" else {**given}


def _absent_partners(
    given: Mapping[str, tuple[Expression, ...]], inputs: Sequence[Port], place: Span
) -> dict[str, tuple[Expression, ...]]:
    """Return the default tuples of a Join's sides that may lack a partner, by the algorithm.

    Attributes whose columns have the same default are left out, and a tuple without any attribute as well.
    """
    [algorithm] = given.get("algorithm", (None,))
    word = algorithm.value if isinstance(algorithm, Constant) else ""
    found: dict[str, tuple[Expression, ...]] = {}
    for port, side, outer in zip(inputs, ("LHS", "RHS"), ("rightOuter", "leftOuter"), strict=False):
        values = [(each, value) for each in port.type.attributes if (value := own_default(each.type, place))]
        if values and word in ("outer", outer):
            type_ = Tuple(tuple(each for each, _ in values))
            found[f"defaultTuple{side}"] = (TupleOf(place, type_, tuple((each.name, value) for each, value in values)),)
    return found


def _equal_nulls(given: Mapping[str, tuple[Expression, ...]]) -> dict[str, tuple[Expression, ...]]:
    """Return the keys of a Join with lists of optional values, since null equals null in Streams, but not here.

    Return nothing if no key is optional, or if the keys do not match.
    """
    sides = [given.get(name, ()) for name in ("equalityLHS", "equalityRHS")]
    pairs = [(one, other) for one, other in zip(*sides, strict=False) if one.type == other.type]
    if len(pairs) != max(map(len, sides)) or not any(isinstance(one.type, Optional) for one, _ in pairs):
        return {}
    lists = [
        tuple(
            ListOf(each.span, Collection("list", (each.type,)), (each,)) if isinstance(each.type, Optional) else each
            for each in side
        )
        for side in sides
    ]
    return dict(zip(("equalityLHS", "equalityRHS"), lists, strict=True))


def own_call(call: OutputCall) -> OutputCall:
    """Return a call of an output function as a call of our function: arguments in our order, enumerations by number.

    Functions about a pane of event time are output functions here, and ordinary functions in Streams.
    """
    match call.arguments:
        case (Call(signature=Signature(namespace="spl.eventtime", name=name), arguments=()),) if call.name == "Last":
            return replace(call, name=name, arguments=())
        case _:
            pass
    if call.name in _BY_FIRST:
        first, second = call.arguments
        return replace(call, arguments=(second, in_order(first)))
    if call.name not in _ORDERED or not isinstance(call.arguments[0].type, Enumeration):
        return call
    [value] = call.arguments
    if call.name in ("MinCount", "MaxCount"):
        return replace(call, arguments=(in_order(value),))
    return replace(call, name=f"Arg{call.name}", arguments=(value, in_order(value)))


def _whole_key(inputs: Sequence[Port], place: Span) -> dict[str, tuple[Expression, ...]]:
    """Return the parameter `key` of a DeDuplicate without one: all attributes; nothing if their columns suffice.

    Args:
        inputs: the input ports.
        place: the place of the operator's name.
    """
    attributes = inputs[0].type.attributes if inputs else ()
    if not attributes or not any(map(_needs_expression, attributes)):
        return {}
    return {"key": tuple(PortAttribute(place, each.type, inputs[0].label, each.name) for each in attributes)}


def _needs_expression(attribute: TupleAttribute) -> bool:
    """Return True if values of an attribute may be equal, or unequal, where their columns are not."""
    return not has_canonical_column(attribute.type) or may_hold_nan(attribute.type)


def in_order(value: Expression) -> Expression:
    """Return an expression for the position of a word in its enumeration.

    Values of other types are returned unchanged.
    """
    return Cast(value.span, INT32, value) if isinstance(value.type, Enumeration) else value
