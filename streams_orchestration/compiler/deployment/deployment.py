"""The deployment plan: the program of every PE, units of recovery, and sinks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.cutting import cut_pes
from streams_orchestration.compiler.deployment.errors import CannotRunError
from streams_orchestration.compiler.deployment.recovery_units import recovery_units
from streams_orchestration.compiler.deployment_plan import DeployedPe, DeploymentPlan, HostRequirements, Sink
from streams_orchestration.compiler.implementations import implementation_name, load_operator
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.compiler.placement.fusable_units import resolve_placements
from streams_orchestration.compiler.placement.tags import resolve_text
from streams_orchestration.operators.contract.operator import OperatorContext, SourceOperator
from streams_orchestration.operators.implementations.implementation import ImplementationError, import_operator


def requirements_of(compilation: Compilation) -> tuple[HostRequirements, ...]:
    """Return the requirements of the hosts that have any, ascending by host number (rules 36, 37, 51, 53).

    Host exlocation and isolation count only if the PEs are on several hosts.
    """
    pes = compilation.fusion.pes
    requirements = _placed(compilation)
    if len({pe.host for pe in pes}) > 1:
        placements = resolve_placements(compilation.logical, compilation.physical)
        for host, tags in _shared_tags(compilation, placements.host_exlocation).items():
            requirements[host] = replace(requirements.get(host) or HostRequirements(host, None, ()), exlocation=tags)
        for host in {pe.host for pe in pes if not placements.host_isolated.isdisjoint(pe.operators)}:
            requirements[host] = replace(requirements.get(host) or HostRequirements(host, None, ()), isolated=True)
    return tuple(requirements[host] for host in sorted(requirements))


def _placed(compilation: Compilation) -> dict[int, HostRequirements]:
    """Return the machine or the tags that operators require for each host.

    The first operator that names any decides.
    """
    physical, logical = compilation.physical, compilation.logical
    tags = {pool.name: pool.tags for pool in physical.host_pools}
    requirements: dict[int, HostRequirements] = {}
    for pe in compilation.fusion.pes:
        for index in sorted(pe.operators):
            operator = physical.operators[index]
            model = logical.operators[operator.logical]
            pool = operator.host_pool or model.host_pool
            if model.host is not None:
                requirements.setdefault(pe.host, HostRequirements(pe.host, resolve_text(model.host, operator), ()))
            elif pool is not None and tags.get(pool):
                requirements.setdefault(pe.host, HostRequirements(pe.host, None, tuple(tags[pool])))
    return requirements


def _shared_tags(compilation: Compilation, tags: Mapping[int, tuple[str, ...]]) -> dict[int, tuple[str, ...]]:
    """Return the `hostExlocation` tags that every host shares with some other host.

    Args:
        compilation: the application.
        tags: the tags of each operator.
    """
    hosts: dict[str, set[int]] = {}
    for pe in compilation.fusion.pes:
        for operator in pe.operators:
            for tag in tags.get(operator, ()):
                hosts.setdefault(tag, set()).add(pe.host)
    shared: dict[int, tuple[str, ...]] = {}
    for tag in sorted(tag for tag, among in hosts.items() if len(among) > 1):
        for host in hosts[tag]:
            shared[host] = (*shared.get(host, ()), tag)
    return shared


def plan_deployment(compilation: Compilation) -> DeploymentPlan:
    """Import all operators, and return the programs of PEs, units, sinks, requirements and initial positions.

    For an application that cannot run here, the plan holds only the reason; it can still be compiled and inspected.
    Output that operators' modules print meanwhile goes to standard error.
    """
    try:
        _check_runnable(compilation.logical)
        # A user's module may print while it is imported, and a document on standard output must stay whole.
        with redirect_stdout(sys.stderr):
            return _plan(compilation)
    except (CannotRunError, ImplementationError) as error:
        return DeploymentPlan(refusal=str(error))


def _check_runnable(logical: LogicalGraph) -> None:
    """Run the cheap checks first; most applications that cannot run fail one of them."""
    for operator in logical.operators:
        try:
            implementation_name(operator)
        except ImplementationError as error:
            message = f"operator {operator.name}: {error}"
            raise CannotRunError(message) from error
    for connection in logical.connections:
        source, target = logical.operators[connection.source], logical.operators[connection.target]
        if source.outputs[connection.source_port].schema is None:
            message = (
                f"operator {target.name}: the stream {source.outputs[connection.source_port].stream} on input port "
                f"{connection.target_port} has no schema; declare it where it is produced"
            )
            raise CannotRunError(message)


def _plan(compilation: Compilation) -> DeploymentPlan:
    for operator in compilation.logical.operators:
        load_operator(operator)
    units = recovery_units(compilation)
    programs = cut_pes(compilation, units)
    pes = [
        DeployedPe(program, pe.host, pe.restartable, _initial(program))
        for program, pe in zip(programs, compilation.fusion.pes, strict=True)
    ]
    operators = sorted(
        (operator for program in programs for operator in program.operators.values()), key=lambda each: each.index
    )
    kinds = [compilation.logical.operators[each.logical].kind for each in compilation.physical.operators]
    sinks = [
        Sink(operator.name, kinds[operator.index], address_of(operator))
        for operator in operators
        if not operator.outputs
    ]
    return DeploymentPlan(tuple(pes), units, tuple(sinks), requirements_of(compilation))


def _initial(program: PeProgram) -> dict[str, dict[str, object]]:
    """Return the initial positions of the sources of a PE."""
    offsets: dict[str, dict[str, object]] = {}
    for source in program.sources:
        operator = program.operators[source]
        implementation = import_operator(operator.implementation)
        assert issubclass(implementation, SourceOperator)
        try:
            offsets[operator.name] = implementation.initial_offset()
        except Exception as error:  # whatever the code of a user's operator raises
            message = f"operator {operator.name}: initial_offset: {type(error).__name__}: {error}"
            raise CannotRunError(message) from error
    return offsets


def address_of(operator: OperatorProgram) -> str:
    """Return the address that a source or a sink reads or writes, readable and without secrets; empty if unknown.

    It is also empty if the operator's parameters are wrong, or if its code raises an error.

    Raises:
        ImplementationError: the operator's class cannot be imported.
    """
    implementation = import_operator(operator.implementation)
    context = OperatorContext(operator.name, channel=operator.channel, max_channels=operator.max_channels)
    try:
        return implementation.destination(context, implementation.Parameters.model_validate(operator.parameters))
    except Exception:  # noqa: BLE001  a check of the operator reports the error in its parameters
        return ""
