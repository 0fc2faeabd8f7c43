"""A profile from two readings of an application's metrics: the work of its operators, streams and PEs in between."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.pe_streams import stream_name
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.model.profile import (
    Basis,
    OperatorProfile,
    PassageCost,
    PeProfile,
    Profile,
    StreamProfile,
    Transport,
    Unmeasured,
)
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics, OperatorMetrics, PeMetrics, PortMetrics
from streams_orchestration.runtime.observing.profiles.passage_costs import Passage, fit_passage_cost, scaled

STEADY = 0.5
"""The least share of its time that a PE must spend in batches to be measured from commit to commit, not by the clock.
"""
QUERY = "it is a Spark query, which does not report the costs of its operators; its streams are measured"


class NotProfiledError(StreamsRuntimeError):
    """An application cannot be measured, for example because it does not run or carried no tuples."""


Calibrate = Callable[[int], tuple[PassageCost, PassageCost]]
"""Tuples of a segment -> the costs of sending and receiving on this machine."""


def profile_of(
    compilation: Compilation,
    before: ApplicationMetrics,
    after: ApplicationMetrics,
    calibrate: Calibrate,
    until: float | None = None,
) -> Profile:
    """Return the profile from two readings of the metrics with the same life.

    Work counts when it is committed. So a PE that works without a break (`STEADY`) is measured from its last commit
    before the first reading to its last commit before the second one. Its amounts are then scaled to the time between
    the readings.

    Args:
        compilation: the deployed compilation.
        before: the first reading.
        after: the second reading.
        calibrate: called if the streams between PEs do not suffice to fit the transport's costs.
        until: end of the application in unix seconds, if it ended before the second reading.

    Raises:
        NotProfiledError: no tuples were carried.
        Exception: an error of `calibrate`.
    """
    return _Difference(compilation, before, after, after.at if until is None else until).profile(calibrate)


class _Flow(NamedTuple):
    port: int
    tuples: float
    bytes: float


class _Change(NamedTuple):
    """The work of an operator between the readings."""

    name: str
    pe: int
    cpu: float
    """The processor time in seconds."""
    inputs: tuple[_Flow, ...]
    outputs: tuple[_Flow, ...]
    called: bool


class _Difference:
    def __init__(
        self, compilation: Compilation, before: ApplicationMetrics, after: ApplicationMetrics, until: float
    ) -> None:
        self.compilation = compilation
        self.before = before
        self.after = after
        self.former = {each.name: each for each in before.operators}
        self.pes_before = {each.pe: each for each in before.pes}
        self.seconds = max(1e-3, until - before.at)
        self.factor = {each.pe: self._factor(each) for each in after.pes}
        """PE -> factor that scales its amounts to the measured time."""
        self.changes = [self._change(each) for each in after.operators]
        models = compilation.logical.operators
        self.queries = {x.name for x in compilation.physical.operators if models[x.logical].engine == "dataframe"}

    def _factor(self, pe: PeMetrics) -> float:
        known = self.pes_before.get(pe.pe)
        begin = known.at if known is not None else max(pe.since, self.before.at)
        span = pe.at - begin
        return self.seconds / span if span > 0 and self._busy_seconds(pe) >= STEADY * span else 1.0

    def _busy_seconds(self, pe: PeMetrics) -> float:
        known = self.pes_before.get(pe.pe)
        total = pe.plan_ns + pe.spark_ns + pe.commit_ns
        return max(0, total - (known.plan_ns + known.spark_ns + known.commit_ns if known else 0)) / 1e9

    def profile(self, calibrate: Calibrate) -> Profile:
        physical = self.compilation.physical
        streams = tuple(self._streams())
        if not any(each.tuples for each in streams) and not any(
            sum(port.tuples for port in each.inputs) for each in self.changes
        ):
            message = (
                f"{self.after.application} carried no tuples in {self.seconds:.1f} s, so its costs are unknown. "
                "Measure for longer (--seconds), or while its sources have something to produce."
            )
            raise NotProfiledError(message)
        measured = {each.name for each in self.changes if each.called}
        unmeasured = [
            Unmeasured(each.name, QUERY if each.name in self.queries else "it was not called in that time")
            for each in physical.operators
            if each.name not in measured
        ]
        return Profile(
            application=self.after.application,
            seconds=round(self.seconds, 3),
            streams=streams,
            operators=tuple(self._operators(measured)),
            transport=self._transport(calibrate),
            pes=tuple(self._pes()),
            unmeasured=tuple(unmeasured),
            fingerprint=fusion_fingerprint(self.compilation.logical, physical, self.compilation.fusion),
            measured_at=self.after.at,
            processors=os.cpu_count(),
        )

    def _change(self, now: OperatorMetrics) -> _Change:
        known, factor = self.former.get(now.name), self.factor.get(now.pe, 1.0)

        def flows(ports: Sequence[PortMetrics], before: Sequence[PortMetrics]) -> tuple[_Flow, ...]:
            then = {each.port: (each.tuples, each.bytes) for each in before}
            return tuple(
                _Flow(each.port, factor * (each.tuples - tuples), factor * (each.bytes - size))
                for each in ports
                for tuples, size in (then.get(each.port, (0, 0)),)
            )

        cpu = now.cpu_ns - (known.cpu_ns if known else 0)
        return _Change(
            now.name,
            now.pe,
            factor * cpu / 1e9,
            flows(now.inputs, known.inputs if known else ()),
            flows(now.outputs, known.outputs if known else ()),
            cpu > 0 or now.calls > (known.calls if known else 0),
        )

    def _operators(self, measured: set[str]) -> Iterator[OperatorProfile]:
        for each in self.changes:
            if each.name in measured:
                inputs = tuple(round(port.tuples, 1) for port in each.inputs)
                yield OperatorProfile(each.name, round(each.cpu, 6), inputs)

    def _streams(self) -> Iterator[StreamProfile]:
        """Yield the output ports of called operators and of queries, including ports without tuples.

        The counts are rounded to one decimal place.
        """
        for each in self.changes:
            for port in each.outputs if each.called or each.name in self.queries else ():
                yield StreamProfile(each.name, round(port.tuples, 1), port.port, round(port.bytes, 1))

    def _pes(self) -> Iterator[PeProfile]:
        queues: dict[int, int] = {}
        for sign, metrics in ((1, self.after), (-1, self.before)):
            for queue in metrics.queues:
                queues[queue.pe] = queues.get(queue.pe, 0) + sign * (queue.serialise_ns + queue.deserialise_ns)
        streams: dict[int, float] = {}
        for pe, passage in [*self._sent(), *self._received()]:
            streams[pe] = streams.get(pe, 0.0) + passage.seconds
        working: dict[int, float] = {}
        for each in self.changes:
            working[each.pe] = working.get(each.pe, 0.0) + each.cpu
        for each in self.after.pes:
            known = self.pes_before.get(each.pe)
            factor = self.factor[each.pe]
            tasks = (each.cpu_ns - (known.cpu_ns if known else 0)) / 1e9
            overhead = factor * (tasks + queues.get(each.pe, 0) / 1e9)
            cpu = overhead + working.get(each.pe, 0.0) + streams.get(each.pe, 0.0)
            busy = factor * self._busy_seconds(each)
            yield PeProfile(each.pe, round(cpu, 6), round(overhead, 6), round(busy, 6))

    def _sent(self) -> Iterator[tuple[int, Passage]]:
        """Yield each stream's writing PE, with the tuples, bytes and processor time of writing between the readings.

        Bytes are 0 for a stream whose tuples have no known size.
        """
        sizes = self._sizes()
        former = {each.name: each for each in self.before.streams}
        for each in self.after.streams:
            known, factor = former.get(each.name), self.factor.get(each.pe, 1.0)
            tuples = factor * (each.tuples - (known.tuples if known else 0))
            seconds = factor * (each.serialise_ns - (known.serialise_ns if known else 0)) / 1e9
            yield each.pe, Passage(tuples, tuples * sizes.get(each.name, 0.0), seconds)

    def _received(self) -> Iterator[tuple[int, Passage]]:
        """Yield each reading PE of each stream, with the tuples, bytes and processor time of reading, as `_sent`."""
        sizes = self._sizes()
        former = {(each.name, reader.pe): reader for each in self.before.streams for reader in each.readers}
        for each in self.after.streams:
            for reader in each.readers:
                known = former.get((each.name, reader.pe))
                factor = self.factor.get(reader.pe, 1.0)
                tuples = factor * (reader.tuples - (known.tuples if known else 0))
                seconds = factor * (reader.deserialise_ns - (known.deserialise_ns if known else 0)) / 1e9
                yield reader.pe, Passage(tuples, tuples * sizes.get(each.name, 0.0), seconds)

    def _sizes(self) -> dict[str, float]:
        """Map each stream between PEs to the average bytes of a tuple in memory, without streams of no tuples."""
        ports = {(each.operator, each.port): each for each in self._streams()}
        sizes: dict[str, float] = {}
        for pe in self.compilation.fusion.pes:
            for output in pe.outputs:
                name = self.compilation.physical.operators[output.operator].name
                port = ports.get((name, output.port))
                if port is not None and port.tuples and port.bytes is not None:
                    sizes[stream_name(self.compilation, output)] = port.bytes / port.tuples
        return sizes

    def _transport(self, calibrate: Calibrate) -> Transport:
        """Fit the costs to the streams between PEs; if these do not suffice, scale or take the calibrated costs.

        `calibrate` is only called then; its errors are raised.
        """
        sent = [each for _, each in self._sent() if each.tuples > 0 and each.bytes > 0]
        received = [each for _, each in self._received() if each.tuples > 0 and each.bytes > 0]
        send, receive = fit_passage_cost(sent), fit_passage_cost(received)
        basis: Basis = "measured"
        if send is None or receive is None:
            known = calibrate(self._rows())
            costs = scaled(sent, known[0]), scaled(received, known[1])
            basis = "scaled" if all(costs) else "calibrated"
            send, receive = (cost or shape for cost, shape in zip(costs, known, strict=True))
        return Transport(basis, send, receive, len(sent))

    def _rows(self) -> int:
        """Return the tuples per batch, as the median over output ports: the expected tuples per segment.

        At least 1, also if no port has submitted a tuple.
        """
        rows = sorted(
            port.tuples / batches
            for each in self.changes
            for port in each.outputs
            if port.tuples and (batches := self._batches(each.pe))
        )
        return max(1, round(rows[len(rows) // 2])) if rows else 1

    def _batches(self, pe: int) -> float:
        known = self.pes_before.get(pe)
        now = next((each for each in self.after.pes if each.pe == pe), None)
        if now is None:
            return 0.0
        return self.factor.get(pe, 1.0) * (now.batches - (known.batches if known else 0))
