"""The eighth stage makes the programs of the PEs, and divides the PEs into units of recovery.

All earlier results come together here. A *program* is everything that a host needs to run one PE: its operators with
their implementations and parameters, where each output goes, and the tasks in which they run. A *unit* is what recovers
together: the PEs of a consistent region, or a single PE outside of regions. The plan also names the sinks and the
positions from which sources begin, so that a deployment only has to write it down.

This is the first stage that imports operators, because they know their initial positions. Where an operator is missing
or cannot run here, the plan has a refusal instead of programs, and everything before it can still be inspected.

    >>> from streams_orchestration.compiler.tour import results_before
    >>> plan, findings = DEPLOYMENT_STAGE.compute(results_before(DEPLOYMENT))
    >>> for program in plan.programs:
    ...     print("PE", program.pe, [each.name for each in program.operators.values()], len(program.tasks), "tasks")
    PE 0 ['Read', 'Scale[1]'] 2 tasks
    PE 1 ['Scale[0]', 'Write'] 3 tasks
    >>> program.operators[2].implementation
    'streams_orchestration.operators.standard.files.file_sink:FileSink'
    >>> [(unit.name, unit.pes, unit.starts, unit.period) for unit in plan.units]
    [('region-0', (0, 1), (0,), 1.0)]
    >>> plan.pes[0].initial
    {'Read': {'iteration': 0}}
    >>> [(sink.operator, sink.kind, sink.address) for sink in plan.sinks], plan.refusal
    ([('Write', 'FileSink', 'scaled.csv')], '')
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.deployment.deployment import plan_deployment
from streams_orchestration.compiler.deployment_plan import DeploymentPlan, HostRequirements
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.sections.terms import Section, Terms
from streams_orchestration.compiler.stage import (
    COPIES,
    DEPLOYMENT,
    EVENT_TIME,
    FUSION,
    LOGICAL,
    PARALLEL,
    REGIONS,
    THREADS,
    Stage,
    Summary,
    SummaryRows,
)
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.model.diagnostics import Diagnostic


def _compute(done: Progress) -> tuple[DeploymentPlan, list[Diagnostic]]:
    return plan_deployment(done.compilation), []


def pes_are_programmed(done: Progress) -> Iterator[str]:
    """Check that every PE has a program for its operators, one unit, and a writer for every stream that it reads.

    Nothing is checked for an application that cannot run here. A44, A45.
    """
    plan, fusion = done[DeploymentPlan], done[FusionPlan]
    if plan.refusal:
        return
    if [(pe.program.pe, pe.host) for pe in plan.pes] != [(pe.id, pe.host) for pe in fusion.pes]:
        yield "the programs do not belong to the PEs and hosts of the fusion plan"
        return
    times = Counter(pe for unit in plan.units for pe in unit.pes)
    members = {unit.name: unit.pes for unit in plan.units}
    programs = {program.pe: program for program in plan.programs}
    for element, program in zip(fusion.pes, plan.programs, strict=True):
        if times[element.id] != 1 or element.id not in members.get(program.unit, ()):
            yield f"PE {element.id} is in {times[element.id]} units, and its program says {program.unit}"
        owned = Counter(operator for task in program.tasks for operator in task.owns)
        if set(program.operators) != set(element.operators) or owned != Counter(element.operators):
            yield f"the tasks of PE {element.id} do not own each of its operators once"
        yield from _unwritten(program, programs)


def _unwritten(program: PeProgram, programs: dict[int, PeProgram]) -> Iterator[str]:
    for stream in program.inputs:
        producer = programs.get(stream.producer)
        if producer is None or program.pe not in producer.consumers.get(stream.stream, ()):
            yield f"PE {program.pe} reads {stream.stream}, which PE {stream.producer} does not write for it"


def _deployment_plan(done: Progress, terms: Terms) -> Section | None:
    del terms
    plan = done[DeploymentPlan]
    if plan.refusal:
        return None
    section: Section = {
        "pes": [
            {
                "id": pe.program.pe,
                "unit": pe.program.unit,
                "host": pe.host,
                "tasks": len(pe.program.tasks),
                "levels": len(pe.program.levels),
            }
            | ({} if pe.program.engine == "tuples" else {"engine": pe.program.engine})
            for pe in plan.pes
        ],
        "units": [{"name": unit.name, "pes": list(unit.pes)} for unit in plan.units],
        "sinks": [{"operator": sink.operator, "kind": sink.kind, "address": sink.address} for sink in plan.sinks],
    }
    if plan.requirements:
        section["hosts"] = [_host(plan.requirements_of(host)) for host in plan.hosts]
    return section


def _host(required: HostRequirements) -> Section:
    apart: Section = {"exlocation": list(required.exlocation)} if required.exlocation else {}
    alone: Section = {"isolated": True} if required.isolated else {}
    return {"id": required.host, "machine": required.machine, "tags": list(required.tags)} | apart | alone


def _summary(done: Progress) -> Summary:
    plan = done[DeploymentPlan]
    if plan.refusal:
        return {"not_deployable": plan.refusal}
    pes = [(pe.program.pe, pe.program.unit, pe.host, len(pe.program.tasks), len(pe.program.levels)) for pe in plan.pes]
    units = [(unit.name, ", ".join(map(str, unit.pes)), ", ".join(map(str, unit.starts))) for unit in plan.units]
    sinks = [(sink.operator, sink.kind, sink.address) for sink in plan.sinks]
    return {
        "pes": len(pes),
        "hosts": len(plan.hosts),
        "units": len(units),
        "sinks": len(sinks),
        "pe_table": SummaryRows(("PE", "unit", "host", "tasks", "levels"), pes),
        "unit_table": SummaryRows(("unit", "PEs", "start PEs"), units),
        "sink_table": SummaryRows(("operator", "kind", "address"), sinks),
    }


DEPLOYMENT_STAGE = Stage(
    name=DEPLOYMENT,
    result=DeploymentPlan,
    inputs=(LOGICAL, PARALLEL, REGIONS, EVENT_TIME, FUSION, THREADS, COPIES),
    description="The operators of every PE, its host, the PEs that recover together, and where tuples leave.",
    compute=_compute,
    subject=None,
    invariant=pes_are_programmed,
    summary=_summary,
    key="deploymentPlan",
    place=7,
    section=_deployment_plan,
    empty=None,
)
