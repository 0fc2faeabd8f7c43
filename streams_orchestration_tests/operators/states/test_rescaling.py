"""Operators say whether their states can be divided, and which of their parameters may change."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, SourceOperator
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.conversion.parse import Parse
from streams_orchestration.operators.standard.files.directory_scan import DirectoryScan
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.standard.flow.beacon import Beacon
from streams_orchestration.operators.standard.flow.delay import Delay
from streams_orchestration.operators.standard.flow.merge import Merge
from streams_orchestration.operators.standard.flow.metrics_sink import MetricsSink
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.standard.transformation.custom import Custom
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.operators.states.conversion import ConversionError, converted
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.arrow_types import arrow_schema

ROW = arrow_schema("k string, g int, x double, t timestamp")
CONTEXT = OperatorContext("Op", inputs=(ROW, ROW), outputs=(ROW,))
WINDOW = {"output": {"x": "Sum(x)"}}
FUNCTION = {"function": "json:loads"}
BOTH = {"equalityLHS": ["k"], "equalityRHS": ["k"]}
ALL = ("k", "g", "x", "t")

SHARDINGS: dict[str, tuple[type[Operator], dict[str, Any], Sharding | str]] = {
    "partitions": (Aggregate, {"window": "sliding, count(2), partitioned", "partitionBy": ["k", "g"], **WINDOW},
                   Sharding(keys=(("k", "g"),))),
    "marks": (Aggregate, {"window": "tumbling, punct()", **WINDOW}, Sharding(anyhow=True)),
    "one window": (Aggregate, {"window": "tumbling, count(2)", **WINDOW}, "one window over all tuples of a channel"),
    "so many partitions": (
        Aggregate, {"window": "tumbling, count(2), partitioned, partitionCount(3)", "partitionBy": ["k"], **WINDOW},
        "partitionCount",
    ),
    "so many tuples": (
        Aggregate, {"window": "sliding, count(2), partitioned, tupleCount(3)", "partitionBy": ["k"], **WINDOW},
        "tupleCount",
    ),
    "keys for good": (DeDuplicate, {"key": ["(K)", "`g`", "LENGTH(k)"]}, Sharding(keys=(("k", "g", "LENGTH(k)"),))),
    "a text is not an attribute": (DeDuplicate, {"key": ["k", '"g"']}, Sharding(keys=(("k", '"g"'),))),
    "keys of SPL": (DeDuplicate, {"key": [{"spl": "In.k"}, {"spl": "g"}]}, Sharding(keys=(("k", "g"),))),
    "whole tuples": (DeDuplicate, {}, Sharding(keys=(ALL,))),
    "keys for a while": (DeDuplicate, {"key": "k", "delta": 1, "deltaAttribute": "g"}, Sharding(keys=(("k",),))),
    "keys for so many tuples": (DeDuplicate, {"key": "k", "count": 3}, "positions in one channel"),
    "a join by time": (Join, {"window": "sliding, time(2)", "timeAttribute": "t", **BOTH}, Sharding(keys=(ALL, ALL))),
    "a join by count": (Join, {"window": ["sliding, delta(g, 2)", "sliding, count(3)"], **BOTH}, "count the tuples"),
    "a join by count in partitions": (
        Join,
        {
            "window": ["sliding, count(2), partitioned", "sliding, delta(g, 2)"],
            "partitionByLHS": ["k"],
            **BOTH,
        },
        Sharding(keys=(("k",), ALL)),
    ),
    "a join by event time": (Join, {"within": [0, 1], **BOTH}, Sharding(keys=(ALL, ALL))),
    "keys by event time": (DeDuplicate, {"key": "k", "within": 1}, Sharding(keys=(("k",),))),
    "tuples in order of event time": (Sort, {"window": "eventTime"}, Sharding(anyhow=True)),
    "tuples in windows": (Sort, {"window": "tumbling, punct()", "sortBy": ["g"]}, "windows of one channel"),
    "tuples that wait for the watermark": (Delay, {"by": "watermark", "delay": 1}, Sharding(anyhow=True)),
    "a function": (Custom, FUNCTION, "has no keys and no rescale"),
    "a beacon": (Beacon, {}, "is an offset that cannot be divided among channels"),
    "tuples that are delayed": (Delay, {"delay": 1, "timeAttribute": "t"}, "the waiting tuples of one channel"),
    "tuples that are merged": (Merge, {"orderBy": "g"}, "tuples of one channel that wait for tuples of other ports"),
    "the beginning of a row": (Parse, {"format": "csv", "parseInput": "k"}, "a row that one channel has read"),
    "metrics": (MetricsSink, {"metrics": "g"}, Sharding(anyhow=True)),
    "names of files": (DirectoryScan, {"directory": "in"}, "is an offset that cannot be divided among channels"),
    "files": (FileSource, {"file": "a.csv"}, "is an offset that cannot be divided among channels"),
}  # fmt: skip


@pytest.mark.parametrize("case", SHARDINGS)
def test_an_operator_says_whether_its_state_can_be_divided(case: str):
    kind, parameters, expected = SHARDINGS[case]
    actual = kind.sharding(CONTEXT, kind.Parameters.model_validate(parameters))
    if isinstance(expected, str):
        assert expected in actual.refusal
    else:
        assert actual == expected


TUMBLING = {"window": "tumbling, count(2)", **WINDOW}
DELTA = {"key": "k", "delta": 1, "deltaAttribute": "g"}
TIMED = {"window": "sliding, time(2)", "timeAttribute": "t", **BOTH}
KEEPING: dict[str, tuple[type[Operator], dict[str, Any], dict[str, Any], bool]] = {
    "nothing": (Aggregate, TUMBLING, {}, True),
    "what the end gives": (Aggregate, TUMBLING, {"aggregateIncompleteWindows": True}, True),
    "the size of a window": (Aggregate, TUMBLING, {"window": "tumbling, count(3)"}, False),
    "a function of groups": (Aggregate, TUMBLING, {"output": {"x": "Max(x)"}}, False),
    "how long keys are known": (DeDuplicate, DELTA, {"delta": 5}, True),
    "for how many tuples": (DeDuplicate, {"key": "k", "count": 2}, {"count": 5}, True),
    "from good to a while": (DeDuplicate, {"key": "k"}, DELTA, False),
    "from good to a count": (DeDuplicate, {"key": "k"}, {"count": 3}, False),
    "a key": (DeDuplicate, {"key": "k"}, {"key": "g"}, False),
    "what is made of pairs": (Join, TIMED, {"match": "lhs_x > 1"}, True),
    "sizes of windows": (Join, TIMED, {"window": ["sliding, time(2)", "sliding, time(9)"]}, True),
    "what windows go by": (Join, TIMED, {"window": "sliding, count(2)"}, False),
    "a side that becomes outer": (Join, TIMED, {"algorithm": "leftOuter"}, False),
    "partitions of a join": (
        Join,
        TIMED,
        {"window": "sliding, time(2), partitioned", "partitionByLHS": ["k"], "partitionByRHS": ["k"]},
        False,
    ),
    "what is absent, and the end": (Join, TIMED, {"absent": "defaults", "atEnd": "drop", "windowMarkers": True}, True),
    "a side that is outer no more": (Join, {**TIMED, "algorithm": "outer"}, {"algorithm": "leftOuter"}, True),
    "distances of event time": (Join, {"within": [0, 1], **BOTH}, {"within": [0, 9], "discardAge": 1}, True),
    "from a window to event time": (Join, TIMED, {"window": None, "timeAttribute": None, "within": [0, 1]}, False),
    "a side that becomes outer by event time": (Join, {"within": [0, 1], **BOTH}, {"algorithm": "leftOuter"}, False),
    "a distance of duplicates": (DeDuplicate, {"key": "k", "within": 1}, {"within": 2}, False),
    "how late a tuple may be": (DeDuplicate, {"key": "k", "within": 1}, {"discardAge": 2}, True),
    "from a while to event time": (DeDuplicate, DELTA, {"delta": None, "deltaAttribute": None, "within": 1}, False),
    "an order among equal times": (Sort, {"window": "eventTime"}, {"sortBy": ["g"]}, True),
    "from a window to the order of time": (Sort, {"sortBy": ["g"]}, {"window": "eventTime"}, False),
    "how long tuples wait": (Delay, {"by": "watermark", "delay": 1}, {"delay": 2}, True),
    "the clock of a delay": (
        Delay,
        {"delay": 1, "timeAttribute": "t"},
        {"by": "watermark", "timeAttribute": None},
        False,
    ),
    "what state begins with": (Custom, FUNCTION, {"state": {"a": 1}}, True),
    "arguments": (Custom, FUNCTION, {"arguments": {"a": 1}}, False),
    "a rate": (Beacon, {"iterations": 5}, {"period": 0.5}, True),
    "a later end": (Beacon, {"iterations": 5}, {"iterations": 6}, True),
    "no end": (Beacon, {"iterations": 5}, {"iterations": None}, True),
    "an earlier end": (Beacon, {"iterations": 5}, {"iterations": 4}, False),
    "another file": (FileSource, {"file": "a.csv"}, {"file": "b.csv"}, False),
    "rows that cannot be read": (FileSource, {"file": "a.csv"}, {"parsing": "permissive"}, True),
}  # fmt: skip


@pytest.mark.parametrize("case", KEEPING)
def test_which_parameters_leave_a_state_as_it_is(case: str):
    kind, before, changes, kept = KEEPING[case]
    old, new = (kind.Parameters.model_validate(each) for each in (before, before | changes))
    assert kind.keeps_state(old, new) is kept


def test_a_source_with_a_rescale_of_its_own_divides_its_offset():
    class Parts(SourceOperator):
        def rescale(self, states: Any, route: Any) -> Any:
            return states

    assert Parts.sharding(CONTEXT, Parts.Parameters()) == Sharding(anyhow=True)


def keyed(keys: str, values: str, **rows: Any) -> KeyedState:
    state = KeyedState(keys, values)
    if rows:
        names = state.keys_schema.names
        state.put_many({name: rows[name] for name in names}, {name: rows[name] for name in state.values_schema.names})
    return state


def log(ddl: str, *rows: dict[str, Any]) -> TupleLog:
    tuple_log = TupleLog(arrow_schema(ddl))
    if rows:
        tuple_log.append(pa.RecordBatch.from_pylist(list(rows), schema=tuple_log.schema))
        tuple_log.flag(tuple_log.places()[:1])
    return tuple_log


def test_columns_are_added_and_types_widened():
    state = {
        "a": keyed("k int", "n int, x float", k=[1, 2], n=[3, 4], x=[0.5, 1.5]),
        "plain": 7,
        "d": DictState({1: 2}),
    }
    actual = converted(state, {"a": keyed("k bigint", "x double, n bigint, m bigint, s string"), "b": DictState()})
    assert actual["a"].table().to_pylist() == [
        {"k": 1, "x": 0.5, "n": 3, "m": 0, "s": None},
        {"k": 2, "x": 1.5, "n": 4, "m": 0, "s": None},
    ]
    assert (actual["plain"], dict(actual["d"]), dict(actual["b"])) == (7, {1: 2}, {})


def test_tuples_get_nulls_for_what_is_new_and_keep_their_flags():
    actual = converted(
        {"t": log("k string, n int", {"k": "a", "n": 1}, {"k": "b", "n": 2})},
        {"t": log("n bigint, k string, m double")},
    )
    part = actual["t"]
    assert part.take(part.places()).to_pylist() == [{"n": 1, "k": "a", "m": None}, {"n": 2, "k": "b", "m": None}]
    assert part.flags[part.places()].tolist() == [True, False]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (keyed("k string", "n bigint"), keyed("k string", "n int"), "has n bigint in its part p, which is int now"),
        (keyed("k string", "n bigint"), keyed("k string", "m bigint"), "has n bigint in its part p, which no longer"),
        (keyed("k string", "n bigint"), keyed("k string, g int", "n bigint"), "has no key g in its part p"),
        (log("k string"), log("k int"), "has k string in its part p, which is int now"),
        (log("k string, n int"), log("k string"), "has n int in its part p, which no longer has this column"),
    ],
)
def test_a_conversion_that_would_lose_values_is_refused_with_both_types(before: Any, after: Any, words: str):
    with pytest.raises(ConversionError, match=words):
        converted({"p": before}, {"p": after})
