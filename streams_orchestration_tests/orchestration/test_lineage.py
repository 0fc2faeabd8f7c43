from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import dagster as dg
import networkx as nx
import pytest

from streams_orchestration.compiler.column_uses import FILTER
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.query_columns import ColumnOrigin, QueryColumns
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration.lineage import (
    UnknownNodeError,
    find,
    lineage_document,
    render_lineage,
)
from streams_orchestration.orchestration.lineage_assets import external_assets
from streams_orchestration.runtime.lineage.graph import build_lineage_graph


@pytest.fixture
def compilation(spec: Path) -> Compilation:
    return compile_spec(spec)


@pytest.fixture
def graph(compilation: Compilation) -> nx.DiGraph:
    return build_lineage_graph(compilation)


def test_lineage_runs_from_the_source_to_the_result(graph: nx.DiGraph):
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
    with pytest.raises(UnknownNodeError, match=r"called Reslts.*Did you mean sinks/Results"):
        render_lineage(graph, "Reslts")


def test_an_ambiguous_name_is_answered_with_all(graph: nx.DiGraph):
    with pytest.raises(UnknownNodeError, match=r"may be .*sources/Numbers"):
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
    assets = external_assets(build_lineage_graph(compile_spec(path)))
    return {"/".join(asset.key.path[1:]): asset for asset in assets}


def deps(spec: dg.AssetSpec) -> dict[str, list[tuple[str, str]]]:
    lineage = spec.metadata["dagster/column_lineage"]
    column_lineage = lineage.value if isinstance(lineage, dg.TableColumnLineageMetadataValue) else lineage
    return {
        column: [("/".join(dep.asset_key.path[1:]), dep.column_name) for dep in deps]
        for column, deps in column_lineage.deps_by_column.items()
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


INFLUENCES = """\
specVersion: 1
application: influences
graph:
  - name: Orders
    operator: Beacon
    outputs: [{stream: Orders, schema: "id bigint, city string, paid double, at timestamp, kind string"}]
    parameters: {iterations: 3}
  - name: Cities
    operator: Beacon
    outputs: [{stream: Cities, schema: "city string, country string"}]
    parameters: {iterations: 3}
  - {name: Paid, operator: Filter, inputs: [Orders], parameters: {filter: "paid > 1"}}
  - name: Placed
    operator: Join
    inputs: [Paid, Cities]
    outputs: [{stream: Placed, schema: "country string, paid double, at timestamp"}]
    parameters:
      window: sliding, count(2)
      equalityLHS: [city]
      equalityRHS: [city]
      output: {paid: "if(kind = 'a', paid * 2, 0.0)"}
  - name: Totals
    operator: Aggregate
    inputs: [Placed]
    outputs: [{stream: Totals, schema: "country string, total double"}]
    parameters:
      window: tumbling, time(60)
      timeAttribute: at
      groupBy: [country]
      output: {total: Sum(paid)}
    config: {placement: {partitionColocation: one}}
  - {name: Out, operator: FileSink, inputs: [Totals], parameters: {file: out}}
"""


def use(node: str, column: str, *uses: str) -> dict[str, object]:
    words = (each.split() for each in uses)
    return {"node": node, "column": column, "transformations": [{"type": kind, "subtype": sub} for kind, sub in words]}


@pytest.mark.parametrize("apart", [False, True])
def test_conditions_and_keys_influence_all_columns(tmp_path: Path, apart: bool):
    path = tmp_path / "influences.yaml"
    cut = "parameters: {file: out}, config: {placement: {partitionIsolation: true}}"
    path.write_text(INFLUENCES.replace("parameters: {file: out}", cut) if apart else INFLUENCES)
    graph = build_lineage_graph(compile_spec(path))
    name = "streams/Totals" if apart else "sinks/Out"
    nodes = {node["name"]: node for node in lineage_document(graph, name)["nodes"]}
    orders, cities = "sources/Orders", "sources/Cities"
    assert nodes[name]["columns"] == {
        "country": [use(cities, "country", "DIRECT IDENTITY")],
        "total": [use(orders, "kind", "INDIRECT CONDITIONAL"), use(orders, "paid", "DIRECT AGGREGATION")],
    }
    assert nodes[name]["influences"] == [
        use(cities, "city", "INDIRECT JOIN"),
        use(cities, "country", "INDIRECT GROUP_BY"),
        use(orders, "at", "INDIRECT WINDOW"),
        use(orders, "city", "INDIRECT JOIN"),
        use(orders, "paid", "INDIRECT FILTER"),
    ]
    shown = render_lineage(graph, name).partition("\nall columns depend on\n")[2].splitlines()
    assert shown[:2] == ["sources/Cities.city     JOIN", "sources/Cities.country  GROUP_BY"]
    if apart:
        assert nodes[name] == {**nodes[name], "kind": "stream"}
        sink = lineage_document(graph, "sinks/Out")["nodes"]
        assert next(node for node in sink if node["name"] == "sinks/Out")["influences"] == []


QUERIES = """\
specVersion: 1
application: queries
graph:
  - {name: Made, operator: Beacon, outputs: [{stream: Made, schema: "a bigint, b string"}], parameters: {iterations: 3}}
  - {name: Other, operator: Beacon, outputs: [{stream: Other, schema: "a bigint"}], parameters: {iterations: 3}}
  - name: First
    operator: DataFrame
    inputs: [Made, Other]
    outputs: [{stream: First, schema: "up string, n bigint, c bigint"}]
    parameters: {function: "shop:first"}
    config: {placement: {partitionColocation: one}}
  - name: Second
    operator: Sql
    inputs: [First]
    outputs: [{stream: Second, schema: "k string, n bigint"}]
    parameters: {query: "SELECT up AS k, n FROM First"}
    config: {placement: {partitionColocation: one}}
  - {name: Kept, operator: FileSink, inputs: [Second], parameters: {file: kept}}
"""
KNOWN = (
    QueryColumns(
        "First",
        ({"up": ColumnOrigin(((0, "b"),)), "n": ColumnOrigin(((0, "a"), (1, "a")), whole_rows=True),
          "c": ColumnOrigin()},),
    ),
    QueryColumns(
        "Second", ({"k": ColumnOrigin(((0, "up"),)), "n": ColumnOrigin(((0, "n"),))},), frozenset({(0, "up", FILTER)})
    ),
)  # fmt: skip


@pytest.fixture
def queries(tmp_path: Path) -> Compilation:
    """As Spark has read it: a query behind a function, in one PE."""
    path = tmp_path / "queries.yaml"
    path.write_text(QUERIES)
    return replace(compile_spec(path), query_columns=KNOWN)


def test_columns_of_queries_come_from_what_spark_says_they_are_made_from(queries: Compilation):
    graph = build_lineage_graph(queries)
    document = lineage_document(graph, "streams/Second")
    nodes = {node["name"]: node for node in json.loads(json.dumps(document, default=str))["nodes"]}
    direct = {"transformations": [{"type": "DIRECT"}]}
    made = [{"node": node, "column": "a", **direct} for node in ("streams/Made", "streams/Other")]
    assert nodes["streams/Second"]["columns"] == {"k": [{"node": "streams/Made", "column": "b", **direct}], "n": made}
    assert nodes["streams/Second"]["wholeRows"] == ["n"]
    filtered = {"transformations": [{"type": "INDIRECT", "subtype": "FILTER"}]}
    assert nodes["streams/Second"]["influences"] == [{"node": "streams/Made", "column": "b", **filtered}]
    identity = {"transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]}
    assert nodes["streams/Made"]["columns"]["b"] == [{"node": "sources/Made", "column": "b", **identity}]
    assert "wholeRows" not in nodes["streams/Made"]
    assert render_lineage(graph, "streams/Second").partition("\ncolumns\n")[2].splitlines() == [
        "k  from streams/Made.b",
        "n  from streams/Made.a, streams/Other.a, by a function over whole rows",
        "",
        "all columns depend on",
        "streams/Made.b  FILTER",
    ]
    assert "\ncolumns\n" not in render_lineage(graph, "sources/Made")

    assets = {"/".join(asset.key.path[1:]): asset for asset in external_assets(graph)}
    assert deps(assets["streams/Second"]) == {
        "k": [("streams/Made", "b")], "n": [("streams/Made", "a"), ("streams/Other", "a")],
    }  # fmt: skip
    assert assets["streams/Second"].metadata["streams/whole_rows"] == ["n"]


@pytest.mark.parametrize(
    ("change", "known"),
    [
        (("file: kept", "file: other"), {"First", "Second"}),
        (("AS k, n FROM", "AS k, n + 1 AS n FROM"), {"First"}),
        (("shop:first", "shop:second"), {"Second"}),
        (("k string, n bigint", "k string, n double"), {"First"}),
        (("name: Second", "name: Another"), {"First"}),
    ],
)
def test_known_columns_of_a_query_are_kept_until_it_changes(
    queries: Compilation, tmp_path: Path, change: tuple[str, str], known: set[str]
):
    path = tmp_path / "queries.yaml"
    path.write_text(QUERIES.replace(*change))
    again = compile_spec(path).with_columns_of(queries)
    assert {each.operator for each in again.query_columns} == known
