"""The rewrite of decoupling: divides PEs by a decision, with Network operators between the parts (rule Q12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from streams_orchestration.compiler.fusion.assignment_checks import check_assignment
from streams_orchestration.compiler.fusion.fusion import pe_flags, pes_of_operators
from streams_orchestration.compiler.fusion.pe_ports import pe_ports
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import (
    FusionPlan,
    Network,
    PeInputPort,
    PeOutputPort,
    ProcessingElement,
    RegionMap,
)
from streams_orchestration.model.diagnostics import Diagnostic, errors_of


def decouple(
    logical: LogicalGraph, physical: PhysicalGraph, regions: RegionMap, fusion: FusionPlan, options: Options
) -> tuple[FusionPlan, list[Diagnostic]]:
    """Divide fused PEs by the decoupling decision that the options name, if any.

    Every PE is divided by machine; an operator that the decision does not name is on machine 0. The part with the
    smallest operator keeps the PE's number, the others get numbers after all PEs, and all stay on its host. So only
    placement configs that keep operators together can be violated. A decision that violates such a config, divides an
    atomic group, makes PEs wait for one another, or was made for another application is an error; then the fusion stays
    as it was.
    """
    assignment = options.decoupling
    if assignment is None:
        return fusion, []
    machines = [assignment.machines.get(each.name, 0) for each in physical.operators]
    parts = _parts(fusion, machines)
    diagnostics = check_assignment(logical, physical, regions, fusion, assignment, [each for _, each in parts])
    if errors_of(diagnostics):
        return fusion, diagnostics
    return _split(logical, physical, fusion, machines, parts), diagnostics


def _parts(fusion: FusionPlan, machines: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Return (original PE, operators) of every new PE, in the order of their numbers."""
    first: list[tuple[int, list[int]]] = []
    further: list[tuple[int, list[int]]] = []
    for pe in fusion.pes:
        by_machine: dict[int, list[int]] = {}
        for operator in pe.operators:
            by_machine.setdefault(machines[operator], []).append(operator)
        head, *others = by_machine.values()
        first.append((pe.id, head))
        further += [(pe.id, each) for each in others]
    return first + further


def _split(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    fusion: FusionPlan,
    machines: Sequence[int],
    parts: Sequence[tuple[int, list[int]]],
) -> FusionPlan:
    pe_of = pes_of_operators(len(physical.operators), [each for _, each in parts])
    inputs, outputs = pe_ports(physical, pe_of)
    flags = pe_flags(logical, physical)
    pieces = Counter(origin for origin, _ in parts)
    elements: list[ProcessingElement] = []
    for number, (origin, operators) in enumerate(parts):
        ports = inputs.get(number, ()), outputs.get(number, ())
        came = (origin, machines[operators[0]]) if pieces[origin] > 1 else ()
        host = fusion.pes[origin].host
        elements.append(ProcessingElement(number, tuple(operators), host, *flags(operators), *ports, *came))
    origins = [origin for origin, _ in parts]
    return FusionPlan(fusion.scheme, tuple(elements), tuple(pe_of), tuple(_networks(physical, pe_of, origins)))


def _networks(physical: PhysicalGraph, pe_of: Sequence[int], origins: Sequence[int]) -> Iterator[Network]:
    outputs: dict[tuple[int, int, int], set[PeOutputPort]] = {}
    inputs: dict[tuple[int, int, int], set[PeInputPort]] = {}
    for source, port, target, target_port, splitter, channel in physical.connections:
        here, there = pe_of[source], pe_of[target]
        if here != there and origins[here] == origins[there]:
            outputs.setdefault((source, port, there), set()).add(PeOutputPort(source, port, splitter, channel))
            inputs.setdefault((source, port, there), set()).add(PeInputPort(target, target_port))
    for key in sorted(outputs):
        yield Network(tuple(sorted(outputs[key])), pe_of[key[0]], key[2], tuple(sorted(inputs[key])))
