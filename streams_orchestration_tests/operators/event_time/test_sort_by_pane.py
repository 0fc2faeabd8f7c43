"""Sort with panes of event time against an account that goes tuple by tuple (EV40, EV62)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.standard.sorting.sort_parameters import SortParameters
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.watermarks import END, Idle, Watermark
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.naive_panes import NaiveIntervals, NaivePanes, NaiveSessions
from streams_orchestration_tests.operators.harness import division

ROW = "at bigint, k string, v bigint"
ROLE = EventTimeRole("at", 1000, "heldInput", 0, 1, (0,), (0,))
MARKER = Punctuation.WINDOW
ITEMS = st.lists(
    st.one_of(st.tuples(st.integers(-25, 25), st.sampled_from("ab"), st.integers(0, 3)), st.integers(1, 9)),
    max_size=24,
)
CUTS = st.lists(st.integers(0, 24), max_size=5)
INTERVAL = "timeInterval, intervalDuration(0.010)"


def sort(window: str, outputs: int = 2, role: EventTimeRole | None = ROLE, **parameters: Any) -> OperatorHarness:
    """Return a Sort by v with a port for late tuples."""
    parameters = {"window": window, "sortBy": ["v"]} | parameters
    return OperatorHarness(Sort, [ROW], [ROW] * outputs, parameters=parameters, event_time=role)


def stream_of(items: Sequence[Any]) -> list[Any]:
    """Return tuples, and watermarks that rise by the numbers among the items."""
    watermark, stream = -30, list[Any]()
    for item in items:
        watermark += 0 if isinstance(item, tuple) else item
        stream.append(item if isinstance(item, tuple) else Watermark(watermark))
    return stream


def naive(window: str, *, partitioned: bool) -> NaivePanes:
    """Return the account of a window, whose firings show their tuples in order."""
    common: dict[str, Any] = {
        "result": lambda rows: (sorted(rows, key=lambda row: row[2]),),
        "partition_of": (lambda row: row[1]) if partitioned else lambda _: None,
        "group_of": lambda _: None,
    }
    match window:
        case "sessions":
            return NaiveSessions(10, gap=6, **common)
        case "overlapping":
            return NaiveIntervals(5, duration=10, period=4, **common)
        case "early":
            return NaiveIntervals(5, duration=10, period=4, early=3, **common)
        case "by pane":
            return NaiveIntervals(3, duration=10, period=10, by_pane=True, **common)
        case _:
            return NaiveIntervals(5, duration=4, period=10, offset=3, **common)


CLAUSES = {
    "sessions": "session, gap(0.006), discardAge(0.010)",
    "overlapping": f"{INTERVAL}, creationPeriod(0.004), discardAge(0.005)",
    "early": f"{INTERVAL}, creationPeriod(0.004), discardAge(0.005), early(0.003)",
    "by pane": f"{INTERVAL}, discardAge(0.003), discardBy(pane)",
    "apart": "timeInterval, intervalDuration(0.004), creationPeriod(0.010), intervalOffset(0.003), discardAge(0.005)",
}


@given(st.sampled_from(sorted(CLAUSES)), st.booleans(), ITEMS, CUTS, st.booleans())
@examples(200)
def test_any_division_with_restarts_gives_what_the_account_gives(
    window: str, partitioned: bool, items: list[Any], cuts: list[int], restarts: bool
):
    account, wanted, stream = naive(window, partitioned=partitioned), list[Any](), stream_of(items)
    for item in [*stream, Watermark(END)]:
        if isinstance(item, tuple):
            account.tuple(item)
        else:
            for firing in account.advance(item.value):
                wanted += [*firing[-1][-1], MARKER]
    parameters: dict[str, Any] = {"partitionBy": ["k"]} if partitioned else {}
    harness = sort(CLAUSES[window] + (", partitioned" if partitioned else ""), **parameters)
    for part in division(stream, cuts):
        harness.send(part)
        if restarts:
            harness.restart()
    harness.end()
    assert [item for item in harness.items() if isinstance(item, tuple) or item is MARKER] == wanted
    assert harness.rows(1) == account.late
    assert len(harness.operator.checkpoint()["waiting"]) == 0


@given(st.sampled_from(["sessions", "overlapping", "early", "apart"]), ITEMS)
@examples(60)
def test_no_tuple_is_late_because_it_waited_for_its_first_panes_to_be_complete(window: str, items: list[Any]):
    entered, reached = list[Any](), -(10**6)
    for item in stream_of(items):
        reached = item.value if isinstance(item, Watermark) else reached
        entered += [item] if isinstance(item, Watermark) or item[0] >= reached else []
    last = -(10**6)
    for item in sort(CLAUSES[window]).send(entered).end().items():
        assert not isinstance(item, tuple) or item[0] >= last
        last = item.value if isinstance(item, Watermark) else last


def test_the_watermark_waits_for_tuples_in_panes_that_are_not_complete():
    harness = sort(INTERVAL).send([(3, "a", 2), (4, "a", 1), Watermark(8), Watermark(12), Idle()])
    assert harness.items() == [Watermark(3), (4, "a", 1), (3, "a", 2), MARKER, Watermark(12), Idle()]


@dataclass
class Channels:
    """A route that sends tuples to one of two channels by their key."""

    width: int = 2

    def attributes(self, port: int = 0) -> tuple[str, ...]:
        return ("k",)

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        return np.array([ord(key) % self.width for key in tuples.column("k").to_pylist()], np.int64)


@given(st.sampled_from(["sessions", "overlapping", "by pane"]), ITEMS, st.integers(0, 24))
@examples(40)
def test_channels_divided_anew_sort_what_one_channel_sorts(window: str, items: list[Any], at: int):
    clause, stream = f"{CLAUSES[window]}, partitioned", [*stream_of(items), Watermark(END)]
    one, old = (sort(clause, partitionBy=["k"]) for _ in range(2))
    old.send(stream[:at])
    new = [sort(clause, partitionBy=["k"]) for _ in range(2)]
    for harness, state in zip(new, old.operator.rescale([old.operator.checkpoint()], Channels()), strict=True):
        harness.operator.restore(state)
    for item in stream[at:]:
        for channel, harness in enumerate(new):
            if isinstance(item, Watermark) or ord(item[1]) % 2 == channel:
                harness.send([item])
    rows = [row for harness in (old, *new) for row in harness.rows()]
    assert sorted(rows) == sorted(one.send(stream).rows())


def test_partitions_divide_the_state_and_without_them_it_may_be_anywhere():
    keyed, whole = sort(f"{INTERVAL}, partitioned", partitionBy=["k"]), sort(INTERVAL)
    assert Sort.sharding(keyed.context, keyed.parameters) == Sharding(keys=(("k",),))
    assert Sort.sharding(whole.context, whole.parameters) == Sharding(anyhow=True)


@pytest.mark.parametrize(
    ("after", "kept"),
    [
        ({"window": f"{INTERVAL}, discardAge(5.0)"}, True),
        ({"sortBy": ["k"]}, True),
        ({"window": "timeInterval, intervalDuration(0.020)"}, False),
        ({"window": "eventTime"}, False),
        ({"window": f"{INTERVAL}, partitioned", "partitionBy": ["k"]}, False),
    ],
)
def test_panes_stay_valid_under_another_age_or_order(after: dict[str, Any], kept: bool):
    before, changed = sort(INTERVAL).parameters, {"window": INTERVAL, "sortBy": ["v"]} | after
    assert Sort.keeps_state(before, SortParameters.model_validate(changed)) == kept


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sortBy": []}, "the parameter sortBy is missing"),
        ({"partitionBy": ["k"]}, "partitioned and partitionBy require each other"),
        ({"window": f"{INTERVAL}, partitioned"}, "partitioned and partitionBy require each other"),
        ({"timeAttribute": "at"}, "timeAttribute cannot be combined with a window of event time"),
        ({"by": "clock"}, "by: clock cannot be combined with a window of event time"),
        ({"atEnd": "drop"}, "atEnd: drop cannot be combined with a window of event time"),
        ({"window": "timeInterval, intervalDuration(0.0005)"}, "0.0005 s is not a whole number of ticks"),
    ],
)
def test_wrong_parameters_of_sort_by_pane_are_refused(parameters: dict[str, Any], message: str):
    others: dict[str, Any] = {name: value for name, value in parameters.items() if name != "window"}
    with pytest.raises(ValueError, match=message):
        sort(parameters.get("window", INTERVAL), **others)
