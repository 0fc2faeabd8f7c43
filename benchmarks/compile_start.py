"""`streams compile` of the pipeline with widths 100, 200 and 45, process start included, against three imports."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import Row, process_seconds

SPEC = """
specVersion: 1
application: pipeline
operators: {OPERATORS}
graph:
  - {name: Src, operator: SOURCE}
  - {name: A, operator: WORK, inputs: [Src], annotations: {parallel: {width: 100}}}
  - {name: B, operator: WORK, inputs: [A], annotations: {parallel: {width: 200}}}
  - {name: C, operator: WORK, inputs: [B], annotations: {parallel: {width: 45}}}
  - {name: Snk, operator: SINK, inputs: [C], parameters: {file: out.csv}}
"""


DECLARED = {
    "OPERATORS": "Source: {inputs: []}, Work: {}, Sink: {outputs: []}",
    "SOURCE": "Source",
    "WORK": "Work",
    "SINK": "Sink",
}
STANDARD = {"OPERATORS": "", "SOURCE": "Beacon", "WORK": "Functor", "SINK": "FileSink"}


def spec(operators: dict[str, str]) -> str:
    """The pipeline of some operators."""
    text = SPEC
    for role, operator in operators.items():
        text = text.replace(role, operator)
    return text


def rows(*, quick: bool = False) -> list[Row]:
    """The table, the document, and a pipeline whose operators have implementations that are checked."""
    with TemporaryDirectory() as directory:
        declared, standard = Path(directory, "declared.yaml"), Path(directory, "standard.yaml")
        declared.write_text(spec(DECLARED))
        standard.write_text(spec(STANDARD))
        compile_ = (sys.executable, "-m", "streams_orchestration", "compile")
        imports, table, document, checked = process_seconds(
            (sys.executable, "-c", "import networkx, pydantic, yaml"),
            (*compile_, str(declared)),
            (*compile_, str(declared), "--format", "json"),
            (*compile_, str(standard)),
        )
    what = "compile 347 operators, 29,145 connections, process start included"
    return [
        Row(f"{what} / three imports", table, "s", imports, 2.0),
        Row("the same as JSON", document, "s", imports, 2.0),
        Row("with standard operators, whose implementations are checked", checked, "s", imports, 2.0),
    ]
