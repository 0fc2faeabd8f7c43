"""Explanations of connections: by reference, copy, queue or transport, and through splitters (rules 10-23, 78-91)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.copies.copies import RULES
from streams_orchestration.compiler.explain.explanation import Fact, listed
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.explain.parting import connection_network
from streams_orchestration.compiler.physical_graph import Splitter

_WAYS = {
    "reference": "tuples pass by reference",
    "copy": "tuples are copied",
    "enqueue": "tuples are copied into a queue",
    "serialize": "tuples are serialized",
}


def connection_facts(lookup: CompilationIndex, number: int) -> Iterator[Fact]:
    """Yield everything that decides how tuples pass one connection.

    This is the way and its reason, Network operators, the copied attributes, what both ports do with tuples, the place
    among several connections of the port, and the splitter.
    """
    connection = lookup.physical.connections[number]
    passing = lookup.compilation.copies.connections[number]
    producer = lookup.model(connection.source).outputs[connection.source_port]
    consumer = lookup.model(connection.target).inputs[connection.target_port]
    text = f"{_WAYS[passing.passing]}: {passing.reason}"
    yield Fact(text, RULES[passing.reason])
    yield from connection_network(lookup, number)
    if passing.passing == "copy":
        if passing.attributes is not None:
            yield Fact(
                f"only {listed(list(passing.attributes))} are copied: the port says that it changes no other", "82"
            )
        elif consumer.mutates is None:
            yield Fact("whole tuples are copied: the port does not say which attributes it changes", "82")
    gives = "gives its tuples away (mutable)" if producer.mutable else "keeps its tuples (not mutable)"
    if not consumer.mutable:
        changes = "does not change tuples"
    elif consumer.mutates is None:
        changes = "may change any attribute"
    else:
        changes = f"changes {listed(list(consumer.mutates)) or 'nothing'}"
    yield Fact(
        f"output port {connection.source_port} of {lookup.name(connection.source)} {gives}, "
        f"input port {connection.target_port} of {lookup.name(connection.target)} {changes}",
        "78",
    )
    served = lookup.outgoing[connection.source, connection.source_port]
    if len(served) > 1:
        position = served.index(number) + 1
        order = "other PEs, direct consumers, splitters"
        order += " as connected" if lookup.options.faithful else ", direct consumers that change tuples last"
        yield Fact(
            f"the port serves it as {position} of {len(served)} ({order})",
            "81" if lookup.options.faithful else "81, 90",
        )
    if connection.splitter >= 0:
        splitter = lookup.physical.splitters[connection.splitter]
        yield Fact(f"it hangs on channel {connection.channel} of the splitter {splitter.id}", "10, 12")
        yield from splitter_facts(lookup, splitter)


def splitter_facts(lookup: CompilationIndex, splitter: Splitter) -> Iterator[Fact]:
    """Explain why a splitter exists and how it routes."""
    yield Fact(
        f"output port {splitter.port} of {lookup.name(splitter.operator)} feeds the port {splitter.region_port} "
        f"of a parallel region of width {splitter.width}: one splitter for each such pair",
        "10",
    )
    if splitter.parent >= 0:
        parent = lookup.physical.splitters[splitter.parent]
        yield Fact(f"it is inside channel {splitter.parent_channel} of the splitter {parent.id}", "12")
    if splitter.policy == "hash":
        names = listed(list(splitter.attributes))
        yield Fact(f"a tuple goes to the channel that the hash of {names} names: partitionBy says so", "17, 20")
    else:
        yield Fact(f"channels take turns, beginning with {splitter.start}: the port has no partitionBy", "17, 21")
    if splitter.drops_window_punctuation:
        yield Fact("window punctuation is dropped, since the stream comes out of a parallel region", "22, 23")
    else:
        yield Fact("punctuation goes to all channels", "22")
