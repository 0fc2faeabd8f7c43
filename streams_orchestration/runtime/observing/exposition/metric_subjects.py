"""The subjects of metrics, each with its labels and the parts of a snapshot that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams_orchestration.operators.contract.metrics import LAG_BYTES, LAG_SECONDS, LAG_TUPLES
from streams_orchestration.runtime.observing.exposition.family import Labels, Subject
from streams_orchestration.runtime.observing.metrics import (
    CustomMetric,
    OperatorMetrics,
)
from streams_orchestration.runtime.observing.snapshots import ObservedApplication, Snapshot
from streams_orchestration.runtime.observing.status import ConnectionStatus
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration.runtime.units.status import PeStatus
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

    pe: int
    operator: str
    watermark: float
    """Unix seconds of event time."""
    age: float
    """Seconds from the watermark until now."""


@dataclass(frozen=True, slots=True)
class Link:
    """An imported stream, summed over the ports of one PE that read it."""

    name: str
    """The name of the Import."""
    pe: int
    exporter: str
    stream: str
    lag_tuples: int
    lag_segments: int
    lost: int
    connected: bool


def _units(each: ObservedApplication) -> Iterator[ShownUnit]:
    failed = {failure.unit: failure for failure in each.failures}
    for unit in each.status.units:
        yield ShownUnit(unit, failed.get(unit.name), each.status.deployed_at, each.status.state_of_unit(unit))


def _watermarks(each: ObservedApplication) -> Iterator[ReachedTime]:
    """Yield the operators with a watermark; queries of Spark's are among them."""
    pe_of = {operator.name: operator.pe for operator in each.metrics.operators}
    for name, watermark in each.metrics.watermarks.items():
        if name in pe_of:
            yield ReachedTime(pe_of[name], name, watermark, each.metrics.at - watermark)


def _imports(each: ObservedApplication) -> Iterator[Link]:
    parts: dict[tuple[str, int, str, str], list[ConnectionStatus]] = {}
    for link in each.status.imports:
        for connection in link.connections:
            which = (connection.name, connection.pe, connection.exporter, connection.stream)
            parts.setdefault(which, []).append(connection)
    for which, connections in parts.items():
        yield Link(
            *which,
            sum(part.lag_tuples for part in connections),
            sum(part.lag_segments for part in connections),
            sum(part.lost for part in connections),
            all(part.problem is None for part in connections),
        )


def _unknown(operator: OperatorMetrics) -> list[CustomMetric]:
    """Return an operator's own metrics that have no family."""
    return [metric for metric in operator.custom if not is_known(metric)]


def _everything(snapshot: Snapshot) -> Iterator[tuple[Labels, Snapshot]]:
    yield (), snapshot


_OPERATOR = {"pe": "pe", "operator": "name"}
HOME = Subject("state_directory", (), _everything)
BUILD = Subject("build", (), _everything)
MACHINE = HOME.parts("machine", {"machine": "name"}, lambda every: every.machines)
APPLICATION = HOME.parts("application", {"application": "name"}, lambda every: every.applications)
UNIT = APPLICATION.parts("unit", {"unit": "status.name"}, _units)
HOST = APPLICATION.parts("host", {"host": "id"}, lambda each: each.status.hosts)
PE = APPLICATION.parts(
    "pe", {"pe": "status.id"}, lambda each: [Pe(pe, each.status.state_of(pe)) for pe in each.status.pes]
)
MEASURED_PE = APPLICATION.parts("pe", {"pe": "pe"}, lambda each: each.metrics.pes)
OPERATOR = APPLICATION.parts("operator", _OPERATOR, lambda each: each.metrics.operators)
SOURCE = APPLICATION.parts("source", _OPERATOR, lambda each: each.metrics.operators)
REACHED = APPLICATION.parts("operator_watermark", {"pe": "pe", "operator": "operator"}, _watermarks)
EVENT_TIME = APPLICATION.parts(
    "operator_event_time", {"pe": "pe", "operator": "operator"}, lambda each: each.metrics.event_time
)
INPUT = OPERATOR.parts("operator_input", {"port": "port"}, lambda operator: operator.inputs)
OUTPUT = OPERATOR.parts("operator_output", {"port": "port"}, lambda operator: operator.outputs)
CUSTOM = OPERATOR.parts("operator_custom", {"metric": "name"}, _unknown)
STREAM = APPLICATION.parts("stream", {"pe": "pe", "stream": "name"}, lambda each: each.metrics.streams)
READER = STREAM.parts("stream_reader", {"reader": "pe"}, lambda stream: stream.readers)
QUEUE = APPLICATION.parts(
    "queue", {"pe": "pe", "operator": "operator", "port": "port"}, lambda each: each.metrics.queues
)
COPY = APPLICATION.parts("copy", {"pe": "pe", "connection": "name"}, lambda each: each.metrics.connections)
SINK = APPLICATION.parts("sink", {"operator": "operator"}, lambda each: each.status.sinks)
IMPORT = APPLICATION.parts(
    "import", {"import": "name", "pe": "pe", "exporter": "exporter", "stream": "stream"}, _imports
)
