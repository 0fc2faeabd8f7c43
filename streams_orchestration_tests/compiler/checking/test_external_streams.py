"""Each faulty Import and Export is named before a deployment, once for all its replicas."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.compiling import compile_spec

SPEC = """\
specVersion: 1
application: app
composites:
  Read:
    graph:
      - {name: In, operator: Import, parameters: {application: other, streamId: third}}
      - {name: Out, operator: FileSink, inputs: [In], parameters: {file: third.csv}}
graph:
  - {name: One, operator: Import, parameters: {application: other, streamId: first}}
  - {name: OneOut, operator: FileSink, inputs: [One], parameters: {file: first.csv}}
  - {name: Two, operator: Import, parameters: {application: other, streamId: second}}
  - {name: TwoOut, operator: FileSink, inputs: [Two], parameters: {file: second.csv}}
  - {name: Three, operator: Read, annotations: {parallel: {width: 2}}}
"""


def test_two_imports_with_the_same_fault_are_both_named(tmp_path: Path):
    file = tmp_path / "app.yaml"
    file.write_text(SPEC)
    found = check_operators(compile_spec(file).progress)
    assert [each.operator for each in found if each.code == "SO5005"] == ["One", "Two", "Three[0].In"]
