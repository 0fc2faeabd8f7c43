"""Rules of single standard operators for consistent regions (A36)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.stage_results import ConsistentRegion

Finding = tuple[str, str]
"""A code and a message."""

_REFUSED_PARAMETERS: dict[str, tuple[str, ...]] = {
    "FileSink": ("append", "compression"),
    "FileSource": ("deleteFile", "moveFileToDirectory", "hotFile"),
    "Barrier": ("bufferSize",),
    "Pair": ("bufferSize",),
}
"""Parameters that no region allows (CDISP9243E)."""


def start_findings(operator: LogicalOperator) -> Iterator[Finding]:
    """Yield why an operator cannot start a region."""
    if operator.kind == "Custom":
        yield "CDISP0831E", f"{operator.name} is a Custom and cannot start a region"
    elif operator.standard and operator.kind == "FileSource" and operator.inputs:
        yield "CDISP9244E", f"{operator.name} is a FileSource with an input port and cannot start a region"
    elif operator.may_be_member and not operator.may_start:
        reason = f": {operator.region_reason}" if operator.region_reason else ""
        yield "CDISP9250E", f"{operator.name} ({operator.kind}) cannot start a region{reason}"


def member_findings(operator: LogicalOperator, region: ConsistentRegion, *, start: bool) -> Iterator[Finding]:
    """Yield the code and the message for each parameter of a member that its region forbids or requires."""
    if not operator.standard:
        return
    parameters = operator.parameters
    for name in _REFUSED_PARAMETERS.get(operator.kind, ()):
        if _is_set(parameters.get(name)):
            yield "CDISP9243E", f"parameter {name} of {operator.name} does not go with a region"
    match operator.kind:
        case "FileSink":
            if _is_set(parameters.get("writeStateHandlerCallbacks")) and _text(parameters, "format", "csv") != "csv":
                yield "CDISP9246E", f"writeStateHandlerCallbacks of {operator.name} needs the csv format"
            if _is_set(parameters.get("truncateOnReset")) and _text(parameters, "closeMode") in ("dynamic", "time"):
                yield "CDISP9248E", f"truncateOnReset of {operator.name} does not go with its closeMode"
        case "DirectoryScan":
            if region.trigger == "periodic" and _is_set(parameters.get("moveToDirectory")):
                yield "CDISP9255E", f"{operator.name} moves files and is in a periodic region"
        case "Parse":
            if _text(parameters, "format") == "block":
                yield "CDISP9257E", f"format block of {operator.name} does not go with a region"
        case "Beacon":
            driven = region.trigger == "operatorDriven" and start
            if driven and not _is_set(parameters.get("triggerCount")):
                yield "CDISP9253W", f"{operator.name} triggers its region but has no triggerCount"
            if not driven and _is_set(parameters.get("triggerCount")):
                yield "CDISP9254W", f"{operator.name} has triggerCount but does not trigger its region"
        case _:
            pass


def outside_findings(operator: LogicalOperator) -> Iterator[Finding]:
    """Yield parameters and operators that only work in a region."""
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
