"""A width that changes in the middle gives what the width would have given that there is at the end."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.operators.testing import Row
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.redeployment.channels import Channels
from streams_orchestration_tests.runtime.redeployment.keyed_states import (
    KEYS,
    ROW,
    START,
    WHOLE,
    in_time,
)

pytestmark = pytest.mark.slow

WIDTHS = st.lists(st.integers(1, 4), min_size=2, max_size=4)
ROWS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.integers(0, 2), st.sampled_from([0.5, 1.0, 4.25]), st.integers(0, 3)),
    max_size=40,
)


@pytest.mark.parametrize("case", WHOLE)
@given(rows=ROWS, widths=WIDTHS)
@examples(12)
def test_a_width_that_changes_gives_what_the_last_one_gives(case: str, rows: list[Any], widths: list[int]):
    kind, output, parameters = WHOLE[case]
    given_ = in_time(rows)
    some = len(given_) // len(widths) + 1
    parts = [given_[i * some : (i + 1) * some] for i in range(len(widths))]
    changing = Channels(kind, [ROW], output, parameters, [["k"]], widths[0])
    steady = Channels(kind, [ROW], output, parameters, [["k"]], widths[-1])
    for number, part in enumerate(parts):
        if number:
            changing = changing.rescaled(widths[number])
        changing.send(part)
        steady.send(part)
    assert counted(changing.end().take()) == counted(steady.end().take())


MARKED = {
    "by the group's key": (["k"], [], ["k", "g"]),
    "by a part of the partition": (["k"], ["k"], ["g"]),
    "by something else": (["x"], [], ["k"]),
    "round robin": ([], [], ["k"]),
    "round robin, partitions": ([], ["k"], ["g"]),
}


@pytest.mark.parametrize("case", MARKED)
@given(rows=ROWS, widths=WIDTHS, marks=st.lists(st.integers(0, 40), max_size=4))
@examples(12)
def test_groups_of_windows_that_marks_close_add_up(case: str, rows: list[Any], widths: list[int], marks: list[int]):
    by, partition, group = MARKED[case]
    window = "tumbling, punct()" + (", partitioned" if partition else "")
    names = [name for name in ("k", "g") if name in (*partition, *group)]
    output = {"n": "Count()", "x": "Sum(x)", "low": "Min(x)", "high": "Max(n)", "mean": "Average(x)"}
    ddl = ", ".join([{"k": "k string", "g": "g int"}[name] for name in names])
    ddl += ", n bigint, x double, low double, high bigint, mean double"
    parameters = {"window": window, "partitionBy": partition, "groupBy": group, "output": output}
    changing = Channels(Aggregate, [ROW], ddl, parameters, [by], widths[0])
    some = len(rows) // len(widths) + 1
    wanted: dict[Row, list[Row]] = defaultdict(list)
    for number, row in enumerate([*in_time(rows), None]):
        if number in marks or row is None:
            actual: dict[Row, list[Row]] = defaultdict(list)
            for each in changing.mark().take():
                actual[each[: len(names)]].append(each[len(names) :])
            assert {key: _merged(parts) for key, parts in actual.items()} == {
                key: (len(part), sum(r[2] for r in part), min(r[2] for r in part), max(r[4] for r in part))
                for key, part in wanted.items()
            }
            wanted.clear()
        if row is not None:
            if number and number % some == 0:
                changing = changing.rescaled(widths[number // some])
            changing.send([row])
            wanted[tuple(row["kg".index(name)] for name in names)].append(row)


def _merged(parts: list[Row]) -> Row:
    """Return the sum of several channels' results for one group: mean is left to its parts."""
    for n, x, _, _, mean in parts:
        assert mean == x / n
    return (
        sum(part[0] for part in parts),
        sum(part[1] for part in parts),
        min(part[2] for part in parts),
        max(part[3] for part in parts),
    )


SIDE = "k string, side string, t timestamp"
PAIR = "lhs_k string, lhs_side string, rhs_side string, lhs_t timestamp, rhs_t timestamp"
JOINS = {
    "time": {"window": "sliding, time(2)", "timeAttribute": "t"},
    "two sizes": {"window": ["sliding, time(1)", "sliding, time(3)"], "timeAttribute": "t"},
    "a side that waits for others": {"window": "sliding, time(2)", "timeAttribute": "t", "algorithm": "outer"},
}


@pytest.mark.parametrize("case", JOINS)
@given(
    steps=st.lists(st.tuples(st.sets(st.sampled_from(KEYS[:5])), st.sets(st.sampled_from(KEYS[:5]))), max_size=8),
    widths=WIDTHS,
)
@examples(10)
def test_a_join_by_time_goes_on_with_both_windows(case: str, steps: list[Any], widths: list[int]):
    parameters = {"equalityLHS": ["k"], "equalityRHS": ["k"], **JOINS[case]}

    def channels(width: int) -> Channels:
        return Channels(Join, [SIDE, SIDE], PAIR, parameters, [["k"], ["k"]], width)

    changing, steady = channels(widths[0]), channels(widths[-1])
    some = len(steps) // len(widths) + 1
    for number, sides in enumerate(steps):
        if number and number % some == 0:
            changing = changing.rescaled(widths[number // some])
        now = START + datetime.timedelta(seconds=number)
        for port, keys in enumerate(sides):
            # a tuple for every channel, so that time goes on in all of them, whatever their number
            ticks = [(f"tick {port} {i}", "tick", now) for i in range(40)]
            rows = [*ticks, *((key, f"{key}{number}", now) for key in sorted(keys))]
            changing.send(rows, port)
            steady.send(rows, port)
    for all_ in (changing, steady):
        all_.end()
    assert pairs(changing) == pairs(steady)


def pairs(channels: Channels) -> Counter[str]:
    return counted([row for row in channels.take() if "tick" not in row[1:3]])


def counted(rows: list[Row]) -> Counter[str]:
    return Counter(map(repr, rows))


SETS = {"spl": "In.k", "types": {"In": "tuple<set<int32> k>"}}
COUNTS = {"window": "tumbling, count(2), partitioned", "partitionBy": ["k"], "output": {"n": "Sum(n)"}}
NESTED: dict[str, tuple[type[Operator], str, list[Any], dict[str, Any]]] = {
    "arrays": (DeDuplicate, "array<double>", [[], [0.0], [-0.0], [1.0, 0.0], [0.0, 1.0], None], {"key": "k"}),
    "maps": (Aggregate, "map<string, int>", [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 2}, {}, None], COUNTS),
    "structs": (Aggregate, "struct<a: array<int>>", [{"a": [1]}, {"a": [2]}, {"a": []}, {"a": None}, None], COUNTS),
    "sets of SPL": (DeDuplicate, "array<int> NOT NULL", [[1, 2], [2, 1], [1], [2], []], {"key": [SETS]}),
}


@pytest.mark.parametrize("case", NESTED)
@given(data=st.data(), widths=WIDTHS)
@examples(12)
def test_nested_keys_are_divided_by_their_values(case: str, data: st.DataObject, widths: list[int]):
    kind, ddl, values, parameters = NESTED[case]
    rows = data.draw(st.lists(st.tuples(st.sampled_from(values), st.integers(0, 9)), max_size=24))
    row = f"k {ddl}, n bigint"
    changing, steady = (Channels(kind, [row], row, parameters, [["k"]], width) for width in (widths[0], widths[-1]))
    some = len(rows) // len(widths) + 1
    for number, width in enumerate(widths):
        changing = changing.rescaled(width) if number else changing
        changing.send(rows[number * some : (number + 1) * some])
        steady.send(rows[number * some : (number + 1) * some])
    counts = [Counter(map(repr, each.end().take())) for each in (changing, steady)]
    assert counts[0] == counts[1]
