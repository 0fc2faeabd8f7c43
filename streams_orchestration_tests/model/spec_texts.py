"""A spec with everything in it, and what is wrong with a text."""

from __future__ import annotations

from streams_orchestration_tests.specs import findings

FULL = """\
specVersion: 1
application: flight_delays
description: Delay statistics per carrier
submission:
  width: {type: int32, default: 2}
  period: {type: float64, default: 10}
schemas:
  Flight: "carrier string, origin string, dep_delay double, sched_dep timestamp"
operators:
  Enrich:
    implementation: flights.operators:Enrich
    inputs: [{mutable: true}, {control: true}, {expectsWindowPunctuation: true}, {mutates: [dep_delay]}]
    outputs: [{mutable: true}, {generatesWindowPunctuation: true}, {preservesWindowPunctuation: true}]
    stateful: true
    singleThreaded: WindowBound
    consistent: {member: true, start: true, reason: ""}
    waits: [{port: 0, for: 1}]
composites:
  Comp1:
    inputs: [In, Other]
    outputs: [B]
    config: {placement: {partitionColocation: [byChannel(), x]}}
    annotations: {threading: {model: dynamic, threads: 4, elastic: false}}
    graph:
      - {name: A, operator: Filter, inputs: [In]}
      - name: B
        operator: Custom
        inputs: [A, [Other]]
        outputs: [{stream: B, schema: Flight}]
        config: {threadedPort: [{port: 0, congestionPolicy: Sys.DropFirst, queueSize: 10}]}
hostPools:
  - {name: ingest, tags: [kafka], size: 2}
graph:
  - name: Src
    operator: FileSource
    outputs: [{stream: Src, schema: Flight, rate: 5000}]
    parameters: {file: "x-${width}.csv"}
    annotations: {consistent: {trigger: periodic, period: "${period}", drainTimeout: 180}}
  - name: Out
    operator: Comp1
    inputs: [Src, {streams: [Src], name: Other}]
    annotations:
      parallel: {width: "${width}", partitionBy: [{port: In, attributes: [carrier]}], broadcast: [Other]}
    config:
      placement: {partitionExlocation: byReplica(), hostPool: ingest}
      restartable: true
      relocatable: true
  - name: Snk
    operator: FileSink
    inputs: [{streams: [Out], name: control0, control: true}]
    annotations: {autonomous: true, atomic: ledger}
    config: {checkpoint: {periodic: 5.0}}
"""


def problems(text: str) -> list[tuple[str, int, str]]:
    """Code, line and message of everything that is wrong with a text."""
    _, diagnostics = findings(text)
    return [(each.code, int(each.location.rpartition(":")[2]), each.message) for each in diagnostics]
