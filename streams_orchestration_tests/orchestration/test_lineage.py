from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import dagster as dg
import networkx as nx
import pytest

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration.lineage import UnknownNameError, find, lineage_graph, render_lineage
from streams_orchestration.orchestration.lineage_assets import external_assets


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


COLUMNS = """\
specVersion: 1
application: columns
graph:
  - name: Made
    operator: Beacon
    outputs: [{stream: Made, schema: "a bigint, b string, c double NOT NULL"}]
    parameters: {iterations: 3}
  - {name: Some, operator: Filter, inputs: [Made], parameters: {filter: a > 1}}
  - name: Changed
    operator: Functor
    inputs: [Some]
    outputs: [{stream: Changed, schema: "a bigint, sum double, fixed string"}]
    parameters: {output: {sum: "a + c", fixed: "'b'"}}
    config: {placement: {partitionColocation: one}}
  - {name: Own, operator: "some.module:Class", inputs: [Changed], outputs: [{stream: Own, schema: "a bigint"}]}
  - name: Kept
    operator: FileSink
    inputs: [Changed]
    parameters: {file: kept, format: csv}
    config: {placement: {partitionIsolation: true}}
  - name: Odd
    operator: FileSink
    inputs: [Own]
    parameters: {file: odd}
    config: {placement: {partitionIsolation: true}}
"""


@pytest.fixture
def specs(tmp_path: Path) -> dict[str, dg.AssetSpec]:
    path = tmp_path / "columns.yaml"
    path.write_text(COLUMNS)
    assets = external_assets(lineage_graph(compile_spec(path)))
    return {"/".join(asset.key.path[1:]): asset for asset in assets}


def deps(spec: dg.AssetSpec) -> dict[str, list[tuple[str, str]]]:
    lineage = spec.metadata["dagster/column_lineage"]
    actual = lineage.value if isinstance(lineage, dg.TableColumnLineageMetadataValue) else lineage
    return {
        column: [("/".join(dep.asset_key.path[1:]), dep.column_name) for dep in deps]
        for column, deps in actual.deps_by_column.items()
    }


def test_columns_come_from_those_that_expressions_name(specs: dict[str, dg.AssetSpec]):
    made = "sources/Made"
    assert deps(specs["streams/Changed"]) == {"a": [(made, "a")], "sum": [(made, "a"), (made, "c")]}
    assert deps(specs["sinks/Kept"]) == {name: [("streams/Changed", name)] for name in ("a", "sum", "fixed")}, (
        "a sink takes them as they are"
    )
    assert "dagster/column_lineage" not in specs["streams/Own"].metadata, "nothing tells what code of a user's own does"


def test_streams_sources_and_sinks_have_columns_and_a_line_of_the_spec(specs: dict[str, dg.AssetSpec]):
    for name, columns in (("sources/Made", ["a", "b", "c"]), ("streams/Own", ["a"]), ("sinks/Odd", ["a"])):
        schema = specs[name].metadata["dagster/column_schema"]
        assert [column.name for column in getattr(schema, "schema", schema).columns] == columns
        (reference,) = specs[name].metadata["dagster/code_references"].code_references
        line = COLUMNS.splitlines()[reference.line_number - 1 : reference.line_number + 2]
        assert name.partition("/")[2] in "".join(line)
    assert specs["sources/Made"].kinds == {"beacon", "source"}
    assert specs["sinks/Kept"].kinds == {"csv", "sink"}
    assert specs["sinks/Odd"].kinds == {"filesink", "sink"}
