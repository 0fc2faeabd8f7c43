from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.walks import CircleError, levels, producers_first, reached, shortest_path

EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda edge: edge[0] != edge[1]), max_size=20)


def graph_of(edges: list[tuple[int, int]]) -> tuple[nx.DiGraph, dict[int, set[int]]]:
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(8))
    return graph, {node: set(graph.successors(node)) for node in sorted(graph)}


@given(EDGES, st.integers(0, 7))
def test_reached_is_what_networkx_reaches(edges: list[tuple[int, int]], start: int) -> None:
    graph, successors = graph_of(edges)
    assert reached((start,), successors) == {start, *nx.descendants(graph, start)}


@given(EDGES, st.integers(0, 7), st.integers(0, 7))
def test_a_shortest_path_is_one_of_networkx(edges: list[tuple[int, int]], first: int, last: int) -> None:
    graph, successors = graph_of(edges)
    way = shortest_path(first, last, successors.__getitem__)
    if first == last or not nx.has_path(graph, first, last):
        assert not way
    else:
        assert way in [*nx.all_shortest_paths(graph, first, last)]


@given(EDGES, st.sets(st.integers(0, 7)))
def test_the_order_is_the_smallest_one(edges: list[tuple[int, int]], nodes: set[int]) -> None:
    graph, successors = graph_of([(min(edge), max(edge)) for edge in edges])
    wanted = nx.lexicographical_topological_sort(graph.subgraph(nodes))
    assert producers_first(nodes, successors) == tuple(wanted)


@given(EDGES)
def test_circles_and_the_nodes_behind_them_have_no_order(edges: list[tuple[int, int]]) -> None:
    graph, successors = graph_of(edges)
    circles = [each for each in nx.strongly_connected_components(graph) if len(each) > 1]
    behind = reached((node for circle in circles for node in circle), successors)
    assert set(producers_first(set(successors), successors)) == set(successors) - behind


@given(EDGES)
def test_levels_or_a_circle(edges: list[tuple[int, int]]) -> None:
    graph, successors = graph_of(edges)
    if nx.is_directed_acyclic_graph(graph):
        wanted = {node: level for level, nodes in enumerate(nx.topological_generations(graph)) for node in nodes}
        assert levels(successors) == wanted
        return
    with pytest.raises(CircleError) as caught:
        levels(successors)
    nodes = caught.value.nodes
    assert all(graph.has_edge(*edge) for edge in zip(nodes, (*nodes[1:], nodes[0]), strict=True))
