"""Checks of the parameters and ports of single standard operators that must fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streams_orchestration.spl.application.actuals import node_of
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Argument, Invocation
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.types.types import (
    DECIMALS,
    FLOAT64,
    INT64,
    INTEGERS,
    RSTRING,
    UNKNOWN,
    Collection,
    Type,
    parts_of_type,
)
from streams_orchestration.spl.typing.scopes import Port
from streams_orchestration.spl.typing.spans import Report
from streams_orchestration.spl.typing.typed import Constant, Convert, Expression, OutputCall, TupleOf

_DECIMAL_FREE = ("deltaAttribute",)
"""Parameters by whose values tuples differ, which cannot be decimals, since streams carry decimals as texts."""
_OUTPUTS = {"inner": 1, "leftOuter": 2, "rightOuter": 2, "outer": 3}
"""Algorithm of a Join -> the highest number of output ports."""
_PASSING = frozenset(("Delay", "DynamicFilter", "Gate", "Pair", "ReplayableStart", "Throttle"))
"""Operators whose first output port has the tuple type of their first input port; for a Pair, of all input ports."""
_INTEGERS = {
    "Beacon": ("iterations",),
    "FileSink": ("tuplesPerFile", "bytesPerFile"),
    "Gate": ("maxUnackedTupleCount", "numTuplesToAck"),
    "Split": ("index",),
}
"""Operator -> parameters that are integers of any integer type; `index` of a Split may also be a list of integers."""
_NEEDED = {
    "FileSource": ("file", "file, or an input port with the names of files"),
    "Split": ("index", "index, or file and key"),
}
"""Operator -> a parameter that is required unless others replace it, and a text with all alternatives for messages."""


def check_operator(
    invocation: Invocation,
    kind: str,
    given: Mapping[str, tuple[Expression, ...]],
    ports: tuple[Sequence[Port], Sequence[Port]],
    report: Report,
) -> None:
    """Report parameters and ports of an operator that are valid on their own, but contradict each other.

    Args:
        invocation: the invocation.
        kind: the operator.
        given: the values of the parameters.
        ports: the input and the output ports.
        report: takes each mistake.
    """
    arguments = {each.label.name: each for each in invocation.arguments}
    inputs, outputs = ports
    if outputs and outputs[0].is_known:
        _check_streams(invocation, kind, inputs, outputs[0], report)
    for name in _INTEGERS.get(kind, ()):
        for value in given.get(name, ()):
            if not _is_integer(value.type, lists=kind == "Split"):
                report(
                    "CDISP0048E",
                    f"{name} of {kind} must be an integer, but this is {value.type}",
                    node_of(arguments[name]),
                )
    needed, named = _NEEDED.get(kind, ("", ""))
    replaced = bool(inputs) if kind == "FileSource" else "key" in arguments
    if needed and needed not in arguments and not replaced:
        report("CDISP0208E", f"{kind} needs the parameter {named}", invocation.operator)
    if kind == "Join":
        _check_keys(arguments, given, "equalityLHS", "equalityRHS", report)
        _check_join_ports(invocation, given, report)
    elif kind in ("Barrier", "Pair"):
        _check_keys(arguments, given, "partitionByLHS", "partitionByRHS", report)
        for port in range(1, len(inputs)):
            _check_keys(arguments, given, "partitionBy0", f"partitionBy{port}", report)
    for name in _DECIMAL_FREE:
        for value in given.get(name, ()):
            if DECIMALS.keys() & set(parts_of_type(value.type)):
                report(
                    "SO0735",
                    f"{name} of {kind} is {value.type}, but it must be another number or a timestamp",
                    node_of(arguments[name]),
                )
    if kind == "Export" and "properties" in given:
        _check_properties(arguments["properties"], given["properties"], report)


def _check_streams(invocation: Invocation, kind: str, inputs: Sequence[Port], output: Port, report: Report) -> None:
    """Report streams that an operator cannot pass on to its output port, because their tuple types differ.

    A Union needs the attributes of its output. Operators of `_PASSING` need the same type at their first input port,
    and a Pair at all ports. Other operators and streams of unknown type are not checked.
    """
    for at, (port, written) in enumerate(zip(inputs, invocation.inputs, strict=False)):
        stream = written.streams[0]
        if not port.is_known or port.type == output.type:
            continue
        if kind == "Union":
            for each in output.type.attributes:
                own = port.type.type_of(each.name)
                if own != each.type:
                    what = f"no attribute {each.name}" if own is None else f"{own} {each.name}"
                    message = f"{stream} has {what}, but the output stream has {each.type} {each.name}"
                    report("CDISP0457E", message, stream)
        elif kind in _PASSING and (at == 0 or kind == "Pair"):
            message = f"{stream} has the type {port.type}, but the output stream of {kind} has the type {output.type}"
            report("CDISP0457E", message, stream)


def _is_integer(type_: Type, *, lists: bool) -> bool:
    if lists and isinstance(type_, Collection) and type_.kind == "list":
        type_ = type_.elements[0]
    return type_ == UNKNOWN or type_ in INTEGERS


def nested_calls(kind: str, value: Expression) -> list[OutputCall]:
    """Return the calls of output functions that are parts of larger expressions in an assignment.

    Only Beacon and XMLParse allow such calls.
    """
    if kind in ("Beacon", "XMLParse"):
        return []
    while isinstance(value, Convert):  # the program does not write this conversion
        value = value.operand
    return [each for each in nodes_in(value, OutputCall) if each is not value]


def _check_keys(
    arguments: Mapping[str, Argument],
    given: Mapping[str, tuple[Expression, ...]],
    left: str,
    right: str,
    report: Report,
) -> None:
    """Report two key parameters that are compared pairwise, but differ in the number or the types of their values."""
    one, other = given.get(left, ()), given.get(right, ())
    if len(one) != len(other):
        label = arguments[right if right in arguments else left].label
        report("CDISP9071E", f"{left} has {len(one)} values, but {right} has {len(other)}", label)
        return
    values = arguments[right].values if right in arguments else ()
    for first, second, written in zip(one, other, values if isinstance(values, tuple) else (), strict=False):
        if first.type != second.type and UNKNOWN not in (first.type, second.type):
            message = f"this value of {right} is {second.type}, but the value of {left} is {first.type}"
            report("CDISP9071E", message, written)


def _check_join_ports(invocation: Invocation, given: Mapping[str, tuple[Expression, ...]], report: Report) -> None:
    algorithm = given.get("algorithm", ())
    word = str(algorithm[0].value) if algorithm and isinstance(algorithm[0], Constant) else "inner"
    most, count = _OUTPUTS.get(word, 3), len(invocation.outputs)
    if count not in (1, most):
        wanted = "1 output port" if most == 1 else f"1 or {most} output ports"
        report("CDISP9068E", f"Join with the algorithm {word} has {wanted}, not {count}", invocation.operator)


def _check_properties(argument: Argument, values: tuple[Expression, ...], report: Report) -> None:
    for value in values:
        for name, each in value.attributes if isinstance(value, TupleOf) else ():
            if not _is_property(each.type):
                written = argument.values[0] if isinstance(argument.values, tuple) else argument.label
                message = f"the property {name} is {each.type}; a property is rstring, int64 or float64, or a list"
                report("CDISP0177E", message, _part(written, name))


def _is_property(type_: Type) -> bool:
    if isinstance(type_, Collection) and type_.kind == "list":
        type_ = type_.elements[0]
    return type_ in (RSTRING, INT64, FLOAT64, UNKNOWN)


def _part(written: tree.Node, name: str) -> tree.Node:
    """Return the value of one attribute in a tuple literal; any other expression is returned itself."""
    for entry in written.entries if isinstance(written, tree.BraceLiteral) else ():
        key = entry.key
        if isinstance(key, tree.Binary) and isinstance(key.left, tree.Name) and key.left.name == name:
            return key.right
    return written
