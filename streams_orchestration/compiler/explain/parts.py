"""Explanations of PEs, streams, splitters and parallel regions."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.explain.deployment import recovery_facts
from streams_orchestration.compiler.explain.explanation import Explanation, Fact, listed, section
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.explain.operators import width_reason
from streams_orchestration.compiler.explain.parting import network_facts
from streams_orchestration.compiler.explain.passing import connection_facts, splitter_facts
from streams_orchestration.compiler.explain.placement import host_reasons, pe_flags, pe_reasons
from streams_orchestration.model.brief import plural

_SHOWN = 12


def pe_explanation(lookup: CompilationIndex, pe: int) -> Explanation:
    """Explain a PE: its operators and why they share it, its host, its recovery, its ports and its Networks.

    Of the operators, `_SHOWN` are named, and the others counted. Sections without facts are left out.
    """
    element = lookup.pes[pe]
    sections = [
        section(
            "Operators",
            Fact(listed(lookup.names(element.operators), _SHOWN)),
            pe_flags(lookup, pe),
        ),
        section("Why these", *pe_reasons(lookup, pe)),
        section(f"Host {element.host}", *host_reasons(lookup, pe)),
        section("Recovery", *recovery_facts(lookup, pe)),
        section("Ports", *_ports(lookup, pe)),
        section("Networks", *network_facts(lookup, pe)),
    ]
    return Explanation(
        f"PE {pe}: {plural(len(element.operators), 'operator')}", tuple(each for each in sections if each.facts)
    )


def _ports(lookup: CompilationIndex, pe: int) -> Iterator[Fact]:
    element = lookup.pes[pe]
    inputs = [f"{lookup.name(each.operator)}.{each.port}" for each in element.inputs]
    if inputs:
        yield Fact(
            f"{plural(len(inputs), 'PE input port')}, one per operator port fed from outside: {listed(inputs)}", "62"
        )
    outputs = [
        f"{lookup.name(each.operator)}.{each.port}" + (f" channel {each.channel}" if each.splitter >= 0 else "")
        for each in element.outputs
    ]
    if outputs:
        how = "one per operator port read from outside, and per splitter channel"
        yield Fact(f"{plural(len(outputs), 'PE output port')}, {how}: {listed(outputs)}", "62")


def stream_explanation(lookup: CompilationIndex, name: str) -> Explanation:
    """Explain a stream: its first producer, how that replica's consumers receive it, and its Exports.

    Of the consumers, `_SHOWN` are explained, and the others counted.
    """
    ports = lookup.streams[name]
    operator, port = ports[0]
    model = lookup.model(operator).outputs[port]
    facts = [
        Fact(
            f"output port {port} of {lookup.name(operator)}" + (f", one of {len(ports)} replicas" if ports[1:] else ""),
            "31",
        ),
        Fact(f"tuples ({model.schema})" if model.schema else "no tuple type is known"),
        Fact("the producer gives its tuples away" if model.mutable else "the producer keeps its tuples", "78"),
    ]
    sections = [section("Producer", *facts)]
    numbers = lookup.outgoing.get((operator, port), [])
    for number in numbers[:_SHOWN]:
        each = lookup.physical.connections[number]
        sections.append(section(f"To {lookup.name(each.target)}.{each.target_port}", *connection_facts(lookup, number)))
    if len(numbers) > _SHOWN:
        sections.append(section("More", Fact(f"{len(numbers) - _SHOWN} more connections")))
    exports = [each.name for each in lookup.physical.exports if (each.operator, each.port) == (operator, port)]
    if exports:
        sections.append(section("Exports", Fact(f"exported by {listed(exports)}", "34")))
    return Explanation(f"Stream {name}", tuple(sections))


def splitter_explanation(lookup: CompilationIndex, index: int) -> Explanation:
    """Explain a splitter: why it exists, how it routes tuples, and the input ports behind its first channels."""
    splitter = lookup.physical.splitters[index]
    channels: dict[int, list[str]] = {}
    for each in lookup.physical.connections:
        if each.splitter == index:
            channels.setdefault(each.channel, []).append(f"{lookup.name(each.target)}.{each.target_port}")
    behind = [Fact(f"channel {channel}: {listed(names)}", "12") for channel, names in sorted(channels.items())[:_SHOWN]]
    inner = [each.id for each in lookup.physical.splitters if each.parent == index]
    if inner:
        behind.append(Fact(f"splitters inside: {listed(inner)}", "12"))
    sections = section("Reason for it", *splitter_facts(lookup, splitter)), section("Consumers", *behind)
    return Explanation(f"Splitter {splitter.id}", sections)


def parallel_explanation(lookup: CompilationIndex, index: int) -> Explanation:
    """Explain a parallel region: the origin of its width, its operators, and the routing into it.

    Of operators and splitters, six are named, and the others counted.
    """
    region = lookup.logical.regions[index]
    members = [each.name for each in lookup.logical.operators if index in each.regions]
    routes = [
        Fact(
            f"input port {port}: {how.policy}" + (f" over {listed(list(how.attributes))}" if how.attributes else ""),
            "17",
        )
        for port, how in region.routing.items()
    ]
    around = [lookup.logical.regions[parent].name for parent in region.parents]
    splitters = [each.id for each in lookup.physical.splitters if each.region_port.rpartition(".")[0] == region.name]
    facts = [
        Fact(f"width {region.width}, {width_reason(lookup, region)}", "6"),
        Fact(f"every operator in it has {region.width} replicas: {listed(members)}", "3"),
        Fact(f"inside {listed(around)}: inner regions are expanded first", "4") if around else None,
        *(routes or [Fact("input ports without partitionBy or broadcast are routed round robin", "17")]),
        Fact(f"{plural(len(splitters), 'splitter')} in front of it: {listed(splitters)}", "10") if splitters else None,
        Fact("no splitter feeds it: it has no inputs, or they are broadcast", "14, 33") if not splitters else None,
    ]
    return Explanation(f"Parallel region {region.name}", (section("Parallel region", *facts),))
