"""Windows of event time in an Aggregate, against windows over tuples and against each other.

Each ratio is of the tuples that an operator takes in a second of processor time, over the same tuples in batches of
10,000 with a watermark at every tenth of a second of event time. Out of order means that the tuples are shuffled within
4 seconds, and that one in a hundred is later than the lag.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.disorder import LAG, SECOND, arrival_order
from benchmarks.harness import Row, seconds
from streams_orchestration.operators.contract.function import operator
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.clock import Clock
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.flow.split import Split
from streams_orchestration.operators.standard.flow.union import Union
from streams_orchestration.operators.standard.transformation.filter import Filter
from streams_orchestration.operators.standard.transformation.functor import Functor
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch

SCHEMA = "at timestamp, k string, v bigint"
RESULT = "k string, n bigint, total bigint, at timestamp"
OUTPUT = {"n": "Count()", "total": "Sum(v)", "at": "Max(at)"}
PANES = OUTPUT | {"at": "paneTime()"}
BATCH = 10_000
MOST = 15e-6
"""The most seconds of a batch that its watermarks may cost an operator which passes them on."""
RATE, KEYS = 5_000, 200
"""The tuples in a second of event time, and the number of their keys."""


@operator
def selected(batch: TupleBatch) -> TupleBatch:
    """Return the tuples whose `v` is at least 500."""
    return batch.filter(batch.column("v") >= 500)


PASSING: list[tuple[type[Operator], int, dict[str, Any]]] = [
    (Filter, 1, {"filter": "v >= 500"}),
    (Functor, 1, {"output": {"v": "v + 1"}}),
    (Split, 2, {"index": "v"}),
    (Union, 1, {}),
    (selected, 1, {}),
]
"""Operators that pass watermarks on, with the number of their output ports and their parameters."""


def tuples(count: int, *, shuffled: bool) -> pa.RecordBatch:
    """Return tuples in order of time, or shuffled, whose keys are uniform."""
    random = np.random.default_rng(7)
    times = np.arange(count) * (SECOND // RATE)
    if shuffled:
        times = times[arrival_order(times, random)]
    keys = pa.array([f"key {number}" for number in range(KEYS)]).take(pa.array(random.integers(0, KEYS, count)))
    moments = pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC"))
    tuples = pa.record_batch({"at": moments, "k": keys, "v": pa.array(random.integers(0, 1000, count))})
    return tuples.cast(arrow_schema(SCHEMA))


def batches(source: pa.RecordBatch, gap: int, lag: int, size: int = BATCH, *, time: str = "at") -> list[TupleBatch]:
    """Return the tuples in batches, with the watermarks that a source makes of them."""
    clock, made = Clock(lag, gap), list[TupleBatch]()
    for start in range(0, source.num_rows, size):
        part = source.slice(start, size)
        times = part.column(time).cast(pa.int64()).to_numpy()
        made.append(TupleBatch(part, watermarks=clock.advance(times)))
    return made


def run(
    kind: type[Operator],
    items: list[TupleBatch],
    *,
    event_time: bool,
    ports: int = 1,
    result: str = SCHEMA,
    **parameters: Any,
) -> Callable[[], None]:
    """Return what lets an operator take all batches at all ports; its state is stored whole now and then."""

    def take() -> None:
        harness = OperatorHarness(
            kind, [SCHEMA] * ports, [result], parameters=parameters, event_time="at" if event_time else None
        )
        for number, batch in enumerate(items):
            for port in range(ports):
                harness.send(batch if event_time else batch.without_watermarks(), port)
            harness.sent.clear()
            if number % 10 == 9:
                harness.checkpoint()

    return take


def aggregate(items: list[TupleBatch], window: str, *, event_time: bool, **more: Any) -> Callable[[], None]:
    """Return what lets an Aggregate with a window for each key take all batches."""
    given = {"window": f"{window}, partitioned", "partitionBy": ["k"], "output": PANES if event_time else OUTPUT}
    return run(Aggregate, items, event_time=event_time, result=RESULT, **given, **more)


def through(
    kind: type[Operator], items: list[TupleBatch], *, event_time: bool, outputs: int = 1, **parameters: Any
) -> Callable[[], None]:
    """Return what lets an operator without state take all batches."""

    harness = OperatorHarness(
        kind, [SCHEMA], [SCHEMA] * outputs, parameters=parameters, event_time="at" if event_time else None
    )

    def take() -> None:
        harness.reset()
        for batch in items:
            harness.send(batch if event_time else batch.without_watermarks())
            harness.sent.clear()

    return take


def rows(*, quick: bool) -> list[Row]:
    """Measure all ratios."""
    count, repeat = (200_000, 3) if quick else (1_000_000, 5)
    ordered, shuffled = tuples(count, shuffled=False), tuples(count, shuffled=True)
    gap, batch = SECOND // 10, count / BATCH
    in_order, out_of_order = batches(ordered, gap, 0), batches(shuffled, gap, LAG)
    interval = "timeInterval, intervalDuration(10.0)"
    passing = seconds(
        *(
            through(kind, in_order, event_time=each, outputs=outputs, **parameters)
            for kind, outputs, parameters in PASSING
            for each in (True, False)
        ),
        repeat=4 * repeat,
    )
    today, counted, tumbling, disordered, taken, early, sliding, fine, coarse = seconds(
        aggregate(in_order, "tumbling, time(10.0)", event_time=False, timeAttribute="at"),
        aggregate(in_order, f"tumbling, count({10 * RATE // KEYS})", event_time=False),
        aggregate(in_order, interval, event_time=True),
        aggregate(out_of_order, interval, event_time=True),
        aggregate(out_of_order, f"{interval}, discardAge(10.0)", event_time=True),
        aggregate(out_of_order, f"{interval}, early(2.0)", event_time=True),
        aggregate(in_order, "timeInterval, intervalDuration(60.0), creationPeriod(1.0)", event_time=True),
        aggregate(batches(ordered, 1, 0), interval, event_time=True),
        aggregate(batches(ordered, SECOND, 0), interval, event_time=True),
        repeat=repeat,
    )

    def row(what: str, time: float, yardstick: float, target: float | None) -> Row:
        return Row(f"event_time: {what}", count / time, "tuples/s", count / yardstick, target, at_least=True)

    return [
        *(
            row(f"{kind.__name__} with watermarks / without", marked, bare, 0.95)
            for (kind, *_), marked, bare in zip(PASSING, passing[::2], passing[1::2], strict=True)
        ),
        *(
            Row(f"event_time: {kind.__name__}, watermarks / the most", (marked - bare) / batch, "s/batch", MOST, 1.0)
            for (kind, *_), marked, bare in zip(PASSING, passing[::2], passing[1::2], strict=True)
            if kind is not Split
        ),
        row("intervals in order / time(n)", tumbling, today, 0.9),
        row("intervals in order / count(n)", tumbling, counted, 0.9),
        row("intervals out of order / in order", disordered, tumbling, 0.8),
        row("the same, late tuples taken / in order", taken, tumbling, None),
        row("the same, early firings every 2 s / without", early, disordered, None),
        row("intervals, 60 deep / tumbling", sliding, tumbling, 0.3),
        row("a watermark at every tuple / every second", fine, coarse, 0.7),
    ]
