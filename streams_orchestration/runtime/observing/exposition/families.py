"""All metric families by heading: the table for exporters, tests and the docs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import get_args

from streams_orchestration.operators.contract.metrics import LAG_BYTES, LAG_SECONDS, LAG_TUPLES
from streams_orchestration.runtime.catalog.states import (
    ApplicationState,
    HostState,
    MachineState,
    PeState,
    UnitState,
)
from streams_orchestration.runtime.observing.exposition.family import PREFIX, Family
from streams_orchestration.runtime.observing.exposition.metric_subjects import (
    AHEAD,
    APPLICATION,
    BUILD,
    COPY,
    CUSTOM,
    EVENT_TIME,
    HOME,
    HOST,
    IMPORT,
    INPUT,
    LATE_DROPPED,
    LATE_TAKEN,
    MACHINE,
    MEASURED_PE,
    NULL_TIMES,
    OPEN_PANES,
    OPERATOR,
    OUTPUT,
    PE,
    QUEUE,
    REACHED,
    READER,
    SINK,
    SOURCE,
    STREAM,
    TIMERS,
    UNIT,
    ShownUnit,
    is_known,
)
from streams_orchestration.runtime.observing.metrics import OperatorMetrics
from streams_orchestration.runtime.units.status import LOST, UNHEALTHY

_NANO = 1e-9

UP = Family(
    f"{PREFIX}_catalog_up",
    "gauge",
    "1 if the catalog could be read; else 0, and all other metrics are missing",
    (),
    lambda _snapshot: [((), 1.0)],
)


def _states(union: object) -> tuple[str, ...]:
    """Return the strings of a `Literal`, or of a union of literals."""
    return tuple(word for each in get_args(union) for word in ((each,) if isinstance(each, str) else _states(each)))


def _known(name: str) -> Callable[[OperatorMetrics], float | None]:
    """Return a function that gets an operator's value of a metric of the SDK; None if it has no such metric."""
    return lambda operator: next((metric.value for metric in operator.custom if is_known(metric, name)), None)


def _last_cut(unit: ShownUnit) -> float | None:
    if unit.status.row.region is None:
        return None
    return max(unit.status.row.completed_at or 0.0, unit.deployed_at)


def _last(seconds: tuple[float, ...]) -> float | None:
    return seconds[-1] if seconds else None


_GENERAL = (
    UP,
    BUILD.info("the version of the product", ("version",), lambda _all: (version("streams-orchestration"),)),
    HOME.gauge("free_bytes", "free on the file system of the state directory", lambda every: every.disk_free),
    HOME.gauge("size_bytes", "size of the file system of the state directory", lambda every: every.disk_size),
    MACHINE.states(
        "state of a machine that an agent has registered; LOST when its lease has ended",
        (*_states(MachineState), LOST),
        lambda machine: machine.state,
    ),
    MACHINE.gauge(
        "hosts", "hosts that live on the machine, or are to be started there", lambda machine: len(machine.hosts)
    ),
    MACHINE.gauge(
        "standby_hosts",
        "standby hosts on the machine, whose engines have started",
        lambda machine: machine.row.standbys,
    ),
)
_APPLICATIONS = (
    APPLICATION.states(
        "state of the application; LOST while one of its hosts is gone, and the failure is not recorded yet; UNHEALTHY "
        "while a unit needs a reset or is being reset",
        (*_states(ApplicationState), LOST, UNHEALTHY),
        lambda observed: observed.status.shown_state,
    ),
    APPLICATION.gauge(
        "deployed_timestamp_seconds",
        "when the application was deployed, unix time",
        lambda observed: observed.status.deployed_at,
    ),
    APPLICATION.gauge(
        "measured",
        "1 when the application was deployed with STREAMS_METRICS on",
        lambda observed: observed.metrics.measured,
    ),
)
_UNITS = (
    UNIT.info(
        "number of the consistent region; empty for a PE outside of regions",
        ("region",),
        lambda unit: ("" if unit.status.row.region is None else str(unit.status.row.region),),
    ),
    UNIT.states(
        "state of the unit of recovery; LOST while one of its hosts is gone, and the failure is not recorded yet",
        (*_states(UnitState), LOST),
        lambda unit: unit.shown_state,
    ),
    UNIT.gauge("failed", "1 when the unit needs a reset", lambda unit: unit.failure is not None),
    UNIT.gauge(
        "given_up",
        "1 when the unit has failed and will not be reset automatically, since the cause must be fixed first",
        lambda unit: unit.failure is not None and unit.failure.exhausted,
    ),
    UNIT.gauge(
        "cut_lost",
        "1 when a file that the last cut of the unit needs is missing",
        lambda unit: unit.status.lost is not None,
    ),
    UNIT.counter("resets", "resets since the application was deployed", lambda unit: unit.status.row.reset_count),
    UNIT.gauge("reset_attempts", "resets since the last complete epoch", lambda unit: unit.status.row.attempts),
    UNIT.gauge(
        "reset_attempts_limit",
        "resets since the last complete epoch after which the unit is given up",
        lambda unit: unit.status.row.max_attempts,
    ),
    UNIT.gauge("completed_epoch", "number of the last complete epoch", lambda unit: unit.status.completed_epoch),
    UNIT.gauge(
        "last_cut_timestamp_seconds",
        "time of the last complete epoch of a region, unix time; of the deployment before the first epoch",
        _last_cut,
    ),
    UNIT.gauge("period_seconds", "period of a region with periodic epochs", lambda unit: unit.status.row.period),
    UNIT.gauge(
        "last_drain_seconds", "how long the last drain took", lambda unit: _last(unit.status.row.drains.seconds)
    ),
    UNIT.gauge(
        "last_reset_seconds", "how long the last reset took", lambda unit: _last(unit.status.row.resets.seconds)
    ),
)
_HOSTS = (
    HOST.info(
        "machine that the host is on; empty where no machine is registered",
        ("machine",),
        lambda host: (host.machine or "",),
    ),
    HOST.states(
        "state of the host process; LOST while it is gone, and its failure is not recorded yet",
        (*_states(HostState), LOST),
        lambda host: host.shown_state,
    ),
    HOST.gauge("alive", "1 when the process of the host exists", lambda host: host.alive),
    HOST.gauge(
        "heartbeat_timestamp_seconds", "last heartbeat of the host, unix time", lambda host: host.row.heartbeat_at
    ),
    HOST.gauge("failed_launches", "failed launches of the host in a row", lambda host: host.row.launches),
)
_PES = (
    PE.info("unit of recovery and host of the PE", ("unit", "host"), lambda pe: (pe.status.unit, str(pe.status.host))),
    PE.states(
        "state of the PE, which is one query; LOST while its host is",
        (*_states(PeState), LOST),
        lambda pe: pe.shown_state,
    ),
    PE.gauge(
        "committed_timestamp_seconds",
        "last committed batch of the PE, unix time",
        lambda pe: pe.status.row.committed_at,
    ),
    MEASURED_PE.counter("batches", "committed micro-batches", lambda pe: pe.batches),
    MEASURED_PE.counter(
        "rows_in",
        "tuples that came in: from streams of other PEs, and from outside by its operators",
        lambda pe: pe.rows_in,
    ),
    MEASURED_PE.counter(
        "rows_out",
        "tuples that went out: to streams that leave the PE, and to targets of its sinks",
        lambda pe: pe.rows_out,
    ),
    MEASURED_PE.counter("plan_seconds", "wall time of planning batches", lambda pe: pe.plan_ns * _NANO),
    MEASURED_PE.counter("spark_seconds", "wall time from plans to results", lambda pe: pe.spark_ns * _NANO),
    MEASURED_PE.counter(
        "work_seconds",
        "wall time of the longest task of each level, part of the time from plans to results",
        lambda pe: pe.work_ns * _NANO,
    ),
    MEASURED_PE.counter("commit_seconds", "wall time of commits", lambda pe: pe.commit_ns * _NANO),
    MEASURED_PE.counter(
        "cpu_seconds", "processor time of tasks outside of operators and streams", lambda pe: pe.cpu_ns * _NANO
    ),
)
_OPERATORS = (
    OPERATOR.counter(
        "calls", "calls of the operator with a batch or a mark; of a source, to produce", lambda each: each.calls
    ),
    OPERATOR.counter("cpu_seconds", "processor time of the operator by itself", lambda each: each.cpu_ns * _NANO),
    OPERATOR.gauge("state_bytes", "size of the last checkpoint of the operator", lambda each: each.state_bytes),
    OPERATOR.counter("checkpoints", "checkpoints of the operator's state", lambda each: each.checkpoints),
    OPERATOR.counter("checkpoint_bytes", "bytes written by checkpoints", lambda each: each.checkpoint_bytes),
    OPERATOR.counter("dropped_tuples", "tuples that could not be used and were left out", _known("dropped")),
    OPERATOR.counter("errors", "errors that the operator has handled itself", _known("errors")),
    OPERATOR.counter("late_taken_tuples", "late tuples that were processed", _known(LATE_TAKEN)),
    OPERATOR.counter(
        "late_dropped_tuples",
        "late tuples that were dropped, or sent to the port for late tuples",
        _known(LATE_DROPPED),
    ),
    OPERATOR.counter(
        "ahead_tuples", "tuples with a time far ahead, which did not move the watermark at once", _known(AHEAD)
    ),
    OPERATOR.counter("null_time_tuples", "tuples without an event time", _known(NULL_TIMES)),
    OPERATOR.gauge("open_panes", "panes of event time that have tuples and are not closed", _known(OPEN_PANES)),
    OPERATOR.gauge("timers", "timers that are set", _known(TIMERS)),
    REACHED.gauge(
        "timestamp_seconds",
        "event time before which tuples of the operator are late, unix time",
        lambda reached: reached.watermark,
    ),
    REACHED.gauge("age_seconds", "age of the watermark", lambda reached: reached.age),
    EVENT_TIME.info(
        "the connection, partition or kept tuple that holds the watermark, with the operators up to it",
        ("held_by",),
        lambda each: (each.held_by,),
    ),
    EVENT_TIME.gauge(
        "inputs", "connections that bring watermarks, or partitions of a source", lambda each: each.inputs
    ),
    EVENT_TIME.gauge(
        "idle_inputs", "connections, or partitions of a source, that are idle", lambda each: each.idle_inputs
    ),
    *(
        family
        for port, verb in ((INPUT, "came in"), (OUTPUT, "went out"))
        for family in (
            port.counter("tuples", f"tuples that {verb} at the port", lambda each: each.tuples),
            port.counter("batches", f"batches that {verb} at the port", lambda each: each.batches),
            port.counter("bytes", f"bytes of the columns that {verb} at the port", lambda each: each.bytes),
            port.counter("marks", f"punctuation and markers that {verb} at the port", lambda each: each.marks),
        )
    ),
    CUSTOM.counter(
        "events", "a counter that the operator defines", lambda each: each.value if each.kind == "counter" else None
    ),
    CUSTOM.gauge(
        "value", "a gauge that the operator defines", lambda each: each.value if each.kind == "gauge" else None
    ),
    SOURCE.gauge("lag_tuples", "tuples that the source could read and has not read yet", _known(LAG_TUPLES)),
    SOURCE.gauge("lag_bytes", "bytes that the source could read and has not read yet", _known(LAG_BYTES)),
    SOURCE.gauge("lag_seconds", "lag of the source in time, as the source reports it", _known(LAG_SECONDS)),
)
_FLOWS = (
    STREAM.counter("tuples", "tuples written to a stream between PEs", lambda stream: stream.tuples),
    STREAM.counter("bytes", "bytes of the segments that were written", lambda stream: stream.bytes),
    STREAM.counter("segments", "segments that were written", lambda stream: stream.segments),
    STREAM.counter(
        "serialise_seconds", "processor time of writing segments", lambda stream: stream.serialise_ns * _NANO
    ),
    READER.counter("tuples", "tuples of the stream that a PE has read", lambda reader: reader.tuples),
    READER.counter("bytes", "bytes of the segments that a PE has read", lambda reader: reader.bytes),
    READER.counter("segments", "segments that a PE has read", lambda reader: reader.segments),
    READER.counter(
        "deserialise_seconds", "processor time of reading segments", lambda reader: reader.deserialise_ns * _NANO
    ),
    READER.gauge(
        "lag_segments", "segments that the PE has not read by a committed batch yet", lambda reader: reader.lag_segments
    ),
    READER.gauge(
        "lag_tuples", "tuples that the PE has not read by a committed batch yet", lambda reader: reader.lag_tuples
    ),
    READER.gauge(
        "lag_seconds",
        "age of the oldest segment that the PE has not read yet; 0 when it has read all",
        lambda reader: reader.lag_seconds,
    ),
    QUEUE.counter("tuples", "tuples that passed an exchange within a PE", lambda queue: queue.tuples),
    QUEUE.counter("bytes", "bytes that passed the exchange", lambda queue: queue.bytes),
    QUEUE.counter("items", "batches and marks that passed the exchange", lambda queue: queue.items),
    QUEUE.counter(
        "serialise_seconds", "processor time of entering the exchange", lambda queue: queue.serialise_ns * _NANO
    ),
    QUEUE.counter(
        "deserialise_seconds", "processor time of leaving the exchange", lambda queue: queue.deserialise_ns * _NANO
    ),
    QUEUE.counter(
        "wait_seconds", "wall time that batches and marks waited, summed", lambda queue: queue.wait_ns * _NANO
    ),
    COPY.counter("sender_batches", "batches copied by the sender of a connection", lambda copy: copy.copies),
    COPY.counter("queue_batches", "batches copied into the queue of a connection", lambda copy: copy.enqueued),
)
_ENDS = (
    SINK.info(
        "kind of the sink, and when its outputs become visible",
        ("kind", "visibility"),
        lambda sink: (sink.kind, sink.visibility),
    ),
    SINK.counter(
        "outputs", "files, or delivered epochs, that are visible for good", lambda sink: sink.files - sink.uncommitted
    ),
    SINK.counter("rows", "tuples that are visible for good", lambda sink: sink.rows - sink.uncommitted_rows),
    SINK.gauge(
        "uncommitted_outputs",
        "visible outputs that a reset would retract",
        lambda sink: sink.uncommitted,
    ),
    SINK.gauge("waiting_outputs", "outputs that are not visible yet", lambda sink: sink.waiting),
    SINK.gauge("waiting_rows", "tuples that are not visible yet", lambda sink: sink.waiting_rows),
    SINK.counter(
        "undeliverable_rows", "tuples that the target refuses and that were set aside", lambda sink: sink.undeliverable
    ),
    SINK.gauge("late_outputs", "outputs that are not visible although their epoch is complete", lambda sink: sink.late),
    SINK.gauge(
        "failing", "1 when outputs cannot become visible; they are tried again", lambda sink: sink.error is not None
    ),
    SINK.gauge(
        "last_delivery_timestamp_seconds",
        "time at which an output last became visible, unix time",
        lambda sink: sink.delivered_at,
    ),
    SINK.gauge(
        "complete_until_timestamp_seconds",
        "event time up to which the visible outputs are complete, unix time",
        lambda sink: sink.complete_until,
    ),
    IMPORT.gauge("connected", "1 when the Import is connected to the exported stream", lambda link: link.connected),
    IMPORT.gauge("lag_tuples", "tuples that are available and not read yet", lambda link: link.lag_tuples),
    IMPORT.gauge("lag_segments", "segments that are available and not read yet", lambda link: link.lag_segments),
    IMPORT.counter(
        "lost_tuples", "tuples dropped before they were read, since the exporter did not wait", lambda link: link.lost
    ),
)

FAMILIES: dict[str, tuple[Family, ...]] = {
    "General": _GENERAL,
    "Applications": _APPLICATIONS,
    "Regions, and PEs outside of regions": _UNITS,
    "Hosts": _HOSTS,
    "PEs": _PES,
    "Operators": _OPERATORS,
    "Streams, queues and copies": _FLOWS,
    "Sinks and Imports": _ENDS,
}
"""Heading in the docs -> families."""


def all_families() -> tuple[Family, ...]:
    """Return the families of all headings, in order."""
    return tuple(family for families in FAMILIES.values() for family in families)
