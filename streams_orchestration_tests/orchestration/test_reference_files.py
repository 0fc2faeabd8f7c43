"""Files that operators read beside their streams are sources of the lineage."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from streams_orchestration.compiler.compiling import compile_spec, compile_without_plan
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.orchestration.lineage import find, lineage_document, render_lineage
from streams_orchestration.orchestration.lineage_assets import external_assets
from streams_orchestration.runtime.lineage.graph import build_lineage_graph

REFERENCES = """\
specVersion: 1
application: references
operators:
  Own: {implementation: "own_references:Own", inputs: [{}], outputs: [{}]}
graph:
  - name: Made
    operator: Beacon
    outputs: [{stream: Made, schema: "carrier string, n bigint"}]
    parameters: {iterations: 3}
  - name: Airlines
    operator: Lookup
    inputs: [Made]
    outputs: [{stream: Airlines, schema: "carrier string, n bigint, airline string"}]
    parameters: {table: airlines.csv, key: carrier, take: {airline: name}}
    annotations: {parallel: {width: 2}}
    config: {placement: {partitionIsolation: true}}
  - name: Routed
    operator: Split
    inputs: [Airlines]
    outputs: [{stream: First, schema: "carrier string, n bigint, airline string"}, {stream: Second}]
    parameters: {file: routes.csv, key: carrier}
  - name: Joined
    operator: Sql
    inputs: [First]
    outputs: [{stream: Joined, schema: "carrier string, city string"}]
    parameters:
      query: "SELECT carrier, city FROM First JOIN cities USING (n) JOIN more USING (n)"
      static:
        cities: {file: cities, format: csv, schema: "n bigint, city string"}
        more: {file: "more/*.x", format: orc}
  - name: Own
    operator: Own
    inputs: [Second]
    outputs: [{stream: Own, schema: "n bigint"}]
    parameters: {of: own.txt}
  - {name: Kept, operator: FileSink, inputs: [Joined], parameters: {file: kept}}
  - {name: Looked, operator: FileSink, inputs: [Airlines], parameters: {file: looked}}
  - {name: Rest, operator: FileSink, inputs: [Own], parameters: {file: rest}}
"""
OWN = """\
from streams_orchestration.operators import Operator, Parameters

class Own(Operator):
    class Parameters(Parameters):
        of: str
    @classmethod
    def input_files(cls, parameters):
        return (parameters.of, "always.txt")
    def process(self, port, batch):
        pass
"""


@pytest.fixture
def references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_references.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "references.yaml"
    path.write_text(REFERENCES)
    return path


def test_files_that_operators_read_beside_their_streams_are_sources(references: Path):
    graph = build_lineage_graph(compile_spec(references))
    nodes = graph.nodes(data=True)
    read = {name: facts for name, facts in nodes if facts["kind"] == "source" and name != "sources/Made"}
    assert {name: facts["location"] for name, facts in read.items()} == {
        "sources/Airlines.table": "airlines.csv",
        "sources/Routed.file": "routes.csv",
        "sources/Joined.cities": "cities",
        "sources/Joined.more": "more/*.x",
        "sources/Own.of": "own.txt",
        "sources/Own.file": "always.txt",
    }
    cities = read["sources/Joined.cities"]
    assert (cities["format"], cities["schema"], cities["operator_kind"]) == ("csv", "n bigint, city string", "Sql")
    replicas = {pe for pe, facts in nodes if "Airlines[1]" in facts.get("operators", ())}
    assert replicas < set(graph.successors("sources/Airlines.table"))
    assert find(graph, "Own") == next(pe for pe in graph.successors("sources/Own.of"))

    looked = lineage_document(graph, "sinks/Looked")
    assert "sources/Airlines.table" in looked["comesFrom"]
    assert "sources/Airlines.table  (airlines.csv)" in render_lineage(graph, "sinks/Looked")
    assets = {"/".join(asset.key.path[1:]): asset for asset in external_assets(graph)}
    assert assets["sources/Airlines.table"].kinds == {"csv", "source"}
    assert assets["sources/Joined.more"].kinds == {"orc", "source"}
    lineages = [asset.metadata["dagster/column_lineage"] for asset in assets.values()
                if "dagster/column_lineage" in asset.metadata]  # fmt: skip
    columns = [getattr(each, "value", each).deps_by_column.get("airline", ()) for each in lineages]
    taken = dg.TableColumnDep(dg.AssetKey(["references", "sources", "Airlines.table"]), "name")
    assert [taken] in columns


def test_no_code_of_the_user_is_imported_for_files_where_assets_are_defined(references: Path):
    graph = build_lineage_graph(compile_without_plan(read_application(references), Options()))
    assert {"sources/Airlines.table", "sources/Joined.cities"} < set(graph)
    assert "sources/Own.of" not in graph
