"""Checks of clauses and annotations of invocations that do not depend on the model of the operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from streams_orchestration.model.names import nearest
from streams_orchestration.spl.application.stream_names import UNKNOWN_TUPLE
from streams_orchestration.spl.application.values import ConstantReader
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import (
    Annotation,
    Composite,
    Invocation,
    InvocationInput,
    InvocationOutput,
)
from streams_orchestration.spl.types.types import DECIMALS, parts_of_type
from streams_orchestration.spl.typing.scopes import Meaning, Port, StreamName
from streams_orchestration.spl.typing.spans import Report


def check_composite_ports(invocation: Invocation, kind: str, composite: Composite, report: Report) -> None:
    """Report another number of ports than the composite has, at the operator's name."""
    for what, given, wanted, code in (
        ("input", len(invocation.inputs), len(composite.inputs), "CDISP0394E"),
        ("output", len(invocation.outputs), len(composite.outputs), "CDISP0395E"),
    ):
        if given != wanted:
            ports, verb = "port" if wanted == 1 else "ports", "is" if given == 1 else "are"
            report(code, f"{kind} has {wanted} {what} {ports}, but {given} {verb} given", invocation.operator)


def check_aliases(invocation: Invocation, report: Report) -> None:
    """Report an alias that two ports of an invocation have, or an input port and one of its own streams."""
    known: set[str] = set()
    for port in (*invocation.outputs, *invocation.inputs):
        alias = port.alias
        if alias is None:
            continue
        if alias.name in known:
            report("CDISP0025E", f"{alias} is the alias of another port, too", alias)
        elif isinstance(port, InvocationInput) and alias.name in {stream.name for stream in port.streams}:
            report("CDISP0086E", f"{alias} is an alias, and a stream of the same input port", alias)
        known.add(alias.name)


def check_composite_clauses(invocation: Invocation, kind: str, report: Report) -> None:
    """Report the clauses that an invocation of a composite may not have, at their first part."""
    for name, parts in (
        ("logic", invocation.logic),
        ("window", invocation.windows),
        ("output", invocation.assignments),
    ):
        if parts:
            report("CDISP0458E", f"{kind} is a composite, so its invocation has no {name} clause", parts[0])


def check_result(
    output: InvocationOutput, kind: str, made: Meaning | None, wanted: Meaning | None, report: Report
) -> None:
    """Report an output stream of an invocation whose type is not the composite's, if both types are known.

    Args:
        output: the output stream.
        kind: the name of the composite.
        made: the stream inside the composite that leaves by this output port.
        wanted: the stream that the invocation declares.
        report: takes the diagnostic.
    """
    if (
        isinstance(made, StreamName)
        and isinstance(wanted, StreamName)
        and made.type != wanted.type
        and UNKNOWN_TUPLE not in (made.type, wanted.type)
    ):
        message = f"{output.stream} has the type {wanted.type}, and {kind} gives {made.type}"
        report("CDISP0457E", message, output.stream)


def check_partitioning(
    annotations: Sequence[Annotation], inputs: Sequence[Port], reader: ConstantReader, report: Report
) -> None:
    """Report ports and attributes that @parallel names and the invocation does not have, and decimals as keys (SO0735).

    Attributes of a port whose type is not known are not checked.
    """
    for annotation in annotations:
        entries = reader.named(annotation.entries) if annotation.name.name == "parallel" else {}
        for port in _elements(entries.get("broadcast")):
            _named_port(port, inputs, report)
        for each in _elements(entries.get("partitionBy")):
            parts = reader.named(each.entries) if isinstance(each, tree.BraceLiteral) else {}
            found = _named_port(parts.get("port"), inputs, report)
            if found is None or not found.is_known:
                continue
            names = [attribute.name for attribute in found.type.attributes]
            for attribute in _elements(parts.get("attributes")):
                if isinstance(attribute, tree.Name) and attribute.name not in names and attribute.name[0] != "$":
                    message = f"the stream {found.label} has no attribute {attribute}{nearest(attribute.name, names)}"
                    report("CDISP0824E", message, attribute)
                kind = found.type.type_of(attribute.name) if isinstance(attribute, tree.Name) else None
                if kind is not None and DECIMALS.keys() & set(parts_of_type(kind)):
                    message = f"{attribute} is {kind}; equal decimals may have different texts, and so other channels"
                    report("SO0735", message, attribute)


def _elements(written: tree.Expression | None) -> Iterator[tree.Expression]:
    if isinstance(written, tree.ListLiteral):
        yield from written.elements


def _named_port(written: tree.Expression | None, inputs: Sequence[Port], report: Report) -> Port | None:
    """Return the input port that has a name, or whose stream has it; None without such a port.

    Report a name that no port has, except a formal parameter (`$name`).
    """
    if not isinstance(written, tree.Name) or written.name.startswith("$"):
        return None
    for each in inputs:
        if written.name == each.label or written.name in each.names:
            return each
    known = [name for each in inputs for name in (each.label, *each.names)]
    report("CDISP0823E", f"the region has no input port {written}{nearest(written.name, known)}", written)
    return None
