"""Checks of consistent regions and of the operators in them (A.7, A34-A36, A38, A50)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from streams_orchestration.compiler.logical.control_ports import is_control_port
from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.regions.starts import RegionStarts, innermost_annotations
from streams_orchestration.compiler.stage_results import ConsistentRegion
from streams_orchestration.model.diagnostics import Diagnostic

_Finding = tuple[str, str]
"""A code and a message."""
_SHOWN = 12
"""The most operators of a loop that a message names."""
_REFUSED_PARAMETERS: dict[str, tuple[str, ...]] = {
    "FileSink": ("append", "compression"),
    "FileSource": ("deleteFile", "moveFileToDirectory", "hotFile"),
    "Barrier": ("bufferSize",),
    "Pair": ("bufferSize",),
}
"""Operator -> parameters that it must not have in a consistent region (CDISP9243E)."""


def find_loops(logical: LogicalGraph, region_of: Sequence[int], starts: Collection[int]) -> Iterator[Diagnostic]:
    """Yield a finding for each connection that closes a loop: CDISP0832E with a start in it, else CDISP0833E.

    A connection into a control port closes no loop, unless it enters a start operator.
    """
    followed: dict[int, list[int]] = {}
    for connection in logical.connections:
        source, target = connection.source, connection.target
        if region_of[source] == region_of[target] >= 0 and (
            target in starts or not is_control_port(logical.operators[target], connection.target_port)
        ):
            followed.setdefault(source, []).append(target)
    visited: set[int] = set()
    for root in sorted(followed):
        if root in visited:
            continue
        visited.add(root)
        path = [root]
        position = {root: 0}
        passed = [0, int(root in starts)]  # start operators on the path, up to every position
        rest = [iter(followed[root])]
        while path:
            for successor in rest[-1]:
                if successor in position:
                    begin = position[successor]
                    code = "CDISP0832E" if passed[-1] > passed[begin] else "CDISP0833E"
                    yield _loop(logical, code, path[begin : begin + _SHOWN], len(path) - begin)
                elif successor not in visited:
                    visited.add(successor)
                    position[successor] = len(path)
                    path.append(successor)
                    passed.append(passed[-1] + (successor in starts))
                    rest.append(iter(followed.get(successor, ())))
                    break
            else:
                rest.pop()
                passed.pop()
                del position[path.pop()]


def _loop(logical: LogicalGraph, code: str, shown: Sequence[int], length: int) -> Diagnostic:
    first = logical.operators[shown[0]]
    names = [logical.operators[index].name for index in shown] + (["..."] if length > len(shown) else [])
    message = f"a loop lies inside the region: {' -> '.join([*names, first.name])}"
    return Diagnostic.of(code, message, operator=first.name, location=first.location)


def check_regions(
    logical: LogicalGraph,
    regions: Sequence[ConsistentRegion],
    region_of: Sequence[int],
    roots: RegionStarts,
    expanded: Sequence[ConsistentRegion],
) -> list[Diagnostic]:
    """Return the findings on the regions of an application.

    Args:
        logical: the application.
        regions: its regions, by index.
        region_of: per logical operator the index of its region, -1 for none.
        roots: starts and barriers by the annotations.
        expanded: the regions after the parallel expansion.
    """
    diagnostics = [*_imports_and_exports(logical, region_of)]
    diagnostics += _ports(logical, regions, region_of)
    for operator in logical.operators:
        if region_of[operator.index] >= 0:
            diagnostics += _member(operator, regions[region_of[operator.index]], start=operator.index in roots.starts)
        else:
            diagnostics += [_at(operator, code, message) for code, message in _outside_findings(operator)]
    started = set(roots.starts.values())
    for number, annotation in enumerate(roots.created):
        if number not in started:
            message = (
                f"the region of {annotation.scope} has no operator: all operators inside have annotations of their own"
            )
            diagnostics.append(
                Diagnostic.of("SO1001", message, operator=annotation.scope, location=annotation.location)
            )
    for region in regions:
        if region.trigger == "operatorDriven" and len({roots.starts[start] for start in region.starts}) == 1:
            diagnostics += _trigger(logical, region, expanded)
    diagnostics += find_loops(logical, region_of, roots.starts)
    return diagnostics


def _at(operator: LogicalOperator, code: str, message: str) -> Diagnostic:
    return Diagnostic.of(code, message, operator=operator.name, location=operator.location)


def _imports_and_exports(logical: LogicalGraph, region_of: Sequence[int]) -> Iterator[Diagnostic]:
    """Yield a finding for each Import in a consistent composite (A22), and each Export of a member (CDISP0697E).

    Imports and Exports that are autonomous themselves are in order.
    """
    annotations = innermost_annotations(logical)
    for link in logical.imports:
        around = next((annotations[scope] for scope in reversed(link.composites) if scope in annotations), None)
        if around is not None and around.kind == "consistent" and not link.autonomous:
            message = f"{link.name} imports into the consistent composite {around.scope} and is not autonomous itself"
            yield Diagnostic.of("CDISP0697E", message, operator=link.name, location=link.location)
    for link in logical.exports:
        if region_of[link.operator] >= 0 and not link.autonomous:
            member = logical.operators[link.operator].name
            message = f"{link.name} exports a stream of {member}, a member of a region, and is not autonomous itself"
            yield Diagnostic.of("CDISP0697E", message, operator=link.name, location=link.location)


def _ports(
    logical: LogicalGraph, regions: Sequence[ConsistentRegion], region_of: Sequence[int]
) -> Iterator[Diagnostic]:
    """Yield a finding for each port of a member that mixes streams of a region with others (A38).

    The others are autonomous streams (CDISP0670E) or an import (SO1002).
    """
    from_region: set[tuple[int, int]] = set()
    from_nowhere: set[tuple[int, int]] = set()
    for connection in logical.connections:
        if region_of[connection.target] >= 0:
            producers = from_region if region_of[connection.source] >= 0 else from_nowhere
            producers.add((connection.target, connection.target_port))
    for index, port in sorted(from_region & from_nowhere):
        operator = logical.operators[index]
        message = f"input port {port} of {operator.name} reads streams of a region and autonomous ones"
        yield _at(operator, "CDISP0670E", message)
    imported = {(link.operator, link.port): link for link in logical.imports}
    autonomous = {(index, port) for region in regions for index, ports in region.autonomous_ports for port in ports}
    for (index, port), link in sorted(imported.items()):
        if (index, port) in from_region and (index, port) not in autonomous:
            operator = logical.operators[index]
            message = f"input port {port} of {operator.name} reads streams of its region and the import {link.name}"
            yield _at(operator, "SO1002", message)


def _member(operator: LogicalOperator, region: ConsistentRegion, *, start: bool) -> Iterator[Diagnostic]:
    """Yield violations of the conditions for members, and for starts if `start` is True."""
    if operator.checkpoint is not None:
        yield _at(operator, "CDISP0695E", f"{operator.name} is in a region and has a checkpoint config")
    if not operator.may_be_member:
        reason = f": {operator.region_reason}" if operator.region_reason else ""
        yield _at(operator, "CDISP9245E", f"{operator.name} ({operator.kind}) cannot be in a region{reason}")
    if not operator.restartable:
        yield _at(operator, "SO1003", f"{operator.name} is in a region but is not restartable")
    ports = range(len(operator.inputs))
    if start:
        for code, message in _start_findings(operator):
            yield _at(operator, code, message)
    elif operator.inputs and operator.outputs and all(is_control_port(operator, port) for port in ports):
        yield _at(operator, "CDISP0834E", f"{operator.name} has outputs, but all of its inputs are control ports")
    for code, message in _member_findings(operator, region, start=start):
        yield _at(operator, code, message)


def _trigger(
    logical: LogicalGraph, region: ConsistentRegion, expanded: Sequence[ConsistentRegion]
) -> Iterator[Diagnostic]:
    """Check that an operator-driven region has one start, also when expanded (CDISP0837E to 0839W, CDISR1359E).

    Replicas of the start form one region if the flow leaves their parallel region, since the channels meet there.
    Otherwise every channel is a region of its own (A42).
    """
    starts = [logical.operators[index] for index in region.starts]
    if len(starts) > 1:
        names = ", ".join(start.name for start in starts)
        yield _at(starts[0], "CDISP0837E", f"the operator-driven region has {len(starts)} starts: {names}")
        return
    start = starts[0]
    refused = False
    for index in start.regions:
        parallel = logical.regions[index]
        if all(index in logical.operators[member].regions for member in region.operators):
            continue
        where = f"{start.name} starts an operator-driven region that leaves the parallel region {parallel.name}"
        if parallel.width_submission:
            yield _at(start, "CDISP0839W", f"{where}, whose width is {parallel.width_submission}")
        elif parallel.width > 1:
            refused = True
            yield _at(start, "CDISP0838E", f"{where} of width {parallel.width}")
    if refused:
        return
    for replica in expanded:
        if replica.logical_index == region.index and len(replica.starts) > 1:
            message = f"the operator-driven region of {start.name} has {len(replica.starts)} starts after the expansion"
            yield _at(start, "CDISR1359E", message)


def _start_findings(operator: LogicalOperator) -> Iterator[_Finding]:
    """Yield the reasons why an operator cannot be the start of a region."""
    if operator.standard and operator.kind == "Custom":
        yield "CDISP0831E", f"{operator.name} is a Custom and cannot start a region"
    elif operator.standard and operator.kind == "FileSource" and operator.inputs:
        yield "CDISP9244E", f"{operator.name} is a FileSource with an input port and cannot start a region"
    elif operator.may_be_member and not operator.may_start:
        reason = f": {operator.region_reason}" if operator.region_reason else ""
        yield "CDISP9250E", f"{operator.name} ({operator.kind}) cannot start a region{reason}"


def _member_findings(operator: LogicalOperator, region: ConsistentRegion, *, start: bool) -> Iterator[_Finding]:
    """Yield the code and the message for each parameter of a standard member that its region forbids or requires."""
    if not operator.standard:
        return
    parameters = operator.parameters
    for name in _REFUSED_PARAMETERS.get(operator.kind, ()):
        if _is_set(parameters.get(name)):
            yield "CDISP9243E", f"parameter {name} of {operator.name} cannot be used in a consistent region"
    match operator.kind:
        case "FileSink":
            if _is_set(parameters.get("writeStateHandlerCallbacks")) and _text(parameters, "format", "csv") != "csv":
                yield "CDISP9246E", f"writeStateHandlerCallbacks of {operator.name} needs the csv format"
            if _is_set(parameters.get("truncateOnReset")) and _text(parameters, "closeMode") in ("dynamic", "time"):
                yield "CDISP9248E", f"truncateOnReset of {operator.name} cannot be combined with its closeMode"
        case "DirectoryScan":
            if region.trigger == "periodic" and _is_set(parameters.get("moveToDirectory")):
                yield "CDISP9255E", f"{operator.name} moves files and is in a periodic region"
        case "Parse":
            if _text(parameters, "format") == "block":
                yield "CDISP9257E", f"format block of {operator.name} cannot be used in a consistent region"
        case "Beacon":
            driven = region.trigger == "operatorDriven" and start
            if driven and not _is_set(parameters.get("triggerCount")):
                yield "CDISP9253W", f"{operator.name} triggers its region but has no triggerCount"
            if not driven and _is_set(parameters.get("triggerCount")):
                yield "CDISP9254W", f"{operator.name} has triggerCount but does not trigger its region"
        case _:
            pass


def _outside_findings(operator: LogicalOperator) -> Iterator[_Finding]:
    """Yield a finding if a standard operator outside of regions, or one of its parameters, only works in a region."""
    if not operator.standard:
        return
    if operator.kind == "FileSink" and "truncateOnReset" in operator.parameters:
        yield "CDISP9247E", f"{operator.name} has truncateOnReset but is in no region"
    if operator.kind == "Beacon" and _is_set(operator.parameters.get("triggerCount")):
        yield "CDISP9254W", f"{operator.name} has triggerCount but is in no region"
    if operator.kind == "Buffer":
        yield "CDISP9251W", f"{operator.name} is a Buffer in no region"


def _is_set(value: object) -> bool:
    return value is not None and value is not False


def _text(parameters: dict[str, object], name: str, default: str = "") -> str:
    return str(parameters.get(name, default))
