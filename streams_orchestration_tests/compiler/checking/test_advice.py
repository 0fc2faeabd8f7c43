"""Advice on parameters that are allowed and rarely meant."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.compiler.checking.checking import check_operators, check_parameters
from streams_orchestration.compiler.compiling import compile_spec

UNNAMED = """\
specVersion: 1
application: app
graph:
  - {name: Made, operator: Beacon, outputs: [{stream: Made, schema: n bigint}], parameters: {iterations: 1}}
  - name: Out
    operator: IcebergSink
    inputs: [Made]
    parameters: {table: lake.t, catalog: {type: sql, uri: "sqlite:///catalog.db", warehouse: "file:///data"}}
"""


def test_advice_is_given_by_compiling_and_by_the_check_of_a_deployment(tmp_path: Path):
    spec = tmp_path / "spec.yaml"
    spec.write_text(UNNAMED)
    compilation = compile_spec(spec)
    for check in (check_parameters, check_operators):
        assert [each.code for each in check(compilation.progress)] == ["SO5011"]
