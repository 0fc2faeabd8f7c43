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
