"""Operators with their classes and parameters, loaded and validated once for all checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.event_time.roles import roles_by_operator
from streams_orchestration.compiler.implementations import import_beside, is_standard, load_operator
from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.parallel.intrinsics import substitute_channels
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import EventTimeMap, RegionMap
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.secrets import hidden_in
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.implementations.implementation import ImplementationError


@dataclass(frozen=True)
class CheckedOperator:
    """One operator with its class, its parameters, and the other facts that its checks read."""

    operator: LogicalOperator
    deploys: bool
    """True if the application is to run here; False to find only the faults that IBM Streams reports, too."""
    implementation: type[Operator] | ImplementationError | None
    """The operator's class, or the reason why it has none. None if the class is not imported, as nothing is to run."""
    written: dict[str, Any] | None
    """The parameters of the spec, in which channel functions have the values of the first replica (rule 32).

    None if an error in an earlier stage left no expanded graph, so that these values are unknown.
    """
    parameters: Parameters | ValidationError | None
    """The validated parameters, or the reason why they are wrong. None without a class or without known values."""
    inputs: list[str] | None
    """The tuple type of each input port. None if a stream has no schema; other checks report such a stream."""
    in_region: bool
    """True for an operator in a consistent region."""
    submission: Mapping[str, Any]
    """The submission-time values; messages must not show the secrets among them."""
    zone: str
    """The time zone of the application."""
    event_time: EventTimeRole | None
    """The role of the operator in an event-time graph; None outside of them, and if nothing is to run here."""
    directories: dict[Path | str, LogicalOperator]
    """Directory -> the first operator that publishes into it; all operators of an application share one mapping."""

    @property
    def sound(self) -> tuple[type[Operator], Parameters] | None:
        """The class with the validated parameters.

        None if there is no class, or if the parameters are missing or wrong.
        """
        implementation, parameters = self.implementation, self.parameters
        if not isinstance(implementation, type) or parameters is None or isinstance(parameters, ValidationError):
            return None
        return implementation, parameters

    @cached_property
    def context(self) -> OperatorContext | None:
        """The context that the operator's own checks take; None if the type of an input stream is unknown."""
        if self.inputs is None:
            return None
        operator = self.operator
        outputs = (output.schema for output in operator.outputs)
        ports = (port.name for port in operator.inputs)
        context = OperatorContext.declared(operator.name, self.inputs, outputs, self.base, ports, self.zone)
        context.event_time = self.event_time
        return context

    @property
    def base(self) -> Path:
        """The directory from which relative input paths start: of the spec, or by default the working directory."""
        return Path(self.operator.location.file).absolute().parent if self.operator.location else Path.cwd()

    def diagnostic(self, code: str, message: str, parameter: str = "") -> Diagnostic:
        """Return a diagnostic at the place of the operator, or of one of its parameters."""
        place = self.operator.location_of(parameter)
        return Diagnostic.of(code, message, operator=self.operator.name, location=place)

    def faults(self, groups: Iterable[Iterable[Check]]) -> Iterator[OperatorFault]:
        """Yield the faults that groups of checks find, up to the group with a decisive fault.

        Messages hide the secrets among parameters and submission-time values.
        """
        secrets = [self.operator.parameters, self.submission]
        for group in groups:
            faults = [fault for check in group for fault in check(self)]
            for fault in faults:
                found = fault.diagnostic
                yield fault._replace(diagnostic=replace(found, message=hidden_in(found.message, secrets)))
            if any(fault.decisive for fault in faults):
                return


class OperatorFault(NamedTuple):
    """A fault that a check has found in one operator."""

    diagnostic: Diagnostic
    anywhere: bool = False
    """True if the fault is one in IBM Streams, too, and not only when the application runs here."""
    decisive: bool = True
    """True if no later group of checks of this operator runs after the fault."""


Check = Callable[[CheckedOperator], Iterable[OperatorFault]]
"""A check of one operator."""


def checked_operators(done: Progress, *, deploys: bool) -> list[CheckedOperator]:
    """Import the classes of an application's operators, validate the parameters, and return both for checks.

    An error of an import or a validation is kept in the result. The directory of the spec is added to the end of the
    module search path.

    Args:
        done: the stages so far, at least the logical graph.
        deploys: True if the application is to run here. Else only the classes of standard and native operators are
            loaded, and event time is left out.
    """
    logical, physical = done[LogicalGraph], done.get(PhysicalGraph)
    import_beside(logical.file)
    replicas = {each.logical: each for each in reversed(physical.operators)} if physical is not None else {}
    types = _input_types(logical)
    roles = roles_by_operator(done.get(EventTimeMap) if deploys else None, physical, logical)
    regions = done.get(RegionMap)
    directories: dict[Path | str, LogicalOperator] = {}

    def written(operator: LogicalOperator) -> dict[str, Any] | None:
        if "${" not in str(operator.parameters):
            return operator.parameters
        if physical is None:
            return None
        replica = replicas.get(operator.index)
        return operator.parameters if replica is None else substitute_channels(operator.parameters, replica)

    def checked(operator: LogicalOperator) -> CheckedOperator:
        values, number = written(operator), operator.index
        loads = deploys or is_standard(operator) or (operator.is_native and operator.implementation is not None)
        implementation = _loaded(operator) if loads else None
        return CheckedOperator(
            operator=operator,
            deploys=deploys,
            implementation=implementation,
            written=values,
            parameters=_validated(implementation, values),
            inputs=types[number],
            in_region=regions is not None and any(number in region.operators for region in regions.logical),
            submission=logical.submission,
            zone=logical.time_zone,
            event_time=roles.get(number),
            directories=directories,
        )

    return [checked(each) for each in logical.operators]


def _loaded(operator: LogicalOperator) -> type[Operator] | ImplementationError:
    try:
        return load_operator(operator)
    except ImplementationError as error:
        return error


def _validated(
    implementation: type[Operator] | ImplementationError | None, written: dict[str, Any] | None
) -> Parameters | ValidationError | None:
    if written is None or not isinstance(implementation, type):
        return None
    try:
        return implementation.Parameters.model_validate(written)
    except ValidationError as error:
        return error


def _input_types(logical: LogicalGraph) -> dict[int, list[str] | None]:
    inputs: dict[int, list[str | None]] = {each.index: [None] * len(each.inputs) for each in logical.operators}
    for connection in logical.connections:
        source = logical.operators[connection.source]
        inputs[connection.target][connection.target_port] = source.outputs[connection.source_port].schema
    for link in logical.imports:
        types = inputs[link.operator]
        types[link.port] = types[link.port] or link.schema
    known = {index: [ddl for ddl in types if ddl is not None] for index, types in inputs.items()}
    return {index: types if len(types) == len(inputs[index]) else None for index, types in known.items()}
