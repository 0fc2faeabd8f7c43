from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import networkx as nx
import pytest

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration.lineage import UnknownNameError, find, lineage_graph, render_lineage


@pytest.fixture
def compilation(spec: Path) -> Compilation:
    return compile_spec(spec)


@pytest.fixture
def graph(compilation: Compilation) -> nx.DiGraph:
    return lineage_graph(compilation)


def test_it_runs_from_the_source_to_the_result(graph: nx.DiGraph):
    assert nx.has_path(graph, "sources/Numbers", "sinks/Results")
    assert nx.has_path(graph, "spec", "deployment")
    kinds = [graph.nodes[node]["kind"] for node in nx.shortest_path(graph, "sources/Numbers", "sinks/Results")]
    assert kinds[0] == "source"
    assert kinds[-1] == "sink"
    assert all({a, b} == {"pe", "stream"} for a, b in pairwise(kinds[1:-1]))


def test_every_stage_and_pe_has_its_place(graph: nx.DiGraph, compilation: Compilation):
    for stage in BY_NAME.values():
        assert set(graph.predecessors(stage.name)) == set(stage.inputs or ("spec",))
    for pe in compilation.fusion.pes:
        assert graph.has_edge("deployment", f"pes/pe_{pe.id}")


def test_every_stream_between_pes_is_there(graph: nx.DiGraph, compilation: Compilation):
    pe_of = compilation.fusion.pe_of
    for connection in compilation.physical.connections:
        source, target = pe_of[connection.source], pe_of[connection.target]
        if source != target:
            stream = compilation.physical.operators[connection.source].streams[connection.source_port]
            assert graph.has_edge(f"pes/pe_{source}", f"streams/{stream}")
            assert graph.has_edge(f"streams/{stream}", f"pes/pe_{target}")
            assert graph.nodes[f"streams/{stream}"]["schema"] == "n bigint"


def test_names_are_found(graph: nx.DiGraph):
    assert find(graph, "sinks/Results") == "sinks/Results"
    assert find(graph, "pe_0") == "pes/pe_0"
    assert find(graph, "0") == "pes/pe_0"
    assert find(graph, "Results") == "sinks/Results"
    assert find(graph, "Even[1]").startswith(("pes/", "streams/"))


def test_a_misspelt_name_is_answered_with_near_ones(graph: nx.DiGraph):
    with pytest.raises(UnknownNameError, match=r"called Reslts.*Did you mean sinks/Results"):
        render_lineage(graph, "Reslts")


def test_an_ambiguous_name_is_answered_with_all(graph: nx.DiGraph):
    with pytest.raises(UnknownNameError, match=r"may be .*sources/Numbers"):
        find(graph, "Numbers")


def test_both_directions_are_drawn(graph: nx.DiGraph):
    text = render_lineage(graph, "deployment")
    above, below = text.split("leads to")
    assert "comes from" in above
    assert "└── " in above
    assert "spec" in above
    assert "sinks/Results" in below
    assert "sinks/Results" not in above


def test_a_cycle_ends(graph: nx.DiGraph):
    graph.add_edge("sinks/Results", "deployment")
    assert "deployment" in render_lineage(graph, "deployment")
