"""A compilation with the numbers and names that its parts have while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.deployment import plan_deployment
from streams_orchestration.compiler.deployment_plan import DeploymentPlan
from streams_orchestration.compiler.redeployment.outcome import Numbering
from streams_orchestration.compiler.stage_results import FusionPlan


def at_run_time(compilation: Compilation, numbering: Numbering) -> Compilation:
    """The same application, in which what goes on from the deployed plan has the number and name that it has there.

    Args:
        compilation: with its deployment plan.
        numbering: of the redeploy.
    """
    fusion = _fusion(compilation.fusion, numbering)
    plain = replace(compilation, fusion=fusion, deployment=None)
    assert compilation.deployment is not None
    names = {
        frozenset(numbering.pes[pe] for pe in unit.pes): numbering.units[unit.name]
        for unit in compilation.deployment.units
    }
    plan = plan_deployment(plain)
    return replace(plain, deployment=_named(plan, {unit.name: names[frozenset(unit.pes)] for unit in plan.units}))


def _fusion(fusion: FusionPlan, numbering: Numbering) -> FusionPlan:
    pes = [pe._replace(id=numbering.pes[pe.id], host=numbering.hosts[pe.host]) for pe in fusion.pes]
    networks = [
        each._replace(sender=numbering.pes[each.sender], receiver=numbering.pes[each.receiver])
        for each in fusion.networks
    ]
    return replace(
        fusion,
        pes=tuple(sorted(pes, key=lambda pe: pe.id)),
        pe_of=tuple(numbering.pes[pe] for pe in fusion.pe_of),
        networks=tuple(sorted(networks, key=lambda each: (each.outputs, each.receiver))),
    )


def _named(plan: DeploymentPlan, names: Mapping[str, str]) -> DeploymentPlan:
    return replace(
        plan,
        units=tuple(replace(unit, name=names[unit.name]) for unit in plan.units),
        pes=tuple(replace(pe, program=replace(pe.program, unit=names[pe.program.unit])) for pe in plan.pes),
    )
