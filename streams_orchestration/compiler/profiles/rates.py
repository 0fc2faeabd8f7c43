"""Measured rates of the streams of a physical graph, from a profile (rule 55)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.model.brief import without_channels
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest
from streams_orchestration.model.profile import Profile, StreamProfile
from streams_orchestration.model.short_texts import first_names

Rates = Mapping[tuple[int, int], float]
"""(physical operator, output port) -> the rate of the port in tuples a second."""

_SHOWN = 5
"""The most unmeasured streams that the warning names."""


def measured_rates(
    logical: LogicalGraph, physical: PhysicalGraph, profile: Profile
) -> tuple[dict[tuple[int, int], float], list[Diagnostic]]:
    """Return the tuples a second of every measured output port, and warnings where the profile does not fit.

    Replicas keep their own rates if all measured replicas still exist, and new replicas have none then. If a measured
    replica no longer exists, or if only the logical operator was measured, the measured rates are added up, and the
    present replicas share the sum evenly. A profile of another application gives no rates and the error SO0210.
    """
    if profile.application != logical.application:
        message = f"the profile was measured on {profile.application}, but this is {logical.application}"
        return {}, [Diagnostic.of("SO0210", message, location=profile.location)]
    replicas: dict[str, list[int]] = defaultdict(list)
    for operator in physical.operators:
        replicas[logical.operators[operator.logical].name].append(operator.index)
    names = {operator.name: operator.index for operator in physical.operators}
    diagnostics: list[Diagnostic] = []
    entries: dict[tuple[str, int], list[StreamProfile]] = defaultdict(list)
    for each in profile.streams:
        name = without_channels(each.operator)
        if name not in replicas:
            message = f"there is no operator {each.operator}{nearest(each.operator, names.keys() | replicas.keys())}"
        elif each.port >= len(logical.operators[physical.operators[replicas[name][0]].logical].outputs):
            message = f"{each.operator} has no output port {each.port}"
        else:
            entries[name, each.port].append(each)
            continue
        diagnostics.append(Diagnostic.of("SO0211", message, location=each.location))
    rates: dict[tuple[int, int], float] = {}
    for (name, port), measured in entries.items():
        amounts = [(each.operator, each.tuples) for each in measured]
        for operator, tuples in shares(replicas[name], amounts, names):
            rates[operator, port] = tuples / profile.seconds
    unmeasured = _unmeasured(logical, physical, rates)
    if unmeasured:
        message = f"the profile has no rates of {first_names(unmeasured, _SHOWN)}"
        diagnostics.append(Diagnostic.of("SO0212", message, location=profile.location))
    return rates, diagnostics


def shares(
    replicas: Sequence[int], measured: Sequence[tuple[str, float]], names: Mapping[str, int]
) -> Iterator[tuple[int, float]]:
    """Yield the replicas of one logical operator, each with its share of the measured amounts.

    If all measured replicas still exist, each has its own amount, and other replicas are left out. Otherwise all
    replicas have equal shares.

    Args:
        replicas: all replicas of the operator.
        measured: (name of a replica or of the operator, amount).
        names: names of all replicas of the application.
    """
    if all(names.get(name) in replicas for name, _ in measured):
        yield from ((names[name], amount) for name, amount in measured)
        return
    even = sum(amount for _, amount in measured) / len(replicas)
    yield from ((replica, even) for replica in replicas)


def _unmeasured(logical: LogicalGraph, physical: PhysicalGraph, rates: Rates) -> list[str]:
    """Return the logical output ports that have readers and at least one replica without a measured rate."""
    ports = dict.fromkeys((connection.source, connection.source_port) for connection in physical.connections)
    missing = dict.fromkeys(
        (logical.operators[physical.operators[operator].logical].name, port)
        for operator, port in ports
        if (operator, port) not in rates
    )
    return [f"{name}, output port {port}" if port else name for name, port in missing]
