"""The state of operators in event time late in a stream, against the state early in the same stream.

Every ten seconds of event time fifty new keys replace the former ones. Tuples are shuffled within 4 seconds, and one in
a hundred is later than the lag. So the state should be as large after an hour as after a few minutes: the bytes of a
whole checkpoint, the bytes of all files of an incremental one, and the slots in memory of keys and tuples, used or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.disorder import LAG, SECOND, arrival_order
from benchmarks.event_time import SCHEMA, batches
from benchmarks.harness import Row
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.flow.delay import Delay
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.operators.states.state import dump_state
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.arrow_types import arrow_schema

SECONDS, QUICK_SECONDS = 3_600, 600
RATE, KEYS, LIFE = 100, 50, 10
"""Tuples a second of event time, keys at a time, and the seconds for which a key has tuples."""
BATCH = 1_000
"""Tuples of a batch; a checkpoint follows each one."""
EARLY = 5
"""The state after a fifth of the stream is the yardstick."""
MOST = 1.5
RESULT = "k string, n bigint, at timestamp"
COUNTED: dict[str, Any] = {"partitionBy": ["k"], "output": {"n": "Count()", "at": "paneTime()"}}
INTERVALS = "timeInterval, intervalDuration(10.0), discardAge(30.0)"
OF_JOIN: dict[str, Any] = {
    "within": [-5.0, 5.0],
    "equalityLHS": ["k"],
    "equalityRHS": ["k"],
    "algorithm": "outer",
    "output": {"at": "COALESCE(lhs_at, rhs_at)", "k": "COALESCE(lhs_k, rhs_k)", "v": "lhs_v"},
}
KINDS: dict[str, tuple[type[Operator], int, str, dict[str, Any]]] = {
    "intervals": (Aggregate, 1, RESULT, {"window": f"{INTERVALS}, partitioned"} | COUNTED),
    "overlapping intervals": (
        Aggregate, 1, RESULT, {"window": f"{INTERVALS}, creationPeriod(2.0), partitioned"} | COUNTED,
    ),
    "early intervals, retracting": (
        Aggregate, 1, RESULT,
        {"window": f"{INTERVALS}, early(2.0), partitioned", "refinement": "retracting"} | COUNTED,
    ),
    "sessions": (Aggregate, 1, RESULT, {"window": "session, gap(5.0), discardAge(30.0), partitioned"} | COUNTED),
    "DeDuplicate": (DeDuplicate, 1, SCHEMA, {"within": 10.0, "key": ["k", "v"]}),
    "Join": (Join, 2, SCHEMA, OF_JOIN),
    "Sort": (Sort, 1, SCHEMA, {"window": "eventTime"}),
    "Delay": (Delay, 1, SCHEMA, {"by": "watermark", "delay": 5.0}),
}  # fmt: skip


def tuples(seconds: int) -> pa.RecordBatch:
    """Return the tuples of a number of seconds of event time, out of order."""
    random, count = np.random.default_rng(3), seconds * RATE
    times = np.arange(count) * (SECOND // RATE)
    times = times[arrival_order(times, random)]
    numbers = times // (LIFE * SECOND) * KEYS + random.integers(0, KEYS, count)
    keys = pa.array([f"car {number}" for number in numbers.tolist()])
    moments = pa.array(times).cast(pa.timestamp("us", "UTC"))
    columns = {"at": moments, "k": keys, "v": pa.array(random.integers(0, 10, count))}
    return pa.record_batch(columns).cast(arrow_schema(SCHEMA))


def sizes(harness: OperatorHarness) -> dict[str, float]:
    """Return the size of a state in several measures."""
    files = harness.checkpoint()
    state = harness.operator.checkpoint()
    slots = 0
    for part in state.values():
        slots += part.size if isinstance(part, TupleLog) else getattr(getattr(part, "index", None), "rows", 0)
    return {
        "bytes": len(dump_state(state, 1, []).data),
        "bytes of all files": sum(len(data) for _, data in files),
        "slots": slots,
    }


def grown(name: str, seconds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the largest sizes of an operator's state until a fifth of the stream, and after that."""
    kind, ports, result, parameters = KINDS[name]
    harness = OperatorHarness(kind, [SCHEMA] * ports, [result], parameters=parameters, event_time="at")
    given = batches(tuples(seconds), SECOND // 10, LAG, BATCH)
    early, late = dict[str, float](), dict[str, float]()
    for number, batch in enumerate(given, start=1):
        for port in range(ports):
            harness.send(batch, port)
        harness.sent.clear()
        into = early if number * EARLY <= len(given) else late
        for measure, size in sizes(harness).items():
            into[measure] = max(into.get(measure, 0), size)
    return early, late


def rows(*, quick: bool) -> list[Row]:
    """Measure every kind of state."""
    measured: list[Row] = []
    for name in KINDS:
        early, late = grown(name, QUICK_SECONDS if quick else SECONDS)
        measured += [
            Row(f"event_time_growth: {name}, {measure}, late / early", late[measure], "", early[measure], MOST)
            for measure in early
        ]
    return measured
