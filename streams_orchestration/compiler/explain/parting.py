"""Explanations of decoupled PEs: their parts, and the Network operators between these."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.explain.explanation import Fact, listed
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.stage_results import Network


def part_facts(lookup: CompilationIndex, pe: int) -> Iterator[Fact]:
    """Yield facts about a PE that decoupling made: the PE that was divided, and the other parts; none for other PEs."""
    element = lookup.pes[pe]
    if element.origin < 0:
        return
    source = lookup.options.decoupling.location if lookup.options.decoupling else ""
    text = f"the decoupling decision puts these on machine {element.machine} of PE {element.origin} as it was fused"
    yield Fact(text, "Q12", source)
    others = [each for each in lookup.fusion.pes if each.origin == element.origin and each.id != pe]
    parts = [f"PE {each.id} (machine {each.machine})" for each in others]
    yield Fact(f"the other parts: {listed(parts)}; to the operators all of them are PE {element.origin} still", "Q12")


def parted_facts(lookup: CompilationIndex, first: int, second: int) -> Iterator[Fact]:
    """Explain why two operators that were fused into one PE are apart; nothing if decoupling does not part them."""
    one, other = (lookup.pes[lookup.fusion.pe_of[each]] for each in (first, second))
    if one.id != other.id and one.origin == other.origin >= 0:
        yield Fact(
            f"as fused both were in PE {one.origin}; the decoupling decision puts {lookup.name(first)} on machine "
            f"{one.machine} and {lookup.name(second)} on machine {other.machine}",
            "Q12",
        )


def network_fact(lookup: CompilationIndex, network: Network) -> Fact:
    """Describe one pair of Network operators; of channels and of input ports, six are named, and the others counted."""
    output = network.outputs[0]
    channels = sorted({each.channel for each in network.outputs}) if network.outputs[0].splitter >= 0 else []
    what = f"what output port {output.port} of {lookup.name(output.operator)} submits"
    if channels:
        what += f" to channel{'s' * (len(channels) > 1)} {listed([str(each) for each in channels])}"
    ports = [f"{lookup.name(each.operator)}.{each.port}" for each in network.inputs]
    text = f"a pair of Network operators: {what} is sent by PE {network.sender} and received by PE {network.receiver}"
    return Fact(f"{text}, for {listed(ports)}", "Q5, Q6")


def network_facts(lookup: CompilationIndex, pe: int) -> Iterator[Fact]:
    """Describe the Network operators in a PE, senders first."""
    for network in lookup.fusion.networks:
        if network.sender == pe:
            yield network_fact(lookup, network)
    for network in lookup.fusion.networks:
        if network.receiver == pe:
            yield network_fact(lookup, network)


def connection_network(lookup: CompilationIndex, number: int) -> Iterator[Fact]:
    """Yield a fact about the Network operators on a connection; yield nothing if the connection has none."""
    each = lookup.physical.connections[number]
    key = each.source, each.source_port, lookup.fusion.pe_of[each.target]
    if key in lookup.networks:
        yield network_fact(lookup, lookup.networks[key])
