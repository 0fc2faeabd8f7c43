"""Plans of hand-written graphs, and what the vectors of the semantics ask of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streams_orchestration.compiler.copies.copies import plan_copies
from streams_orchestration.compiler.fusion.fusion import fuse
from streams_orchestration.compiler.fusion.pe_ports import pe_ports
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import CopyPlan, FusionPlan, ProcessingElement, RegionMap, ThreadPlan
from streams_orchestration.compiler.threads.stage import plan_threads
from streams_orchestration.model.diagnostics import Diagnostic


def no_regions(physical: PhysicalGraph) -> RegionMap:
    """Return a map without consistent regions."""
    return RegionMap((), (), (-1,) * len(physical.operators))


def fused(logical: LogicalGraph, physical: PhysicalGraph, **options: Any) -> tuple[FusionPlan, list[Diagnostic]]:
    """Return the fusion plan of an application without consistent regions."""
    return fuse(logical, physical, no_regions(physical), Options(**options))


def pes_of(physical: PhysicalGraph, plan: FusionPlan) -> list[list[str]]:
    """Names of the operators of every PE."""
    return [[physical.operators[index].name for index in pe.operators] for pe in plan.pes]


def in_pes(physical: PhysicalGraph, groups: Iterable[Iterable[int]]) -> FusionPlan:
    """Return a fusion plan with these PEs, whatever a scheme would make."""
    pe_of = [-1] * len(physical.operators)
    elements = []
    for pe, group in enumerate(groups):
        for operator in group:
            pe_of[operator] = pe
    inputs, outputs = pe_ports(physical, pe_of)
    for pe in range(max(pe_of) + 1):
        members = tuple(index for index, home in enumerate(pe_of) if home == pe)
        elements.append(ProcessingElement(pe, members, 0, True, True, inputs.get(pe, ()), outputs.get(pe, ())))
    return FusionPlan("manual", tuple(elements), tuple(pe_of))


def in_one_pe(physical: PhysicalGraph) -> FusionPlan:
    """Return everything in one PE."""
    return in_pes(physical, [range(len(physical.operators))])


def threaded(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, **options: Any
) -> tuple[ThreadPlan, list[Diagnostic]]:
    """Return the thread plan."""
    return plan_threads(logical, physical, fusion, Options(**options))


def copied(logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, **options: Any) -> CopyPlan:
    """Return the copy plan, with the thread plan that belongs to it."""
    threads, _ = threaded(logical, physical, fusion)
    return plan_copies(logical, physical, fusion, threads, Options(**options))
