"""The subjects of metrics, and functions that yield them from a snapshot with the values of their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams_orchestration.operators.contract.metrics import LAG_BYTES, LAG_SECONDS, LAG_TUPLES
from streams_orchestration.runtime.machines.register import MachineStatus
from streams_orchestration.runtime.observing.event_time import OperatorEventTime
from streams_orchestration.runtime.observing.exposition.family import Labels, Subject
from streams_orchestration.runtime.observing.metrics import (
    ConnectionMetrics,
    CustomMetric,
    OperatorMetrics,
    PeMetrics,
    PortMetrics,
    QueueMetrics,
    ReaderMetrics,
    StreamMetrics,
)
from streams_orchestration.runtime.observing.snapshots import ObservedApplication, Snapshot
from streams_orchestration.runtime.observing.status import ConnectionStatus
from streams_orchestration.runtime.sinks.sinks import SinkStatus
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration.runtime.units.status import HostStatus, PeStatus
from streams_orchestration.runtime.units.unit_status import UnitStatus

WATERMARK, OPEN_PANES, TIMERS = "watermark", "open_panes", "timers"
LATE_TAKEN, LATE_DROPPED, AHEAD, NULL_TIMES = "late_taken", "late_dropped", "ahead", "null_times"
KNOWN = {
    **dict.fromkeys((LAG_TUPLES, LAG_BYTES, LAG_SECONDS, WATERMARK, OPEN_PANES, TIMERS), "gauge"),
    **dict.fromkeys(("dropped", "errors", LATE_TAKEN, LATE_DROPPED, AHEAD, NULL_TIMES), "counter"),
}
"""Operators' metrics with names of the SDK -> their kind. Each has a family of its own."""


def is_known(metric: CustomMetric, name: str | None = None) -> bool:
    """Return True if a metric has a name and the kind of the SDK; with `name`, only for that name.

    A metric of an operator's own with such a name, but another kind, is not known.
    """
    return KNOWN.get(metric.name) == metric.kind and name in (None, metric.name)


@dataclass(frozen=True, slots=True)
class ShownUnit:
    """A unit of recovery, with its failure if it needs a reset."""

    status: UnitStatus
    failure: UnitFailure | None
    deployed_at: float
    """The time of the deployment in unix seconds."""
    shown_state: str


@dataclass(frozen=True, slots=True)
class Pe:
    """A PE, with its current state."""

    status: PeStatus
    shown_state: str


@dataclass(frozen=True, slots=True)
class ReachedTime:
    """The watermark of an operator, and its age."""

    watermark: float
    """Unix seconds of event time."""
    age: float
    """Seconds from the watermark until now."""


@dataclass(frozen=True, slots=True)
class Link:
    """An imported stream, summed over the ports of one PE that read it."""

    lag_tuples: int
    lag_segments: int
    lost: int
    connected: bool


def everything(snapshot: Snapshot) -> Iterator[tuple[Labels, Snapshot]]:
    """Yield the snapshot itself, without labels."""
    yield (), snapshot


def applications(snapshot: Snapshot) -> Iterator[tuple[Labels, ObservedApplication]]:
    """Yield the applications, labelled by name."""
    for each in snapshot.applications:
        yield (each.name,), each


def units(snapshot: Snapshot) -> Iterator[tuple[Labels, ShownUnit]]:
    """Yield the units, labelled by application and name."""
    for each in snapshot.applications:
        failed = {failure.unit: failure for failure in each.failures}
        for unit in each.status.units:
            state = each.status.state_of_unit(unit)
            yield (each.name, unit.name), ShownUnit(unit, failed.get(unit.name), each.status.deployed_at, state)


def hosts(snapshot: Snapshot) -> Iterator[tuple[Labels, HostStatus]]:
    """Yield the hosts, labelled by application and number."""
    for each in snapshot.applications:
        for host in each.status.hosts:
            yield (each.name, str(host.id)), host


def pes(snapshot: Snapshot) -> Iterator[tuple[Labels, Pe]]:
    """Yield the PEs, labelled by application and number."""
    for each in snapshot.applications:
        for pe in each.status.pes:
            yield (each.name, str(pe.id)), Pe(pe, each.status.state_of(pe))


def measured_pes(snapshot: Snapshot) -> Iterator[tuple[Labels, PeMetrics]]:
    """Yield the PEs that have made a batch, labelled by application and number."""
    for each in snapshot.applications:
        for pe in each.metrics.pes:
            yield (each.name, str(pe.pe)), pe


def operators(snapshot: Snapshot) -> Iterator[tuple[Labels, OperatorMetrics]]:
    """Yield the operators, labelled by application, PE and name."""
    for each in snapshot.applications:
        for operator in each.metrics.operators:
            yield (each.name, str(operator.pe), operator.name), operator


def watermarks(snapshot: Snapshot) -> Iterator[tuple[Labels, ReachedTime]]:
    """Yield the operators with a watermark, labelled by application, PE and name; queries of Spark's are among them."""
    for each in snapshot.applications:
        pe_of = {operator.name: operator.pe for operator in each.metrics.operators}
        for name, watermark in each.metrics.watermarks.items():
            if name in pe_of:
                yield (each.name, str(pe_of[name]), name), ReachedTime(watermark, each.metrics.at - watermark)


def event_times(snapshot: Snapshot) -> Iterator[tuple[Labels, OperatorEventTime]]:
    """Yield the operators in event-time graphs, labelled by application, PE and name."""
    for each in snapshot.applications:
        for operator in each.metrics.event_time:
            yield (each.name, str(operator.pe), operator.operator), operator


def inputs(snapshot: Snapshot) -> Iterator[tuple[Labels, PortMetrics]]:
    """Yield the input ports of operators, labelled by application, PE, operator and port."""
    for labels, operator in operators(snapshot):
        for port in operator.inputs:
            yield (*labels, str(port.port)), port


def outputs(snapshot: Snapshot) -> Iterator[tuple[Labels, PortMetrics]]:
    """Yield the output ports of operators, labelled by application, PE, operator and port."""
    for labels, operator in operators(snapshot):
        for port in operator.outputs:
            yield (*labels, str(port.port)), port


def custom(snapshot: Snapshot) -> Iterator[tuple[Labels, CustomMetric]]:
    """Yield the operators' own metrics without a family, labelled by application, PE, operator and metric."""
    for labels, operator in operators(snapshot):
        for metric in operator.custom:
            if not is_known(metric):
                yield (*labels, metric.name), metric


def streams(snapshot: Snapshot) -> Iterator[tuple[Labels, StreamMetrics]]:
    """Yield the streams between PEs, labelled by application, writing PE and name."""
    for each in snapshot.applications:
        for stream in each.metrics.streams:
            yield (each.name, str(stream.pe), stream.name), stream


def readers(snapshot: Snapshot) -> Iterator[tuple[Labels, ReaderMetrics]]:
    """Yield the readers of streams between PEs, labelled as the stream and by the reading PE."""
    for labels, stream in streams(snapshot):
        for reader in stream.readers:
            yield (*labels, str(reader.pe)), reader


def queues(snapshot: Snapshot) -> Iterator[tuple[Labels, QueueMetrics]]:
    """Yield the exchanges within PEs, labelled by application, PE, and the operator and input port behind them."""
    for each in snapshot.applications:
        for queue in each.metrics.queues:
            yield (each.name, str(queue.pe), queue.operator, str(queue.port)), queue


def copies(snapshot: Snapshot) -> Iterator[tuple[Labels, ConnectionMetrics]]:
    """Yield the connections within PEs that copy tuples, labelled by application, PE and connection."""
    for each in snapshot.applications:
        for connection in each.metrics.connections:
            yield (each.name, str(connection.pe), connection.name), connection


def sinks(snapshot: Snapshot) -> Iterator[tuple[Labels, SinkStatus]]:
    """Yield the sinks, labelled by application and operator."""
    for each in snapshot.applications:
        for sink in each.status.sinks:
            yield (each.name, sink.operator), sink


def imports(snapshot: Snapshot) -> Iterator[tuple[Labels, Link]]:
    """Yield the imported streams, labelled by application, Import, reading PE, exporter and exported stream."""
    for each in snapshot.applications:
        parts: dict[Labels, list[ConnectionStatus]] = {}
        for link in each.status.imports:
            for connection in link.connections:
                labels = (each.name, connection.name, str(connection.pe), connection.exporter, connection.stream)
                parts.setdefault(labels, []).append(connection)
        for labels, connections in parts.items():
            yield (
                labels,
                Link(
                    sum(part.lag_tuples for part in connections),
                    sum(part.lag_segments for part in connections),
                    sum(part.lost for part in connections),
                    all(part.problem is None for part in connections),
                ),
            )


def machines(snapshot: Snapshot) -> Iterator[tuple[Labels, MachineStatus]]:
    """Yield the machines, labelled by name."""
    for machine in snapshot.machines:
        yield (machine.name,), machine


_OPERATOR = ("application", "pe", "operator")
HOME = Subject("state_directory", (), everything)
BUILD = Subject("build", (), everything)
APPLICATION = Subject("application", ("application",), applications)
UNIT = Subject("unit", ("application", "unit"), units)
HOST = Subject("host", ("application", "host"), hosts)
PE = Subject("pe", ("application", "pe"), pes)
MEASURED_PE = Subject("pe", ("application", "pe"), measured_pes)
OPERATOR = Subject("operator", _OPERATOR, operators)
REACHED = Subject("operator_watermark", _OPERATOR, watermarks)
EVENT_TIME = Subject("operator_event_time", _OPERATOR, event_times)
INPUT = Subject("operator_input", (*_OPERATOR, "port"), inputs)
OUTPUT = Subject("operator_output", (*_OPERATOR, "port"), outputs)
CUSTOM = Subject("operator_custom", (*_OPERATOR, "metric"), custom)
SOURCE = Subject("source", _OPERATOR, operators)
STREAM = Subject("stream", ("application", "pe", "stream"), streams)
READER = Subject("stream_reader", ("application", "pe", "stream", "reader"), readers)
QUEUE = Subject("queue", (*_OPERATOR, "port"), queues)
COPY = Subject("copy", ("application", "pe", "connection"), copies)
SINK = Subject("sink", ("application", "operator"), sinks)
IMPORT = Subject("import", ("application", "import", "pe", "exporter", "stream"), imports)
MACHINE = Subject("machine", ("machine",), machines)
