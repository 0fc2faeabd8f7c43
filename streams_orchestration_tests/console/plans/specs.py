"""Specs that the tests of the compile view compile."""

from __future__ import annotations

from pathlib import Path

SPEC = """
specVersion: 1
application: planned
submission:
  width: {type: int32, default: 2}
  where: {type: rstring, default: rows}
schemas: {Row: "n bigint"}
graph:
  - {name: Src, operator: Beacon, outputs: [{stream: Src, schema: Row}], parameters: {iterations: 9, output: {n: "1"}}}
  - name: P
    operator: Filter
    inputs: [Src]
    parameters: {filter: n > 0}
    annotations: {parallel: {width: "${width}"}}
  - {name: Out, operator: FileSink, inputs: [P], parameters: {file: "${where}"}}
"""


def write_spec(directory: Path, text: str = SPEC, name: str = "planned.yaml") -> Path:
    """Return the file of a spec in a directory."""
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path
