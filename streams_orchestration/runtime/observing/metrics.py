"""The metrics of an application as people and programs read them: totals since it was deployed, and rates of now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from streams_orchestration.runtime.programs.counts import Counts

WINDOW_SECONDS = 60.0
"""Rates are those of the last minute."""


@dataclass(frozen=True, slots=True)
class PortMetrics:
    """Amounts that passed a port. Bytes are those of the columns in memory."""

    port: int
    tuples: int
    batches: int
    bytes: int
    marks: int
    tuples_per_second: float | None = None
    """Over the last minute; None when the PE does not run."""


@dataclass(frozen=True, slots=True)
class CustomMetric:
    """A counter or gauge of an operator's own; where several tasks run the operator, the gauge of the last of them."""

    name: str
    kind: Literal["counter", "gauge"]
    value: int | float
    description: str


@dataclass(frozen=True, slots=True)
class OperatorMetrics:
    """One physical operator."""

    name: str
    pe: int
    calls: int
    """Calls with a batch or a mark; of a source, calls to produce."""
    cpu_ns: int
    """Processor time of the operator by itself, without those that it submits to; with its splitters and copies."""
    inputs: tuple[PortMetrics, ...]
    outputs: tuple[PortMetrics, ...]
    state_bytes: int
    """Bytes of its last checkpoint."""
    checkpoints: int
    checkpoint_bytes: int
    """Written by all checkpoints."""
    custom: tuple[CustomMetric, ...]
    cores: float | None
    """Processors that it keeps busy now: cpu seconds a second over the last minute; None when the PE does not run."""
    tuples_per_second: float | None
    """Tuples per second that came in, or were produced, over the last minute."""


@dataclass(frozen=True, slots=True)
class ReaderMetrics:
    """One PE that reads a stream, and how far it is behind."""

    pe: int
    tuples: int
    bytes: int
    segments: int
    deserialise_ns: int
    """Processor time of reading, checking and decoding."""
    lag_segments: int
    """Committed by the producer and not yet consumed by a committed batch."""
    lag_tuples: int
    lag_seconds: float
    """Age of the oldest of them."""


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """One stream between PEs. Bytes are those of its segments' files."""

    name: str
    pe: int
    """The producer."""
    tuples: int
    bytes: int
    segments: int
    serialise_ns: int
    """Processor time of encoding, checking and writing."""
    tuples_per_second: float | None
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
    """Batches and marks."""
    serialise_ns: int
    deserialise_ns: int
    wait_ns: int
    """Wall time from entering to leaving, summed over items."""


@dataclass(frozen=True, slots=True)
class ConnectionMetrics:
    """A connection within a PE whose tuples are copied."""

    name: str
    """`Source:0 -> Target:0`."""
    pe: int
    copies: int
    """Batches copied by the sender, because the receiver writes to them."""
    enqueued: int
    """Batches copied into a queue."""


@dataclass(frozen=True, slots=True)
class PeMetrics:
    """One PE: its committed batches, and where their wall time went."""

    pe: int
    since: float
    """Unix seconds: the first batch began."""
    at: float
    """Unix seconds: the commit of the last batch that is counted."""
    batches: int
    rows_in: int
    """Tuples that came in: from streams of other PEs, and from outside by its operators."""
    rows_out: int
    """Tuples that went out: to streams that leave the PE, and to targets of its sinks."""
    plan_ns: int
    """Looking at the catalog and planning."""
    spark_ns: int
    """Time from the plan to the results at the driver, the work of the tasks included."""
    work_ns: int
    """Part of `spark_ns` in the tasks: the longest task of each level."""
    commit_ns: int
    """The transactions; the last one counts with the next batch."""
    cpu_ns: int
    """Processor time of the tasks outside of operators and streams."""
    rows_per_second: float | None


@dataclass(frozen=True, slots=True)
class ApplicationMetrics:
    """Everything that is measured of one deployed application, cumulative since it was deployed from nothing.

    Batches that a reset takes back stay counted, and count again when they are replayed. Two readings of the same life
    can be subtracted.
    """

    application: str
    life: str
    """A new one for every start from nothing."""
    at: float
    """Unix seconds of the reading."""
    measured: bool
    """False where it was deployed with measuring off."""
    pes: tuple[PeMetrics, ...] = ()
    operators: tuple[OperatorMetrics, ...] = ()
    streams: tuple[StreamMetrics, ...] = ()
    queues: tuple[QueueMetrics, ...] = ()
    connections: tuple[ConnectionMetrics, ...] = ()


@dataclass(frozen=True, slots=True)
class Recorded:
    """The measurements of one PE in the catalog."""

    pe: int
    since: float
    at: float
    counts: Counts
    before: tuple[float, Counts] | None
    """An earlier total with its time, from which rates are taken; None when the PE does not run."""

    def rate(self, now: float, *path: str) -> float | None:
        """Return the rise of a count per second, up to now; None when there is no earlier total."""
        if self.before is None or now <= self.before[0]:
            return None
        return (_at(self.counts, path) - _at(self.before[1], path)) / (now - self.before[0])


def pe_metrics(recorded: Recorded, now: float) -> PeMetrics:
    """Return the metrics of a PE itself."""
    batches: Counts = recorded.counts.get("batches", {})
    rates = [recorded.rate(now, "batches", name) for name in ("rows_in", "rows_out")]
    return PeMetrics(
        pe=recorded.pe,
        since=recorded.since,
        at=recorded.at,
        batches=batches.get("count", 0),
        **_named(batches, "rows_in", "rows_out", "plan_ns", "spark_ns", "work_ns", "commit_ns"),
        cpu_ns=_at(recorded.counts, ("tasks", "cpu_ns")),
        # the PE of a source reads nothing from others, that of a sink writes nothing for them
        rows_per_second=max((rate for rate in rates if rate is not None), default=None),
    )


def operator_metrics(recorded: Recorded, now: float) -> Iterator[OperatorMetrics]:
    """The operators of the PE, by name."""
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
    """The exchanges of the PE."""
    for name, counts in sorted(recorded.counts.get("queues", {}).items()):
        operator, _, port = name.rpartition(":")
        done = _named(counts, "tuples", "bytes", "items", "serialise_ns", "deserialise_ns", "wait_ns")
        yield QueueMetrics(operator, int(port), recorded.pe, **done)


def stream_metrics(
    recorded: Recorded, readers: Mapping[str, Sequence[ReaderMetrics]], now: float
) -> Iterator[StreamMetrics]:
    """The streams that the PE writes."""
    for name, counts in sorted(recorded.counts.get("written", {}).items()):
        yield StreamMetrics(
            name=name,
            pe=recorded.pe,
            **_named(counts, "tuples", "bytes", "segments", "serialise_ns"),
            tuples_per_second=recorded.rate(now, "written", name, "tuples"),
            readers=tuple(readers.get(name, ())),
        )


def reader_metrics(pe: int, counts: Counts, segments: int, tuples: int, seconds: float) -> ReaderMetrics:
    """A PE that reads a stream, with what it has read and how far it is behind."""
    done = _named(counts, "tuples", "bytes", "segments", "deserialise_ns")
    return ReaderMetrics(pe=pe, **done, lag_segments=segments, lag_tuples=tuples, lag_seconds=seconds)


def connection_metrics(recorded: Recorded) -> Iterator[ConnectionMetrics]:
    """The connections of the PE that copy."""
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


def _named(counts: Counts, *names: str) -> dict[str, Any]:
    return {name: counts.get(name, 0) for name in names}


def _at(counts: Counts, path: tuple[str, ...]) -> int:
    value: Counts | int = counts
    for name in path:
        value = value.get(name, 0) if isinstance(value, dict) else 0
    return value if isinstance(value, int) else 0
