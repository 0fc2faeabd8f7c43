"""Rules of single standard operators about their parameters and ports together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Argument, Invocation
from streams_orchestration.spl.types.types import FLOAT64, INT64, RSTRING, UNKNOWN, Collection, Type
from streams_orchestration.spl.typing.typed import Constant, Expression, TupleOf

Report = Callable[[str, str, tree.Node], None]
_OUTPUTS = {"inner": 1, "leftOuter": 2, "rightOuter": 2, "outer": 3}
"""The greatest number of output ports of a Join by its algorithm."""


def check_operator(
    invocation: Invocation, kind: str, given: Mapping[str, tuple[Expression, ...]], report: Report
) -> None:
    """Report parameters of an operator that are right one by one, and do not go together."""
    arguments = {each.label.name: each for each in invocation.arguments}
    if kind == "Join":
        _check_keys(arguments, given, "equalityLHS", "equalityRHS", report)
        _check_keys(arguments, given, "partitionByLHS", "partitionByRHS", report, types=False)
        _check_join_ports(invocation, given, report)
    elif kind in ("Barrier", "Pair"):
        _check_keys(arguments, given, "partitionByLHS", "partitionByRHS", report)
    elif kind == "Export" and "properties" in given:
        _check_properties(arguments["properties"], given["properties"], report)


def _check_keys(
    arguments: Mapping[str, Argument],
    given: Mapping[str, tuple[Expression, ...]],
    left: str,
    right: str,
    report: Report,
    *,
    types: bool = True,
) -> None:
    """Report keys of two sides that are not compared one by one."""
    one, other = given.get(left, ()), given.get(right, ())
    if types and len(one) != len(other):
        label = arguments[right if right in arguments else left].label
        report("CDISP9071E", f"{left} has {len(one)} values, and {right} has {len(other)}", label)
        return
    values = arguments[right].values if right in arguments else ()
    for first, second, written in zip(one, other, values if isinstance(values, tuple) else (), strict=False):
        if types and first.type != second.type and UNKNOWN not in (first.type, second.type):
            message = f"this value of {right} is {second.type}, and that of {left} is {first.type}"
            report("CDISP9071E", message, written)


def _check_join_ports(invocation: Invocation, given: Mapping[str, tuple[Expression, ...]], report: Report) -> None:
    algorithm = given.get("algorithm", ())
    word = str(algorithm[0].value) if algorithm and isinstance(algorithm[0], Constant) else "inner"
    most, count = _OUTPUTS.get(word, 3), len(invocation.outputs)
    if count not in (1, most):
        wanted = "1 output port" if most == 1 else f"1 or {most} output ports"
        report("CDISP9068E", f"Join with the algorithm {word} has {wanted}, and not {count}", invocation.operator)


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
    """Return the value of an attribute in a tuple literal."""
    for entry in written.entries if isinstance(written, tree.BraceLiteral) else ():
        key = entry.key
        if isinstance(key, tree.Binary) and isinstance(key.left, tree.Name) and key.left.name == name:
            return key.right
    return written
