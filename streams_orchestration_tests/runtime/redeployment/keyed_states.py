"""Operators whose states have keys, and rows for them."""

from __future__ import annotations

import datetime
from typing import Any

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.operators.testing import Row
from streams_orchestration_tests.runtime.redeployment.keyed_operators import Last, Visits

ROW = "k string, g int, x double, t timestamp, n bigint"
KEYS = ["a", "b", "c", "d", "e", None]
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


def aggregate(window: str, by: list[str], group: list[str], **more: Any) -> dict[str, Any]:
    output = {"n": "Count()", "x": "Sum(x)"}
    return {"window": window, "partitionBy": by, "groupBy": group, "output": output, **more}


TIME = {"timeAttribute": "t"}
SUMS = "k string, g int, n bigint, x double"
BY_GROUP = ["k", "g"]
WHOLE: dict[str, tuple[type[Operator], str, dict[str, Any]]] = {
    "keys with values": (Visits, "k string, n bigint", {}),
    "a dictionary": (Last, "k string, n bigint", {}),
    "DeDuplicate for good": (DeDuplicate, ROW, {"key": ["k", "x"]}),
    "DeDuplicate with delta": (DeDuplicate, ROW, {"key": "k", "delta": 3, "deltaAttribute": "t"}),
    "tumbling count": (Aggregate, SUMS, aggregate("tumbling, count(3), partitioned", ["k"], ["g"])),
    "tumbling count of two parts": (Aggregate, SUMS, aggregate("tumbling, count(3), partitioned", BY_GROUP, [])),
    "tumbling delta": (Aggregate, SUMS, aggregate("tumbling, delta(n, 2), partitioned", ["k"], ["g"])),
    "tumbling time": (Aggregate, SUMS, aggregate("tumbling, time(2), partitioned", ["k"], ["g"], **TIME)),
    "incomplete windows": (
        Aggregate, SUMS,
        aggregate("tumbling, count(4), partitioned", ["k"], ["g"], aggregateIncompleteWindows=True),
    ),
    "sliding count": (Aggregate, SUMS, aggregate("sliding, count(3), count(2), partitioned", ["k"], ["g"])),
    "sliding time": (Aggregate, SUMS, aggregate("sliding, time(2), count(1), partitioned", ["k"], ["g"], **TIME)),
    "sliding delta trigger": (
        Aggregate, SUMS, aggregate("sliding, count(2), delta(n, 2), partitioned", ["k"], ["g"]),
    ),
    "partitions that are given up": (
        Aggregate, SUMS,
        aggregate("tumbling, count(3), partitioned, partitionAge(2)", ["k"], ["g"], **TIME),
    ),
    "sliding windows of such": (
        Aggregate, SUMS,
        aggregate("sliding, count(3), count(1), partitioned, partitionAge(2)", ["k"], ["g"], **TIME),
    ),
}  # fmt: skip


def in_time(rows: list[Any]) -> list[Row]:
    """Rows whose times and numbers rise by what each says."""
    timed: list[Row] = []
    now = 0
    for k, g, x, step in rows:
        now += step
        timed.append((k, g, x, START + datetime.timedelta(seconds=now), now))
    return timed
