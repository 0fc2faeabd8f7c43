"""Join against an account that handles one tuple after another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.joining import join
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

LEFT, RIGHT = "k string, n bigint, t bigint", "k string, m bigint, t bigint"
OUT = "n bigint, m bigint, a string, b string"
TUPLES = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 5), st.integers(0, 9))
ARRIVALS = st.lists(st.tuples(st.integers(0, 1), TUPLES), max_size=14)
POLICIES = st.sampled_from([("count", 0), ("count", 1), ("count", 3), ("delta", 0), ("delta", 3)])


def bench(window: Any = "sliding, count(3)", **parameters: Any) -> Bench:
    given: dict[str, Any] = {"window": window, "output": {"a": "lhs_k", "b": "rhs_k"}} | parameters
    return Bench(Join, [LEFT, RIGHT], [OUT], **given)


def account(
    arrivals: list[tuple[int, Row]], policies: list[Any], equal: bool, match: bool, algorithm: str
) -> list[Row]:
    windows: list[list[list[Any]]] = [[], []]
    outer = (algorithm in ("leftOuter", "outer"), algorithm in ("rightOuter", "outer"))
    joined: list[Row] = []

    def tell(left: Row | None, right: Row | None) -> None:
        n, a = (left[1], left[0]) if left else (None, None)
        m, b = (right[1], right[0]) if right else (None, None)
        joined.append((n, m, a, b))

    def leave(port: int) -> None:
        row, met = windows[port].pop(0)
        if outer[port] and not met:
            tell(*((row, None) if port == 0 else (None, row)))

    for port, row in arrivals:
        kind, size = policies[port]
        own, other = windows[port], windows[1 - port]
        new = [row, False]
        for candidate in other:
            left, right = (row, candidate[0]) if port == 0 else (candidate[0], row)
            same = left[0] == right[0] and left[0] is not None
            if (same or not equal) and (left[1] < right[1] or not match):
                new[1] = candidate[1] = True
                tell(left, right)
        while own and (len(own) >= size if kind == "count" else row[2] - own[0][0][2] > size):
            leave(port)
        own.append(new)
        if (kind, size) == ("count", 0):
            leave(port)
    for port in (0, 1):
        while windows[port]:
            leave(port)
    return joined


@given(
    ARRIVALS, POLICIES, POLICIES, st.booleans(), st.booleans(),
    st.sampled_from(["inner", "leftOuter", "rightOuter", "outer"]), st.lists(st.booleans(), min_size=14, max_size=14),
)  # fmt: skip
@examples(250)
def test_any_batches_with_restarts_give_what_the_account_gives(
    arrivals: list[tuple[int, Row]], left: Any, right: Any, equal: bool, match: bool, algorithm: str, cuts: list[bool]
):
    windows = [
        f"sliding, {f'count({size})' if kind == 'count' else f'delta(t, {size})'}" for kind, size in (left, right)
    ]
    more: dict[str, Any] = {"equalityLHS": ["k"], "equalityRHS": ["k"]} if equal else {}
    joined = bench(windows, algorithm=algorithm, **more, **({"match": "n < m"} if match else {}))
    start = 0
    for end in range(1, len(arrivals) + 1):
        if end == len(arrivals) or cuts[end] or arrivals[end][0] != arrivals[start][0]:
            joined.send([row for _, row in arrivals[start:end]], arrivals[start][0])
            start = end
            if cuts[end % 14]:
                joined.restart()
    assert joined.end().rows() == account(arrivals, [left, right], equal, match, algorithm)


@given(ARRIVALS, POLICIES, POLICIES, st.booleans(), st.lists(st.booleans(), min_size=14, max_size=14))
@examples(150)
def test_windows_of_partitions_are_those_of_joins_by_themselves(
    arrivals: list[tuple[int, Row]], left: Any, right: Any, equal: bool, cuts: list[bool]
):
    """A partition's own window holds what it would hold if the other partitions' tuples had not come."""
    windows = [
        f"sliding, {f'count({size})' if kind == 'count' else f'delta(t, {size})'}, partitioned"
        for kind, size in (left, right)
    ]
    more: dict[str, Any] = {"equalityLHS": ["k"], "equalityRHS": ["k"]} if equal else {}
    joined = bench(windows, algorithm="outer", partitionByLHS=["k"], partitionByRHS=["m"], **more)
    start = 0
    for end in range(1, len(arrivals) + 1):
        if end == len(arrivals) or cuts[end] or arrivals[end][0] != arrivals[start][0]:
            joined.send([row for _, row in arrivals[start:end]], arrivals[start][0])
            start = end
            if cuts[end % 14]:
                joined.restart()
    wanted = partitioned_account(arrivals, [left, right], equal)
    assert joined.end().rows() == wanted


def partitioned_account(arrivals: list[tuple[int, Row]], policies: list[Any], equal: bool) -> list[Row]:
    windows: list[list[list[Any]]] = [[], []]
    parts, joined = (0, 1), list[Row]()

    def tell(left: Row | None, right: Row | None) -> None:
        joined.append(
            (left and left[1], right and right[1], left and left[0], right and right[0])  # pyright: ignore
        )

    def leave(port: int, entry: list[Any]) -> None:
        windows[port].remove(entry)
        if not entry[1]:
            tell(*((entry[0], None) if port == 0 else (None, entry[0])))

    for port, row in arrivals:
        kind, size = policies[port]
        own = [each for each in windows[port] if each[0][parts[port]] == row[parts[port]]]
        new = [row, False, len(windows[port])]
        windows[port].append(new)
        for candidate in windows[1 - port]:
            one, other = (row, candidate[0]) if port == 0 else (candidate[0], row)
            if not equal or (one[0] == other[0] and one[0] is not None):
                new[1] = candidate[1] = True
                tell(one, other)
        while own and (len(own) >= size if kind == "count" else row[2] - own[0][0][2] > size):
            leave(port, own.pop(0))
        if (kind, size) == ("count", 0):
            leave(port, new)
    for port in (0, 1):
        for entry in list(windows[port]):
            leave(port, entry)
    return joined


def test_a_missing_side_has_defaults_or_given_values():
    joined = bench("sliding, count(1)", algorithm="outer", absent="defaults", defaultTupleRHS={"m": 7, "k": "'none'"})
    assert joined.send([("a", 1, 0), ("b", 2, 0)]).end().rows() == [(1, 7, "a", "none"), (2, 7, "b", "none")]
    joined = bench("sliding, count(1)", algorithm="outer", absent="defaults")
    assert joined.send([("a", 1, 0)], 1).end().rows() == [(0, 1, "", "a")]


def test_unmatched_tuples_go_alone_to_ports_of_their_own():
    given: dict[str, Any] = {
        "window": "sliding, count(1)",
        "match": "lhs_k = rhs_k",
        "output": {"a": "lhs_k", "b": "rhs_k"},
    }
    joined = Bench(Join, [LEFT, RIGHT], [OUT, LEFT, RIGHT], algorithm="outer", **given)
    joined.send([("a", 1, 0)]).send([("a", 5, 0), ("b", 6, 0)], 1).send([("c", 2, 0), ("d", 3, 0)]).end()
    assert joined.rows() == [(1, 5, "a", "a")]
    assert joined.rows(1) == [("c", 2, 0), ("d", 3, 0)]
    assert joined.rows(2) == [("b", 6, 0)]
    right = Bench(Join, [LEFT, RIGHT], [OUT, RIGHT], algorithm="rightOuter", **given)
    assert right.send([("b", 6, 0)], 1).end().rows(1) == [("b", 6, 0)]
    with pytest.raises(ValueError, match="algorithm: leftOuter has 2 output ports or one, not 3"):
        Bench(Join, [LEFT, RIGHT], [OUT, LEFT, RIGHT], algorithm="leftOuter", **given)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_window_marker_follows_every_tuple_that_gave_something(cut: int):
    joined = bench("sliding, count(9)", windowMarkers=True, match="lhs_k = rhs_k")
    joined.send([("a", 1, 0), ("a", 2, 0)])
    rows = [("a", 5, 0), ("b", 6, 0), ("a", 7, 0)]
    for part in division(rows, [cut]):
        joined.send(part, 1).restart()
    pairs: list[Any] = [(n, m, "a", "a") for m in (5, 7) for n in (1, 2)]
    assert joined.items() == [*pairs[:2], Punctuation.WINDOW, *pairs[2:], Punctuation.WINDOW]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_an_evicted_tuple_without_a_match_comes_after_the_pairs_of_the_tuple_that_evicts_it(cut: int):
    joined = bench("sliding, count(1)", algorithm="leftOuter", windowMarkers=True, match="lhs_k = rhs_k")
    joined.send([("b", 5, 0)], 1)
    for part in division([("a", 1, 0), ("b", 2, 0), ("c", 3, 0)], [cut]):
        joined.send(part)
    pair, alone = (2, 5, "b", "b"), (1, None, "a", None)
    assert joined.items() == [pair, alone, Punctuation.WINDOW]


def test_window_markers_follow_what_goes_to_the_first_port():
    joined = Bench(
        Join, [LEFT, RIGHT], [OUT, LEFT], algorithm="leftOuter", window="sliding, count(1)", windowMarkers=True,
        match="lhs_k = rhs_k", output={"a": "lhs_k", "b": "rhs_k"},
    )  # fmt: skip
    joined.send([("b", 5, 0)], 1).send([("a", 1, 0), ("b", 2, 0), ("c", 3, 0), ("d", 3, 0)])
    assert joined.items() == [(2, 5, "b", "b"), Punctuation.WINDOW]
    assert joined.items(1) == [("a", 1, 0), ("c", 3, 0)]


def test_tuples_without_a_match_may_be_dropped_at_the_end():
    assert bench("sliding, count(1)", algorithm="outer", atEnd="drop").send([("a", 1, 0)]).end().rows() == []


def test_without_keys_pairs_may_be_laid_out_in_parts(monkeypatch: pytest.MonkeyPatch):
    left, right = [("a", i, 0) for i in range(9)], [("b", i, 0) for i in range(7)]
    whole = bench("sliding, count(5)").send(left).send(right, 1).rows()
    monkeypatch.setattr(join, "PAIRS_AT_ONCE", 11)
    assert bench("sliding, count(5)").send(left).send(right, 1).rows() == whole


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"window": "tumbling, count(3)"}, "Join needs sliding windows"),
        (
            {"window": "sliding, count(3), partitioned"},
            "partitionByLHS and a window that is 'partitioned' require each other",
        ),
        ({"partitionByRHS": ["k"]}, "partitionByRHS and a window that is 'partitioned' require each other"),
        ({"defaultTupleLHS": {"m": 1}}, "defaultTupleLHS: the stream has no attribute m"),
        ({"defaultTupleLHS": {"n": "m"}}, "defaultTupleLHS.n: .* uses the attribute m"),
        ({"window": "sliding, count(3), count(1)"}, "Join needs sliding windows without a trigger"),
        (
            {"window": "sliding, count(3), partitioned, tupleCount(9)"},
            "partitionByLHS and a window that is 'partitioned'",
        ),
        ({"window": ["sliding, count(3)"]}, "a window for each of the two streams"),
        ({"window": "sliding, delta(n, 3)"}, "window: the input stream has no attribute n"),
        ({"equalityLHS": ["k"]}, "equalityLHS and equalityRHS"),
        ({"equalityLHS": ["kk"], "equalityRHS": ["k"]}, "equalityLHS: the stream has no attribute kk.*k"),
        ({"equalityLHS": ["k"], "equalityRHS": ["m"]}, "equalityLHS: k is string, but m of the other stream is bigint"),
        ({"match": "k = 'a'"}, "match: .* uses the attribute k.*_k"),
        ({"match": "n + m"}, "match: .* a condition is expected"),
        ({"output": {}}, "output: a has no value"),
        ({"algorithm": "left"}, "leftOuter"),
    ],
)
def test_wrong_parameters_of_join_are_refused(parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench(**parameters)


@pytest.mark.parametrize("limit", [5, 100])
def test_a_join_runs_in_an_application(tmp_path: Path, limit: int):
    """With windows that hold everything the order of arrival does not matter."""
    file = write_rows(tmp_path / "rows.parquet", 20)
    parameters = {
        "window": "sliding, count(1000)",
        "equalityLHS": ["n"],
        "equalityRHS": ["n"],
        "match": "lhs_k < rhs_k",
        "output": {"k": "lhs_k", "number": "lhs_n", "total": "rhs_n"},
    }
    graph = [
        source("Rows", file),
        node("Others", "Filter", "Rows", parameters={"filter": "n > 3"}),
        node("Pairs", "Join", "Rows", "Others", schema="Total", parameters=parameters),
        sink("Out", "Pairs"),
    ]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph), limit)
    local.run()
    expected = [(a, n, m) for a, n in rows(20) for b, m in rows(20) if n == m > 3 and a < b]
    assert published(local.published("Out")) == sorted(expected)
