"""Specs that compile, and that do not."""

from __future__ import annotations

TINY = """
specVersion: 1
application: tiny
submission:
  width: {type: int32, default: 2}
operators:
  Source: {inputs: []}
  Work: {}
  Sink: {outputs: []}
graph:
  - {name: Src, operator: Source, annotations: {consistent: {trigger: periodic, period: 5.0}}}
  - {name: A, operator: Work, inputs: [Src], annotations: {parallel: {width: "${width}"}}}
  - {name: Snk, operator: Sink, inputs: [A]}
"""

BROKEN = TINY.replace("inputs: [Src]", "inputs: [Srk]")

KEYED = """
specVersion: 1
application: app
schemas: {Row: "k string, g int"}
graph:
  - name: Source
    operator: Beacon
    outputs: [{stream: Source, schema: Row}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
  - name: New
    operator: DeDuplicate
    inputs: [Source]
    parameters: {key: k}
    annotations: {parallel: {width: 2, partitionBy: [{port: in0, attributes: [k]}]}}
  - {name: Snk, operator: FileSink, inputs: [New], parameters: {file: out}}
"""

COPY = """
specVersion: 1
application: copy
schemas: {Line: "x bigint"}
graph:
  - name: Lines
    operator: FileSource
    outputs: [{stream: Lines, schema: Line}]
    parameters: {file: lines.csv, format: csv}
  - {name: Copy, operator: FileSink, inputs: [Lines], parameters: {file: copy, format: parquet}}
"""
