"""Window clauses of event time: what they mean in ticks, and what is wrong with the others (EV14)."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.operators.event_time.clause import (
    CalendarWindow,
    EventTimeOrder,
    IntervalWindow,
    SessionWindow,
    WindowClauseError,
    misordered,
    parse_event_time_window,
)
from streams_orchestration.operators.windows.clause import parse_window

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "event_time_clauses.yaml").read_text())


def test_every_part_of_a_clause_is_read() -> None:
    text = (
        "timeInterval, intervalDuration(10.0), creationPeriod(0.1), discardAge(15), intervalOffset(2.5), "
        "discardBy(pane), early(2), partitioned"
    )
    tenth = Fraction(1, 10)
    assert parse_event_time_window(text) == IntervalWindow(
        Fraction(10), tenth, Fraction(5, 2), Fraction(15), "pane", Fraction(2), partitioned=True
    )
    assert parse_event_time_window("session, gap(0.1)") == SessionWindow(tenth)
    assert parse_event_time_window("calendar, zone(UTC), unit(month)") == CalendarWindow("month", "UTC")
    assert parse_event_time_window("eventTime") == EventTimeOrder()


@pytest.mark.parametrize("case", CASES["wrong"], ids=lambda case: case["clause"])
def test_a_wrong_clause_is_refused_with_its_code(case: dict[str, Any]) -> None:
    with pytest.raises(WindowClauseError) as refusal:
        parse_event_time_window(case["clause"])
    assert refusal.value.code == case["code"]
    assert case["says"] in str(refusal.value)


@pytest.mark.parametrize("clause", ["tumbling, count(5)", "sliding, time(5.0), count(1), partitioned", "jumping", ""])
def test_clauses_of_other_kinds_are_left_to_others(clause: str) -> None:
    assert parse_event_time_window(clause) is None


@pytest.mark.parametrize("case", CASES["lengths"], ids=lambda case: case["clause"])
def test_lengths_are_whole_ticks(case: dict[str, Any]) -> None:
    window = parse_event_time_window(case["clause"])
    assert window is not None
    ticks = window.in_ticks(1000)
    assert (None if ticks is None else list(ticks)) == case["ticks"]


@pytest.mark.parametrize("case", CASES["not_whole"], ids=lambda case: case["clause"])
def test_a_length_between_ticks_is_refused(case: dict[str, Any]) -> None:
    window = parse_event_time_window(case["clause"])
    assert window is not None
    with pytest.raises(WindowClauseError) as refusal:
        window.in_ticks(1000)
    assert refusal.value.code == case["code"]
    assert case["says"] in str(refusal.value)


@pytest.mark.parametrize("clause", CASES["in_order"])
def test_parts_may_stand_in_any_order_behind_the_kind(clause: str) -> None:
    assert misordered(clause) is None


@pytest.mark.parametrize("clause", CASES["out_of_order"])
def test_a_kind_that_is_not_first_is_a_warning_only(clause: str) -> None:
    assert misordered(clause)
    assert parse_event_time_window(clause) is not None


def test_other_windows_name_those_of_event_time() -> None:
    with pytest.raises(ValueError, match="is a window of event time, which this operator does not support"):
        parse_window("session, gap(30.0)")
    with pytest.raises(ValueError, match="the nearest is timeInterval"):
        parse_window("timeinterval, intervalDuration(1)")
    with pytest.raises(WindowClauseError, match="discardAge is for"):
        parse_window("tumbling, count(5), discardAge(1.0)")
