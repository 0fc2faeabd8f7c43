"""The data that an application reads and writes, as OpenLineage's events name it."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime.lineage.dataset_names import DatasetName
from streams_orchestration.runtime.lineage.flows import DataColumn, flows_of
from streams_orchestration.runtime.storage.home import Home

LOOKUP = """\
specVersion: 1
application: airlines
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
  - {name: Kept, operator: FileSink, inputs: [Airlines], parameters: {file: kept}}
"""


def test_a_file_that_an_operator_reads_beside_its_streams_is_an_input(tmp_path: Path):
    path = tmp_path / "airlines.yaml"
    path.write_text(LOOKUP)
    compilation = compile_spec(path)
    programs = [pe.program for pe in compilation.deployment.pes]
    flows = flows_of(Home(tmp_path / "home"), str(tmp_path), compilation, programs)
    table = DatasetName("file", str(tmp_path / "airlines.csv"))
    assert set(flows.inputs) == {table}
    (kept,) = flows.outputs.values()
    assert set(kept.columns["airline"]) == {DataColumn(table, "name")}
