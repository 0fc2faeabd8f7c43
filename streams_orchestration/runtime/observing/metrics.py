"""The metrics of an application: totals since it was deployed, and current rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from streams_orchestration.runtime.observing.event_time import OperatorEventTime
from streams_orchestration.runtime.programs.counts import Counts

RATE_WINDOW_SECONDS = 60.0
"""Seconds over which rates are taken."""


@dataclass(frozen=True, slots=True)
class PortMetrics:
    """Amounts that passed a port. `bytes` is the size of the columns in memory."""

    port: int
    tuples: int
    batches: int
    bytes: int
    marks: int
    tuples_per_second: float | None = None
    """Average over about the last minute; None if the PE does not run, or has no earlier total."""


@dataclass(frozen=True, slots=True)
class CustomMetric:
    """A counter or gauge of an operator's own.

    If several tasks run the operator, their counters are added, and the last task's gauge counts.
    """

    name: str
    kind: Literal["counter", "gauge"]
    value: int | float
    description: str


@dataclass(frozen=True, slots=True)
class OperatorMetrics:
    """The metrics of one physical operator."""

    name: str
    pe: int
    calls: int
    """Calls with a batch or a mark; for a source, calls to produce."""
    cpu_ns: int
    """Processor time of the operator with its splitters and copies, without the operators to which it submits."""
    inputs: tuple[PortMetrics, ...]
    outputs: tuple[PortMetrics, ...]
    state_bytes: int
    """Bytes of its last checkpoint."""
    checkpoints: int
    checkpoint_bytes: int
    """Bytes written by all checkpoints."""
    custom: tuple[CustomMetric, ...]
    cores: float | None
    """Processor seconds per second over about the last minute; None if the PE does not run, or has no earlier total."""
    tuples_per_second: float | None
    """Tuples per second that came in or, for an operator without inputs, went out, over about the last minute.

    None as for `cores`.
    """


@dataclass(frozen=True, slots=True)
class ReaderMetrics:
    """The metrics of one PE that reads a stream, with its lag."""

    pe: int
    tuples: int
    bytes: int
    segments: int
    deserialise_ns: int
    """Processor time of reading, checking and decoding."""
    lag_segments: int
    """Segments that the producer has committed, and that no committed batch of the reader has consumed."""
    lag_tuples: int
    lag_seconds: float
    """Age in seconds of the oldest of the `lag_segments`; 0 if there are none."""


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """The metrics of one stream between PEs. `bytes` is the size of its segments' files."""

    name: str
    pe: int
    """Number of the producing PE."""
    tuples: int
    bytes: int
    segments: int
    serialise_ns: int
    """Processor time of encoding, checking and writing."""
    tuples_per_second: float | None
    """The rate since an earlier total; None without one."""
    readers: tuple[ReaderMetrics, ...]


@dataclass(frozen=True, slots=True)
class QueueMetrics:
    """An exchange in front of an input port within a PE: a queue, or a merge in front of a lock."""

    operator: str
    port: int
    pe: int
    tuples: int
    bytes: int
    items: int
    """Number of batches and marks."""
    serialise_ns: int
    deserialise_ns: int
    wait_ns: int
    """Wall time from entering to leaving, summed over items."""


@dataclass(frozen=True, slots=True)
class ConnectionMetrics:
    """A connection within a PE whose tuples are copied."""

    name: str
    """The name of the connection, as in `Source:0 -> Target:0`."""
    pe: int
    copies: int
    """Batches copied by the sender, because the receiver writes to them."""
    enqueued: int
    """Batches copied into a queue."""


@dataclass(frozen=True, slots=True)
class PeMetrics:
    """The metrics of one PE: its committed batches, and the parts of their wall time."""

    pe: int
    since: float
    """The time when the first batch began, in unix seconds."""
    at: float
    """The time when the last counted batch was committed, in unix seconds."""
    batches: int
    rows_in: int
    """Tuples that came in: from streams of other PEs, and from outside by its operators."""
    rows_out: int
    """Tuples that went out: to streams that leave the PE, and to targets of its sinks."""
    plan_ns: int
    """Wall time of reading the catalog and planning."""
    spark_ns: int
    """Wall time from the plan to the results at the driver, including the tasks."""
    work_ns: int
    """Part of `spark_ns` spent in tasks: the sum of the longest task of each level."""
    commit_ns: int
    """Wall time of the commit transactions. The last one counts with the next batch."""
    cpu_ns: int
    """Processor time of the tasks outside of operators and streams."""
    rows_per_second: float | None
    """The greater one of the rates of `rows_in` and `rows_out` since an earlier total; None without one."""


@dataclass(frozen=True, slots=True)
class ApplicationMetrics:
    """All metrics of one deployed application, cumulative since its fresh start.

    Batches that a reset rolls back stay counted, and count again when they are replayed. Two readings with the same
    life can be subtracted.
    """

    application: str
    life: str
    """Life id of the application; every fresh start has a new one."""
    at: float
    """Time of the reading in unix seconds."""
    measured: bool
    """False if the application was deployed with STREAMS_METRICS=off."""
    pes: tuple[PeMetrics, ...] = ()
    operators: tuple[OperatorMetrics, ...] = ()
    streams: tuple[StreamMetrics, ...] = ()
    queues: tuple[QueueMetrics, ...] = ()
    connections: tuple[ConnectionMetrics, ...] = ()
    event_time: tuple[OperatorEventTime, ...] = ()
    """The watermarks of the operators in event-time graphs, in the order of the physical graph."""

    @property
    def watermarks(self) -> dict[str, float]:
        """Operator -> its watermark in unix seconds, also for Spark queries; missing once its streams have ended."""
        named = {each.operator: each.watermark for each in self.event_time}
        for operator in self.operators:
            for metric in operator.custom:
                if (metric.name, metric.kind) == ("watermark", "gauge"):
                    named.setdefault(operator.name, metric.value)
        return {name: watermark for name, watermark in named.items() if watermark is not None}


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recorded measurements of one PE. Times are unix seconds, as in `PeMetrics`."""

    pe: int
    since: float
    at: float
    counts: Counts
    before: tuple[float, Counts] | None
    """Time and counts of an earlier total, the base of rates; None if there is none, or the PE does not run."""

    def event_time(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the operators in event-time graphs with their watermarks and holders, as `Holder.document`."""
        for name, counts in self.counts.get("operators", {}).items():
            if "event_time" in counts:
                yield name, counts["event_time"]

    def rate(self, now: float, *path: str) -> float | None:
        """Return the increase of a count per second since the earlier total; None without a total before `now`.

        A count that is missing in a total is 0 there.
        """
        if self.before is None or now <= self.before[0]:
            return None
        return (_count_at(self.counts, path) - _count_at(self.before[1], path)) / (now - self.before[0])


def pe_metrics(recorded: Recorded, now: float) -> PeMetrics:
    """Return the metrics of the PE itself, without the metrics of its operators and streams."""
    batches: Counts = recorded.counts.get("batches", {})
    rates = [recorded.rate(now, "batches", name) for name in ("rows_in", "rows_out")]
    return PeMetrics(
        pe=recorded.pe,
        since=recorded.since,
        at=recorded.at,
        batches=batches.get("count", 0),
        **_selected(batches, "rows_in", "rows_out", "plan_ns", "spark_ns", "work_ns", "commit_ns"),
        cpu_ns=_count_at(recorded.counts, ("tasks", "cpu_ns")),
        # the larger one, since the PE of a source has no input streams and the PE of a sink no output streams
        rows_per_second=max((rate for rate in rates if rate is not None), default=None),
    )


def operator_metrics(recorded: Recorded, now: float) -> Iterator[OperatorMetrics]:
    """Yield the metrics of the PE's operators, ordered by name."""
    for name, counts in sorted(recorded.counts.get("operators", {}).items()):
        inputs, outputs, state = (counts.get(part, {}) for part in ("inputs", "outputs", "state"))
        side = "inputs" if inputs else "outputs"
        rates = [recorded.rate(now, "operators", name, side, port, "tuples") for port in counts.get(side, {})]
        cpu = recorded.rate(now, "operators", name, "cpu_ns")
        yield OperatorMetrics(
            name=name,
            pe=recorded.pe,
            calls=counts.get("calls", 0),
            cpu_ns=counts.get("cpu_ns", 0),
            inputs=_ports(recorded, now, name, "inputs", inputs),
            outputs=_ports(recorded, now, name, "outputs", outputs),
            state_bytes=state.get("gauges", {}).get("bytes", 0),
            checkpoints=state.get("checkpoints", 0),
            checkpoint_bytes=state.get("written_bytes", 0),
            custom=tuple(_custom(counts)),
            cores=None if cpu is None else cpu / 1e9,
            tuples_per_second=None if recorded.before is None else sum(rate or 0.0 for rate in rates),
        )


def queue_metrics(recorded: Recorded) -> Iterator[QueueMetrics]:
    """Yield the metrics of the exchanges in the PE."""
    for name, counts in sorted(recorded.counts.get("queues", {}).items()):
        operator, _, port = name.rpartition(":")
        done = _selected(counts, "tuples", "bytes", "items", "serialise_ns", "deserialise_ns", "wait_ns")
        yield QueueMetrics(operator, int(port), recorded.pe, **done)


def stream_metrics(
    recorded: Recorded, readers: Mapping[str, Sequence[ReaderMetrics]], now: float
) -> Iterator[StreamMetrics]:
    """Yield the metrics of the streams that the PE writes."""
    for name, counts in sorted(recorded.counts.get("written", {}).items()):
        yield StreamMetrics(
            name=name,
            pe=recorded.pe,
            **_selected(counts, "tuples", "bytes", "segments", "serialise_ns"),
            tuples_per_second=recorded.rate(now, "written", name, "tuples"),
            readers=tuple(readers.get(name, ())),
        )


def reader_metrics(pe: int, counts: Counts, segments: int, tuples: int, seconds: float) -> ReaderMetrics:
    """Return the metrics of a PE as the reader of a stream; the last three arguments are its lag."""
    done = _selected(counts, "tuples", "bytes", "segments", "deserialise_ns")
    return ReaderMetrics(pe=pe, **done, lag_segments=segments, lag_tuples=tuples, lag_seconds=seconds)


def connection_metrics(recorded: Recorded) -> Iterator[ConnectionMetrics]:
    """Yield the metrics of the PE's connections that copy tuples."""
    for name, counts in sorted(recorded.counts.get("connections", {}).items()):
        yield ConnectionMetrics(name, recorded.pe, counts.get("copies", 0), counts.get("enqueued", 0))


def _ports(recorded: Recorded, now: float, operator: str, side: str, counts: Counts) -> tuple[PortMetrics, ...]:
    return tuple(
        PortMetrics(
            int(port), **flow, tuples_per_second=recorded.rate(now, "operators", operator, side, port, "tuples")
        )
        for port, flow in sorted(counts.items(), key=lambda each: int(each[0]))
    )


def _custom(counts: Counts) -> Iterator[CustomMetric]:
    about = counts.get("about", {})
    for name, value in sorted(counts.get("counters", {}).items()):
        yield CustomMetric(name, "counter", value, about.get(name, ""))
    for name, value in sorted(counts.get("gauges", {}).items()):
        yield CustomMetric(name, "gauge", value, about.get(name, ""))


def _selected(counts: Counts, *names: str) -> dict[str, Any]:
    return {name: counts.get(name, 0) for name in names}


def _count_at(counts: Counts, path: tuple[str, ...]) -> int:
    value: Counts | int = counts
    for name in path:
        value = value.get(name, 0) if isinstance(value, dict) else 0
    return value if isinstance(value, int) else 0
