"""Random nested applications: the transformation against one that copies composites channel by channel."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

from hypothesis import given

from streams_orchestration.compiler.documents import dump, load
from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.model.application import Application
from streams_orchestration_tests.compiler.nested_applications import applications
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.specs import physical


def copied(application: Application) -> Counter[tuple[str, str]]:
    """Return the connections (producer, consumer), by opening every composite once a channel."""
    pairs: Counter[tuple[str, str]] = Counter()

    def open_(calls: Any, prefix: str, streams: dict[str, list[str]], rank: int) -> dict[str, list[str]]:
        streams = dict(streams)
        for call in calls:
            fed = [producer for binding in call.inputs for name in binding.streams for producer in streams[name]]
            parallel = call.annotations.parallel
            width = parallel.width if parallel is not None else 0
            produced: list[str] = []
            for channel in range(max(width, 1)):
                inner = rank * width + channel if width else rank
                name = f"{prefix}{call.name}" + (f"[{inner}]" if width else "")
                composite = application.composites.get(call.operator)
                if composite is None:
                    pairs.update((producer, name) for producer in fed)
                    produced.append(name)
                else:
                    inside = open_(composite.graph, name + ".", {"In": fed}, inner)
                    produced += inside[composite.outputs[0]]
            streams[call.name] = produced
        return streams

    open_(application.graph, "", {}, 0)
    return pairs


@examples(60)
@given(applications())
def test_connections_are_those_of_the_copied_application(application: Application) -> None:
    actual = physical(application)
    names = [operator.name for operator in actual.operators]
    assert len(set(names)) == len(names)
    assert Counter((names[each.source], names[each.target]) for each in actual.connections) == copied(application)


def expected_count(logical: LogicalGraph, connection: LogicalConnection) -> int:
    """Rule 15, with the border crossings read from the names of the composites on the way."""
    regions = {region.name: region.width for region in logical.regions}
    source, target = logical.operators[connection.source], logical.operators[connection.target]
    steps = [step.partition(":") for step in connection.path]
    left = [place.rpartition(".")[0] for kind, _, place in steps if kind == "left"]
    entered = [place.rpartition(".")[0] for kind, _, place in steps if kind == "entered"]
    common = [name for name in source.composites if name not in left]
    assert common == [name for name in target.composites if name not in entered]
    crossed = [*common, *left, *entered, source.name, target.name]
    return prod(regions.get(name, 1) for name in crossed)


@examples(60)
@given(applications())
def test_count_rule_and_order(application: Application) -> None:
    logical, _ = build_logical_graph(application, Options())
    actual, _ = expand(logical)
    expected: Counter[tuple[int, int]] = Counter()
    for connection in logical.connections:
        expected[connection.source, connection.target] += expected_count(logical, connection)
    counted = Counter(
        (actual.operators[each.source].logical, actual.operators[each.target].logical) for each in actual.connections
    )
    assert counted == expected
    # Sorted as documented; within one logical connection by splitter, channel and target.
    assert [each[:2] for each in actual.connections] == sorted(each[:2] for each in actual.connections)
    check_splitters(actual)
    assert load(PhysicalGraph, dump(actual)) == actual
    assert load(LogicalGraph, dump(logical)) == logical


def check_splitters(physical_graph: PhysicalGraph) -> None:
    assert [each.index for each in physical_graph.splitters] == list(range(len(physical_graph.splitters)))
    assert len({each.id for each in physical_graph.splitters}) == len(physical_graph.splitters)
    keys = [(each.operator, each.port) for each in physical_graph.splitters]
    assert keys == sorted(keys)
    held: dict[int, set[int]] = {each.index: set() for each in physical_graph.splitters}
    for each in physical_graph.splitters:
        assert each.parent < each.index
        assert 0 <= each.start < each.width
        if each.parent >= 0:
            parent = physical_graph.splitters[each.parent]
            assert (parent.operator, parent.port) == (each.operator, each.port)
            assert 0 <= each.parent_channel < parent.width
            held[each.parent].add(each.parent_channel)
    for connection in physical_graph.connections:
        if connection.splitter >= 0:
            splitter = physical_graph.splitters[connection.splitter]
            assert (splitter.operator, splitter.port) == (connection.source, connection.source_port)
            held[connection.splitter].add(connection.channel)
    assert all(channels == set(range(physical_graph.splitters[index].width)) for index, channels in held.items())
