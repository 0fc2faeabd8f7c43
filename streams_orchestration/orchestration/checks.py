"""What must hold of every stage, worked out anew from its inputs; pure, so that a check can be wrong only by itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import NamedTuple

from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph
from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph
from streams_orchestration.compiler.threads.origins import threading_model
from streams_orchestration.orchestration.stages import (
    COPIES,
    FUSION,
    LOGICAL,
    PARALLEL,
    REGIONS,
    THREADS,
    Progress,
    need,
)


class Invariant(NamedTuple):
    """A condition on a stage's result."""

    name: str
    description: str
    violations: Callable[[Progress], Iterator[str]]
    """One sentence for each place where it does not hold."""


def connections_have_ends(done: Progress) -> Iterator[str]:
    """Every logical connection joins an existing output port and an existing input port."""
    operators = done.logical.operators
    for c in done.logical.connections:
        if not (0 <= c.source < len(operators) and c.source_port < len(operators[c.source].outputs)):
            yield f"a connection starts at output {c.source_port} of operator {c.source}, which does not exist"
        if not (0 <= c.target < len(operators) and c.target_port < len(operators[c.target].inputs)):
            yield f"a connection ends at input {c.target_port} of operator {c.target}, which does not exist"


def expansion_is_complete(done: Progress) -> Iterator[str]:
    """Replicas and connections are as many as the widths ask for, and all ends exist.

    Rules 3 and 15.
    """
    logical, physical = done.logical, need(done.physical)
    width = {region.index: region.width for region in logical.regions}
    replicas = Counter(operator.logical for operator in physical.operators)
    for model in logical.operators:
        asked = prod(width[region] for region in model.regions)
        if replicas[model.index] != asked:
            yield f"{model.name} has {replicas[model.index]} replicas, not {asked}"
    found: Counter[tuple[int, int, int, int]] = Counter()
    for c in physical.connections:
        if not (0 <= c.source < len(physical.operators) and 0 <= c.target < len(physical.operators)):
            yield f"a connection joins operators {c.source} and {c.target}, of which one does not exist"
            continue
        ends = physical.operators[c.source].logical, physical.operators[c.target].logical
        found[ends[0], c.source_port, ends[1], c.target_port] += 1
    wanted: Counter[tuple[int, int, int, int]] = Counter()
    for c in logical.connections:
        wanted[c.source, c.source_port, c.target, c.target_port] += _expanded(logical, c, width)
    for ends in sorted(wanted | found):
        if wanted[ends] != found[ends]:
            source, target = logical.operators[ends[0]].name, logical.operators[ends[2]].name
            times = f"{found[ends]} connections, not {wanted[ends]}"
            yield f"{source}[{ends[1]}] and {target}[{ends[3]}] are joined by {times}"


def _expanded(logical: LogicalGraph, connection: LogicalConnection, width: Mapping[int, int]) -> int:
    """Rule 15: widths of the regions around both ends, of those left, and of those entered."""
    source, target = logical.operators[connection.source], logical.operators[connection.target]
    count = 1
    for region in logical.regions:
        around = (region.index in source.regions) + (region.index in target.regions)
        if around == 2 and not _leaves(connection, region.name, source.name):
            around = 1
        count *= width[region.index] ** around
    return count


def _leaves(connection: LogicalConnection, region: str, source: str) -> bool:
    """Does a connection between two members of a region lead out of it and in again, as a feedback loop does?"""
    return region == source or any(port.rpartition(".")[0] == f"left:{region}" for port in connection.path)


def regions_are_closed(done: Progress) -> Iterator[str]:
    """Whatever a region reaches belongs to it, but for starts and autonomous operators; its ends are right.

    A23, A24, A32.
    """
    logical, physical, regions = done.logical, need(done.physical), need(done.regions)
    starts = {operator for region in regions.expanded for operator in region.starts}
    scopes = [annotation.scope for annotation in logical.annotations if annotation.kind == "autonomous"]
    inner: defaultdict[int, set[int]] = defaultdict(set)
    for c in physical.connections:
        source, target = regions.region_of[c.source], regions.region_of[c.target]
        if source >= 0 and source == target:
            inner[source].add(c.source)
        if source < 0 or source == target or c.target in starts:
            continue
        model = logical.operators[physical.operators[c.target].logical]
        if not any(scope in (model.name, *model.composites) for scope in scopes):
            names = physical.operators[c.source].name, physical.operators[c.target].name
            yield f"{names[0]} of region {source} leads to {names[1]}, which is not in it"
    for region in regions.expanded:
        members = {operator for operator, index in enumerate(regions.region_of) if index == region.index}
        if members != set(region.operators):
            yield f"region {region.index} lists other operators than those that say they belong to it"
        if not set(region.starts) <= members:
            yield f"region {region.index} has a start that is not a member"
        if set(region.ends) != members - inner[region.index]:
            yield f"the ends of region {region.index} are not its members without a consumer in it"


def pes_partition_operators(done: Progress) -> Iterator[str]:
    """Every operator is in exactly one PE; what crosses PEs has a PE port at either end.

    Rules 52 and 62.
    """
    physical, fusion = need(done.physical), need(done.fusion)
    times = Counter(operator for pe in fusion.pes for operator in pe.operators)
    for operator in physical.operators:
        if times[operator.index] != 1:
            yield f"{operator.name} is in {times[operator.index]} PEs"
    for operator in sorted(set(times) - {operator.index for operator in physical.operators}):
        yield f"operator {operator} is in a PE but not in the graph"
    for pe in fusion.pes:
        if any(fusion.pe_of[operator] != pe.id for operator in pe.operators):
            yield f"PE {pe.id} holds an operator that says it is elsewhere"
    inputs = {port for pe in fusion.pes for port in pe.inputs}
    outputs = {port for pe in fusion.pes for port in pe.outputs}
    for c in physical.connections:
        if fusion.pe_of[c.source] != fusion.pe_of[c.target]:
            names = physical.operators[c.source].name, physical.operators[c.target].name
            if (c.source, c.source_port, c.splitter, c.channel) not in outputs:
                yield f"{names[0]}[{c.source_port}] sends to another PE without a PE output port"
            if (c.target, c.target_port) not in inputs:
                yield f"{names[1]}[{c.target_port}] receives from another PE without a PE input port"


def queues_are_placed(done: Progress) -> Iterator[str]:
    """An added queue stands behind a splitter of its PE, or its operator is dedicated.

    Rules 65 and 66.
    """
    physical, fusion, threads = need(done.physical), need(done.fusion), need(done.threads)
    behind = {
        (c.target, c.target_port)
        for c in physical.connections
        if c.splitter >= 0 and fusion.pe_of[c.source] == fusion.pe_of[c.target]
    }
    if len(threads.operators) != len(physical.operators):
        yield f"the plan covers {len(threads.operators)} of {len(physical.operators)} operators"
    for queue in threads.queues:
        operator = physical.operators[queue.operator]
        model = done.logical.operators[operator.logical]
        dedicated = threading_model(model, done.options) == "dedicated"
        if queue.port >= len(model.inputs):
            yield f"{operator.name} has a queue on input {queue.port}, which does not exist"
        elif queue.injected and not dedicated and (queue.operator, queue.port) not in behind:
            yield f"{operator.name}[{queue.port}] got a queue, although no splitter of its PE leads there"


def copies_are_right(done: Progress) -> Iterator[str]:
    """No copy for a consumer that changes nothing; never one object for two that may change it; counts add up.

    Rules 81 to 90.
    """
    physical, fusion, copies = need(done.physical), need(done.fusion), need(done.copies)
    if len(copies.connections) != len(physical.connections):
        yield f"the plan covers {len(copies.connections)} of {len(physical.connections)} connections"
        return
    queued = {(queue.operator, queue.port) for queue in need(done.threads).queues}
    served = {number: place for place, number in enumerate(copies.order)}
    if sorted(served) != list(range(len(physical.connections))):
        yield "the serving order does not hold every connection once"
        return
    for number, (c, passing) in enumerate(zip(physical.connections, copies.connections, strict=True)):
        target = physical.operators[c.target]
        where = f"{physical.operators[c.source].name}[{c.source_port}] to {target.name}[{c.target_port}]"
        port = done.logical.operators[target.logical].inputs[c.target_port]
        changes = port.mutable and port.mutates != ()
        expected = _unless_direct(c, fusion.pe_of, queued)
        if expected:
            if passing.passing != expected:
                yield f"{where} passes by {passing.passing}, not {expected}"
        elif not changes:
            if passing.passing != "reference":
                yield f"{where} passes by {passing.passing} to a consumer that changes nothing"
        elif passing.passing == "reference":
            source = done.logical.operators[physical.operators[c.source].logical]
            if not source.outputs[c.source_port].mutable:
                yield f"{where} hands over tuples that the producer keeps"
            if any(served[other] > served[number] for other in _siblings(physical, number, fusion.pe_of)):
                yield f"{where} hands over tuples that another consumer is served afterwards"
    made = sum(passing.passing == "copy" for passing in copies.connections)
    if made != copies.sender_copies:
        yield f"{made} connections copy, the plan counts {copies.sender_copies}"


def _siblings(physical: PhysicalGraph, number: int, pe_of: tuple[int, ...]) -> Iterator[int]:
    """The other connections of the same output port that stay in its PE."""
    port = physical.connections[number][:2]
    for other, c in enumerate(physical.connections):
        if other != number and c[:2] == port and pe_of[c.source] == pe_of[c.target]:
            yield other


def _unless_direct(c: Connection, pe_of: tuple[int, ...], queued: set[tuple[int, int]]) -> str:
    if pe_of[c.source] != pe_of[c.target]:
        return "serialize"
    return "enqueue" if (c.target, c.target_port) in queued else ""


def _invariant(violations: Callable[[Progress], Iterator[str]]) -> Invariant:
    return Invariant(violations.__name__, (violations.__doc__ or "").partition("\n")[0], violations)


INVARIANTS: Mapping[str, Invariant] = {
    LOGICAL: _invariant(connections_have_ends),
    PARALLEL: _invariant(expansion_is_complete),
    REGIONS: _invariant(regions_are_closed),
    FUSION: _invariant(pes_partition_operators),
    THREADS: _invariant(queues_are_placed),
    COPIES: _invariant(copies_are_right),
}
"""The blocking check of every stage."""
