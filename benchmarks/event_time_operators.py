"""Sort, Join, DeDuplicate and Delay by event time, each against the same operator by the order of arrival.

Each ratio is of the tuples that an operator takes in a second of processor time. Tuples and batches are as in
`event_time`; a Join gets all of them at both ports, so that a tuple meets about five others.
"""

from __future__ import annotations

from typing import Any

from benchmarks.disorder import LAG, SECOND
from benchmarks.event_time import batches, run, tuples
from benchmarks.harness import Row, seconds
from streams_orchestration.operators.standard.flow.delay import Delay
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate

PAIR = "at timestamp, k string, v bigint, w bigint"
OF_JOIN: dict[str, Any] = {
    "ports": 2,
    "result": PAIR,
    "equalityLHS": ["k"],
    "equalityRHS": ["k"],
    "output": {"at": "lhs_at", "k": "lhs_k", "v": "lhs_v", "w": "rhs_v"},
}


def rows(*, quick: bool) -> list[Row]:
    """Measure all ratios."""
    count, repeat = (100_000, 3) if quick else (500_000, 5)
    ordered, shuffled = (tuples(count, shuffled=each) for each in (False, True))
    in_order, out_of_order = batches(ordered, SECOND // 10, 0), batches(shuffled, SECOND // 10, LAG)
    pairs: dict[str, Any] = {"within": [-0.1, 0.1], **OF_JOIN}
    keys: dict[str, Any] = {"key": ["k", "v"]}
    figures = seconds(
        run(Sort, in_order, event_time=False, window="tumbling, count(20000)", sortBy=["at"]),
        run(Sort, out_of_order, event_time=True, window="eventTime"),
        run(Join, in_order, event_time=False, window="sliding, time(0.1)", timeAttribute="at", **OF_JOIN),
        run(Join, in_order, event_time=True, **pairs),
        run(Join, out_of_order, event_time=True, **pairs),
        run(Join, out_of_order, event_time=True, algorithm="outer", **pairs),
        run(DeDuplicate, in_order, event_time=False, delta=10.0, deltaAttribute="at", **keys),
        run(DeDuplicate, out_of_order, event_time=True, within=10.0, **keys),
        run(Delay, in_order, event_time=False, delay=5.0, timeAttribute="at"),
        run(Delay, out_of_order, event_time=True, delay=5.0, by="watermark"),
        repeat=repeat,
    )
    windows, order, window, joined, disordered, outer, delta, within, tuple_delay, delay = figures

    def row(what: str, time: float, yardstick: float, target: float | None = None) -> Row:
        return Row(f"event_time_operators: {what}", count / time, "tuples/s", count / yardstick, target, at_least=True)

    return [
        row("Sort, eventTime out of order / count(n)", order, windows, 0.5),
        row("Join, within in order / window of time", joined, window, 0.7),
        row("Join, within out of order / in order", disordered, joined, 0.7),
        row("Join, an outer one out of order / an inner one", outer, disordered),
        row("DeDuplicate, within out of order / delta in order", within, delta, 0.7),
        row("Delay, by watermark out of order / by tuples", delay, tuple_delay),
    ]
