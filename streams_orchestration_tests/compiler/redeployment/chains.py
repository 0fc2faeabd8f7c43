"""Specs of regions that have nothing to do with each other."""

from __future__ import annotations

HEAD = """
specVersion: 1
application: app
schemas: {Row: "k string, g int"}
graph:
"""
APART = "config: {placement: {partitionIsolation: true}}"


def chain(name: str, period: float = 1.0, key: str = "k", extra: str = "") -> str:
    """Return a region of its own with two PEs."""
    return f"""
  - name: {name}Source
    operator: Beacon
    outputs: [{{stream: {name}Source, schema: Row}}]
    annotations: {{consistent: {{trigger: periodic, period: {period}}}}}
  - name: {name}New
    operator: DeDuplicate
    inputs: [{name}Source]
    parameters: {{key: {key}}}
    {APART}
  - {{name: {name}Out, operator: FileSink, inputs: [{name}New], parameters: {{file: {name}}}}}
{extra}"""
