"""`streams compile` of the pipeline with widths 100, 200 and 45, process start included, against three imports."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import Row, process_seconds

HEAD = "specVersion: 1\napplication: pipeline"
DECLARED = """
operators: {Source: {inputs: []}, Work: {}, Sink: {outputs: []}}
graph:
  - {name: Src, operator: Source}
  - {name: A, operator: Work, inputs: [Src], annotations: {parallel: {width: 100}}}
  - {name: B, operator: Work, inputs: [A], annotations: {parallel: {width: 200}}}
  - {name: C, operator: Work, inputs: [B], annotations: {parallel: {width: 45}}}
  - {name: Snk, operator: Sink, inputs: [C]}
"""
STANDARD = """
schemas: {Reading: "sensor string, value double"}
graph:
  - name: Src
    operator: Beacon
    outputs: [{stream: Src, schema: Reading}]
    parameters: {output: {sensor: "'a'", value: IterationCount() * 2}}
  - name: A
    operator: Filter
    inputs: [Src]
    parameters: {filter: value IS NOT NULL AND sensor = 'a'}
    annotations: {parallel: {width: 100}}
  - name: B
    operator: Functor
    inputs: [A]
    parameters: {filter: value > 0, output: {value: "COALESCE(value, 0) * 1.5"}}
    annotations: {parallel: {width: 200}}
  - name: C
    operator: Aggregate
    inputs: [B]
    outputs: [{stream: C, schema: Reading}]
    parameters: {window: "tumbling, count(10)", groupBy: [sensor], output: {value: Average(value)}}
    annotations: {parallel: {width: 45}}
  - {name: Snk, operator: FileSink, inputs: [C], parameters: {file: out.csv, format: csv}}
"""
UNPLAIN = STANDARD.replace("value > 0", "CASE WHEN value > 0 THEN TRUE ELSE FALSE END")
"""The same application with an expression that the compiler cannot read without Polars."""


def rows(*, quick: bool = False) -> list[Row]:
    """Measure compiles to a table, to a document, and of operators with checked parameters; return the ratios."""
    with TemporaryDirectory() as directory:
        compile_ = (sys.executable, "-m", "streams_orchestration", "compile")
        specs: list[str] = []
        for name, text in (("declared", DECLARED), ("standard", STANDARD), ("unplain", UNPLAIN)):
            path = Path(directory, f"{name}.yaml")
            path.write_text(HEAD + text, encoding="utf-8")
            specs.append(str(path))
        imports, table, document, plain, unplain = process_seconds(
            (sys.executable, "-c", "import networkx, pydantic, yaml"),
            (*compile_, specs[0]),
            (*compile_, specs[0], "--format", "json"),
            (*compile_, specs[1]),
            (*compile_, specs[2]),
        )
    what = "compile 347 operators, 29,145 connections, process start included"
    return [
        Row(f"{what} / three imports", table, "s", imports, 2.0),
        Row("the same as JSON", document, "s", imports, 2.0),
        Row("with standard operators, whose parameters and expressions are checked", plain, "s", imports, 2.0),
        Row("with an expression that Polars has to analyse", unplain, "s", imports),
    ]
