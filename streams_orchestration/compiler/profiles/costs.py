"""Measured costs of a physical graph, from a profile: loads, rates, sizes, and the cost of streams between PEs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.profiles.rates import measured_rates, shares
from streams_orchestration.model.brief import without_channels
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, errors_of
from streams_orchestration.model.names import nearest
from streams_orchestration.model.profile import Profile, Transport
from streams_orchestration.model.short_texts import first_names

Port = tuple[int, int]
"""A physical operator and one of its ports."""

_SHOWN = 5
"""The most operators that a warning names."""


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """The measured costs of a physical graph. Rates are per second; the other fields name their unit."""

    cpu: Mapping[int, float]
    """Operator -> number of processors that it keeps busy; operators without a measurement are missing."""
    tuples: Mapping[Port, float]
    """Output port -> tuples a second."""
    sizes: Mapping[Port, float]
    """Output port -> bytes of a tuple in memory; ports without a measurement are missing."""
    arriving: Mapping[Port, float]
    """Input port -> the tuples that arrive at it in a second."""
    transport: Transport
    overhead: float = 0.0
    """Processors that a PE keeps busy besides its operators and streams, as a mean of the measured PEs."""
    processors: int | None = None
    """The number of processors of the machine on which the profile was measured; None if unknown."""
    surroundings: float = 0.0
    """The number of processors that Spark, planning and commits keep busy for each PE, whatever the rate of tuples."""

    def headroom(self, loads: Sequence[float]) -> float:
        """Return the factor by which the rates can grow if PEs have these loads, in percent of a processor.

        The factor is limited by the busiest PE and, if their number is known, by the processors of the machine. Spark,
        planning and commits use some processors whatever the rates, but at least a tenth of the processors is left for
        tasks. Without any load, the factor is infinite.
        """
        if not any(loads):
            return math.inf
        busiest = 100.0 / max(loads)
        if self.processors is None:
            return busiest
        left = max(self.processors - self.surroundings * len(loads), 0.1 * self.processors)
        return min(busiest, 100.0 * left / sum(loads))


def measured_costs(
    logical: LogicalGraph, physical: PhysicalGraph, profile: Profile
) -> tuple[MeasuredCosts, list[Diagnostic]]:
    """Return the measured costs by physical operators, and warnings where profile and application do not match.

    Replicas keep their measurements if all measured replicas still exist, and new replicas have none then. Otherwise
    all replicas share the measurements evenly.

    Raises:
        ApplicationError: the profile is of another application (SO0210), or has no costs (SO0213).
    """
    rates, diagnostics = measured_rates(logical, physical, profile)
    diagnostics = [each for each in diagnostics if each.code != "SO0212"]  # unmeasured streams are not cut
    errors = errors_of(diagnostics)
    missing = "no processor time of operators" if not profile.operators else "no costs of sending tuples between PEs"
    if not errors and (not profile.operators or profile.transport is None):
        errors.append(Diagnostic.of("SO0213", f"the profile has {missing}", location=profile.location))
    if errors or profile.transport is None:
        raise ApplicationError(errors)
    spread = _Spread(logical, physical)
    sizes: dict[Port, float] = {}
    for port, entries in _by_port(profile).items():
        for operator, amount in spread.of(entries):
            if rates.get((operator, port), 0.0) > 0:
                sizes[operator, port] = amount / profile.seconds / rates[operator, port]
    known = [each for each in profile.operators if without_channels(each.operator) in spread.replicas]
    cpu = dict(spread.of([(each.operator, each.cpu_seconds) for each in known]))
    ports = max((len(each.inputs) for each in known), default=0)
    arriving = {
        (operator, port): amount / profile.seconds
        for port in range(ports)
        for operator, amount in spread.of([(x.operator, x.inputs[port]) for x in known if port < len(x.inputs)])
    }
    diagnostics += _strangers(profile, spread)
    absent = [each.name for each in physical.operators if each.index not in cpu]
    if absent:
        message = f"the profile has no processor time of {first_names(absent, _SHOWN)}"
        diagnostics.append(Diagnostic.of("SO0214", message, location=profile.location))
    loads = {operator: seconds / profile.seconds for operator, seconds in cpu.items()}
    overhead = sum(each.overhead_seconds for each in profile.pes) / max(1, len(profile.pes)) / profile.seconds
    around = (profile.surroundings_seconds or 0.0) / max(1, len(profile.pes)) / profile.seconds
    costs = MeasuredCosts(loads, rates, sizes, arriving, profile.transport, overhead, profile.processors, around)
    return costs, diagnostics


class _Spread:
    """The distribution of measurements of logical operators, or of their replicas, among the current replicas."""

    def __init__(self, logical: LogicalGraph, physical: PhysicalGraph) -> None:
        self.names = {operator.name: operator.index for operator in physical.operators}
        self.replicas: dict[str, list[int]] = defaultdict(list)
        for operator in physical.operators:
            self.replicas[logical.operators[operator.logical].name].append(operator.index)

    def of(self, entries: Iterable[tuple[str, float]]) -> Iterable[tuple[int, float]]:
        """Yield (physical operator, amount) from (name of an operator or a replica, measured amount).

        Replicas get the amounts as in `shares`. Operators that the application does not have are left out.
        """
        grouped: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for name, amount in entries:
            grouped[without_channels(name)].append((name, amount))
        for name, measured in grouped.items():
            if name in self.replicas:
                yield from shares(self.replicas[name], measured, self.names)


def _by_port(profile: Profile) -> Mapping[int, list[tuple[str, float]]]:
    by_port: dict[int, list[tuple[str, float]]] = defaultdict(list)
    for each in profile.streams:
        if each.bytes is not None:
            by_port[each.port].append((each.operator, each.bytes))
    return by_port


def _strangers(profile: Profile, spread: _Spread) -> list[Diagnostic]:
    known = spread.names.keys() | spread.replicas.keys()
    strange = [each for each in profile.operators if without_channels(each.operator) not in spread.replicas]
    return [
        Diagnostic.of("SO0211", f"there is no operator {x.operator}{nearest(x.operator, known)}", location=x.location)
        for x in strange
    ]
