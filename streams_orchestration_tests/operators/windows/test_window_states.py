"""States of windows and joins that are stored as changes: a reset to any checkpoint is not noticed."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.states import state as state_module
from streams_orchestration.operators.states import tuple_log
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row

pytestmark = pytest.mark.slow

ROW = "p string, g double, n bigint, t bigint"
OUTPUT = {"number": "Count()", "total": "Sum(n)", "mean": "Average(n * 0.1)", "least": "Min(n)"}
RESULT = "p string, g double, number bigint, total bigint, mean double, least bigint"
ROWS = st.tuples(
    st.sampled_from(["x", "y", "z", None]), st.sampled_from([0.0, -0.0, 1.5, None]),
    st.one_of(st.none(), st.integers(-9, 9)), st.integers(-2, 12),
)  # fmt: skip
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 7)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("reset"), st.integers(0, 30)),
    ),
    max_size=24,
)
SIZES = st.sampled_from(["count(1)", "count(3)", "delta(t, 0)", "delta(t, 3)"])
Arrival = tuple[int, Row]


@pytest.fixture(autouse=True)
def always_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small a state is, and however much has changed, the changes are stored; room is taken back at once."""
    monkeypatch.setattr(state_module, "SMALL", 0)
    monkeypatch.setattr(state_module, "SHARE", 1000)
    monkeypatch.setattr(tuple_log, "FEW", 0)


def undisturbed(bench: Bench, arrivals: list[Arrival]) -> list[Any]:
    for arrival in arrivals:
        send(bench, [arrival])
    return bench.end().items()


def send(bench: Bench, arrivals: list[Arrival]) -> None:
    for port, some in itertools.groupby(arrivals, lambda arrival: arrival[0]):
        bench.send([row for _, row in some], port)


def disturbed(bench: Bench, arrivals: list[Arrival], steps: list[tuple[str, int]]) -> list[Any]:
    """Tuples in batches, a checkpoint after each; new workers, and resets to any of the checkpoints."""
    history = [(bench.checkpoint(), 0, 0)]
    for step, number in [*steps, ("send", len(arrivals))]:
        if step == "reset":
            del history[number % len(history) + 1 :]
            bench.restart(history[-1][0])
            del bench.sent[history[-1][2] :]
            continue
        if step == "restart":
            bench.restart()
        else:
            done = history[-1][1]
            send(bench, arrivals[done : done + number])
            history.append((bench.checkpoint(), min(done + number, len(arrivals)), len(bench.sent)))
    return bench.end().items()


@given(st.lists(ROWS, max_size=20), STEPS, SIZES, st.booleans())
@examples(150)
def test_tumbling_windows_survive_a_reset_to_any_checkpoint(
    rows: list[Row], steps: list[tuple[str, int]], size: str, partitioned: bool
):
    def bench() -> Bench:
        clause = f"tumbling, {size}" + (", partitioned" if partitioned else "")
        more: dict[str, Any] = {"partitionBy": ["p"]} if partitioned else {}
        groups = ["g"] if partitioned else ["p", "g"]
        given = {"groupBy": groups, "output": OUTPUT, "aggregateIncompleteWindows": True, **more}
        return Bench(Aggregate, [ROW], [RESULT], window=clause, **given)

    arrivals = [(0, row) for row in rows]
    assert disturbed(bench(), arrivals, steps) == undisturbed(bench(), arrivals)


@given(st.lists(ROWS, max_size=20), STEPS, SIZES, SIZES, st.booleans())
@examples(200)
def test_sliding_windows_survive_a_reset_to_any_checkpoint(
    rows: list[Row], steps: list[tuple[str, int]], eviction: str, trigger: str, partitioned: bool
):
    def bench() -> Bench:
        clause = f"sliding, {eviction}, {trigger}" + (", partitioned" if partitioned else "")
        more: dict[str, Any] = {"partitionBy": ["p"]} if partitioned else {}
        return Bench(Aggregate, [ROW], [RESULT], window=clause, groupBy=["p", "g"], output=OUTPUT, **more)

    arrivals = [(0, row) for row in rows]
    assert disturbed(bench(), arrivals, steps) == undisturbed(bench(), arrivals)


@given(
    st.lists(st.tuples(st.integers(0, 1), ROWS), max_size=20), STEPS, SIZES, SIZES,
    st.sampled_from(["inner", "leftOuter", "outer"]), st.sampled_from([[], ["p"], ["p", "g"]]),
)  # fmt: skip
@examples(200)
def test_joins_survive_a_reset_to_any_checkpoint(
    arrivals: list[Arrival], steps: list[Any], left: str, right: str, algorithm: str, keys: list[str]
):
    def bench() -> Bench:
        parameters = {"window": [f"sliding, {left}", f"sliding, {right}"], "algorithm": algorithm}
        parameters |= {"equalityLHS": keys, "equalityRHS": keys, "output": {"a": "lhs_n", "b": "rhs_n", "c": "lhs_p"}}
        return Bench(Join, [ROW, ROW], ["a bigint, b bigint, c string"], **parameters)

    assert disturbed(bench(), arrivals, steps) == undisturbed(bench(), arrivals)


@pytest.mark.parametrize(
    "window", ["tumbling, punct()", "tumbling, count(9), partitioned", "sliding, count(9), count(9), partitioned"]
)
def test_a_few_changes_of_many_keys_are_a_small_file(window: str):
    partition = {"partitionBy": ["p"]} if "partitioned" in window else {}
    given = {"window": window, "output": {"number": "Count()"}, "groupBy": ["p"], **partition}
    bench = Bench(Aggregate, ["p bigint"], ["p bigint, number bigint"], **given)
    bench.send([(n,) for n in range(20_000)])
    (whole,) = bench.checkpoint()
    changed = bench.send([(n,) for n in range(7)]).checkpoint()
    assert changed[0] == whole
    assert len(changed[1][1]) < len(whole[1]) / 20
    assert bench.mark(Punctuation.WINDOW).restart(changed).checkpoint() == changed


def test_a_join_stores_what_came_and_went():
    parameters = {"window": "sliding, count(20000)", "equalityLHS": ["p"], "equalityRHS": ["p"], "algorithm": "outer"}
    bench = Bench(Join, ["p bigint", "p bigint"], ["a bigint"], output={"a": "lhs_p"}, **parameters)
    bench.send([(n,) for n in range(20_000)]).send([(n,) for n in range(20_000)], 1)
    (whole,) = bench.checkpoint()
    changed = bench.send([(n,) for n in range(7)]).checkpoint()
    assert changed[0] == whole
    assert len(changed[1][1]) < len(whole[1]) / 20


def test_an_unchanged_state_is_not_stored_again():
    bench = Bench(Aggregate, ["p bigint"], ["number bigint"], window="tumbling, punct()", output={"number": "Count()"})
    stored = bench.send([(1,)]).checkpoint()
    assert bench.send([]).checkpoint() == stored
    assert bench.restart().checkpoint() == stored
    assert bench.send([(1,)]).checkpoint() != stored
