"""The attributes and whole tuples of an input port that an expression reads."""

from __future__ import annotations

from streams_orchestration.spl.application.values import parts_of
from streams_orchestration.spl.types.columns import beyond_column
from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing.scopes import Port
from streams_orchestration.spl.typing.typed import Expression, PortAttribute, PortTuple

_PORTS = {
    "DynamicFilter": {"key": 0, "addKey": 1, "removeKey": 2},
    "Gate": {"numTuplesToAck": 1},
    "Join": {"equalityLHS": 0, "equalityRHS": 1, "partitionByLHS": 0, "partitionByRHS": 1},
    "Switch": {"status": 1},
}
"""Operator with several input ports -> the input port whose tuples a parameter is about."""


def port_of(kind: str, parameter: str) -> int | None:
    """Return the number of the input port whose tuples a parameter is about; None for a parameter about all ports.

    >>> port_of("Switch", "status"), port_of("Barrier", "partitionBy2"), port_of("Join", "match")
    (1, 2, None)
    """
    number = parameter.removeprefix("partitionBy")
    if kind in ("Barrier", "Pair"):
        return int(number) if number.isdecimal() else {"LHS": 0, "RHS": 1}.get(number)
    return _PORTS.get(kind, {}).get(parameter)


def reads(checked: Expression, port: Port) -> bool:
    """Return True if an expression reads an attribute of a port, or its tuple."""
    return any(isinstance(each, PortTuple | PortAttribute) and each.port == port.label for each in parts_of(checked))


def reads_whole(checked: Expression, port: Port) -> bool:
    """Return True if an expression reads the tuple of a port as one value."""
    return any(isinstance(each, PortTuple) and each.port == port.label for each in parts_of(checked))


def beyond_columns(checked: Expression, port: Port) -> Tuple:
    """Return the attributes of a port that an expression reads, but whose SPL types their columns do not determine."""
    if reads_whole(checked, port):
        return beyond_column(port.type)
    attributes = [each for each in parts_of(checked) if isinstance(each, PortAttribute) and each.port == port.label]
    read = {each.name for each in attributes}
    return beyond_column(Tuple(tuple(each for each in port.type.attributes if each.name in read)))
