"""Plans with the run-time numbers and names of their parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation, PlannedCompilation, Progress
from streams_orchestration.compiler.deployment_plan import DeploymentPlan, Unit
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.redeployment.outcome import RunTimeNumbers
from streams_orchestration.compiler.redeployment.plans import pe_numbers
from streams_orchestration.compiler.stage_results import FusionPlan


def at_run_time(compilation: PlannedCompilation, numbers: RunTimeNumbers) -> PlannedCompilation:
    """Return the application with run-time numbers and names: parts that continue deployed ones keep theirs."""
    plan = numbered(compilation.deployment, numbers)
    return replace(compilation, fusion=_fusion(compilation.fusion, numbers), deployment=plan)


def as_deployed(compilation: PlannedCompilation, deployed: Compilation | None) -> PlannedCompilation:
    """Return an application with the numbers that its PEs and hosts have, or would get, at run time.

    Units of recovery keep their compiled names, except those that are named after a PE.

    Args:
        compilation: the application as compiled.
        deployed: the running plan; None if there is none, and the application is returned unchanged.
    """
    done = stages_as_deployed(compilation.progress, deployed)
    return replace(compilation, fusion=done[FusionPlan], deployment=done[DeploymentPlan])


def stages_as_deployed(done: Progress, deployed: Compilation | None) -> Progress:
    """Return the results of stages with the numbers of `as_deployed`; unchanged before the application is fused."""
    fusion, plan = done.get(FusionPlan), done.get(DeploymentPlan)
    if deployed is None or fusion is None:
        return done
    pes, hosts = pe_numbers(deployed.progress, done)
    units = {} if plan is None else {each.name: _unit_name(each, pes) for each in plan.units}
    numbers = RunTimeNumbers(pes, hosts, units)
    done = done.with_result(_fusion(fusion, numbers))
    return done if plan is None else done.with_result(numbered(plan, numbers))


def _unit_name(unit: Unit, pes: Mapping[int, int]) -> str:
    return unit.name if unit.region is not None else f"pe-{pes[unit.pes[0]]}"


def _fusion(fusion: FusionPlan, numbers: RunTimeNumbers) -> FusionPlan:
    pes = [pe._replace(id=numbers.pes[pe.id], host=numbers.hosts[pe.host], compiled=pe.id) for pe in fusion.pes]
    networks = [
        each._replace(sender=numbers.pes[each.sender], receiver=numbers.pes[each.receiver]) for each in fusion.networks
    ]
    return replace(
        fusion,
        pes=tuple(sorted(pes, key=lambda pe: pe.id)),
        pe_of=tuple(numbers.pes[pe] for pe in fusion.pe_of),
        networks=tuple(sorted(networks, key=lambda each: (each.outputs, each.receiver))),
    )


def numbered(plan: DeploymentPlan, numbers: RunTimeNumbers) -> DeploymentPlan:
    """Return the plan with the run-time numbers of PEs and hosts, and the run-time names of units.

    Operators keep their numbers in the plan, which have a meaning only within a program. The PE number that an operator
    reports (`OperatorProgram.pe`) stays, too.
    """
    pes = tuple(replace(pe, program=_program(pe.program, numbers), host=numbers.hosts[pe.host]) for pe in plan.pes)
    units = tuple(
        replace(
            unit,
            name=numbers.units[unit.name],
            pes=_sorted(unit.pes, numbers.pes),
            starts=_sorted(unit.starts, numbers.pes),
        )
        for unit in plan.units
    )
    renumbered = [replace(each, host=numbers.hosts[each.host]) for each in plan.requirements]
    requirements = tuple(sorted(renumbered, key=lambda each: each.host))
    return replace(plan, pes=pes, units=units, requirements=requirements)


def _program(program: PeProgram, numbers: RunTimeNumbers) -> PeProgram:
    tasks = tuple(
        replace(task, inputs=tuple(replace(each, producer=numbers.pes[each.producer]) for each in task.inputs))
        for task in program.tasks
    )
    return replace(
        program,
        pe=numbers.pes[program.pe],
        unit=numbers.units[program.unit],
        tasks=tasks,
        consumers={stream: _sorted(readers, numbers.pes) for stream, readers in program.consumers.items()},
    )


def _sorted(pes: tuple[int, ...], numbers: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(sorted(numbers[pe] for pe in pes))
