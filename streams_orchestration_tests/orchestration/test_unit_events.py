"""Dagster shows units of recovery: state, members, sequence, last cut and its age, resets and their cause."""

from __future__ import annotations

import dagster as dg

from streams_orchestration.orchestration.metadata import Metadata
from streams_orchestration.orchestration.unit_events import (
    LISTED_RECOVERIES,
    LONGEST_CAUSE,
    PLOTTED_REGIONS,
    unit_metadata,
)
from streams_orchestration.runtime.catalog.unit_columns import ResetDurations
from streams_orchestration_tests.orchestration.statuses import NOW, running
from streams_orchestration_tests.runtime.readings import changed, unit_event

UNIT = running().units[0]
KILLED = (
    unit_event(NOW - 60, "unhealthy", 1, 7, 0, 2.0, "host 0 is gone"),
    unit_event(NOW - 59, "taken up", 1, 7, 0),
    unit_event(NOW - 51, "reset began", 2, 7, 1, cause="host 0 is gone"),
    unit_event(NOW - 48, "reset done", 2, 7, 1, 3.0, "host 0 is gone"),
    unit_event(NOW - 47.5, "first commit", 2, 7, 1),
)
RESET = changed(
    UNIT,
    reset_count=1,
    attempts=1,
    cause="host 0 is gone",
    events=KILLED,
    resets=ResetDurations(7, NOW - 48, (2.0, 3.0)),
)


def rows(metadata: Metadata, name: str) -> list[dict[str, object]]:
    table = metadata[name]
    assert isinstance(table, dg.TableMetadataValue)
    assert all([*record.data] == [column.name for column in table.schema.columns] for record in table.records)
    return [dict(record.data) for record in table.records]


def test_a_unit_says_where_it_stands():
    unit = changed(UNIT, since=NOW - 20, completed_at=NOW - 3, drains=ResetDurations(3, NOW - 3, (0.5, 0.25)))
    metadata = unit_metadata(running(units=(unit,)), NOW)
    (standing,) = rows(metadata, "streams/units")
    assert standing == {
        "unit": "region-0",
        "state": "PROCESSING since 07:59:40",
        "epoch": 3,
        "last cut (UTC)": "07:59:57, 3.0 s old",
        "drain (s)": "0.25, mean 0.38",
        "PEs": "0, 1",
        "operators": "Numbers, Results",
    }
    assert metadata.keys() & {"streams/resets", "streams/recoveries"} == set()


def test_a_unit_without_a_cut_has_none():
    (standing,) = rows(unit_metadata(running(units=(changed(UNIT, completed_at=None),)), NOW), "streams/units")
    assert (standing["last cut (UTC)"], standing["drain (s)"]) == ("", "")


def test_metadata_of_a_reset_unit_have_the_cause_count_and_duration():
    metadata = unit_metadata(running(units=(RESET,)), NOW)
    (resets,) = rows(metadata, "streams/resets")
    assert (resets["resets"], resets["attempts"], resets["last (UTC)"]) == (1, "1 of 5", "07:59:12, to epoch 7")
    assert (resets["took (s)"], resets["cause"]) == ("3.00, mean 2.50", "host 0 is gone")
    (recovery,) = rows(metadata, "streams/recoveries")
    assert recovery["took (s)"] == 14.5
    assert recovery["of that (s)"] == "detect 2.0, decide 1.0, hosts 8.0, restart 3.0, first commit 0.5"
    assert (recovery["outcome"], recovery["to epoch"], recovery["cause"]) == ("works again", 7, "host 0 is gone")


def test_a_long_cause_does_not_crowd_the_page():
    metadata = unit_metadata(running(units=(changed(RESET, cause="it is gone " * 100),)), NOW)
    (resets,) = rows(metadata, "streams/resets")
    assert len(str(resets["cause"])) <= LONGEST_CAUSE


def test_recoveries_come_newest_first_and_only_the_last_ones():
    many = tuple(unit_event(NOW + number, "reset began", number, 7, 1) for number in range(2 * LISTED_RECOVERIES))
    listed = rows(unit_metadata(running(units=(changed(RESET, events=many),)), NOW), "streams/recoveries")
    assert len(listed) == LISTED_RECOVERIES
    assert [row["failed (UTC)"] for row in listed] == sorted((str(row["failed (UTC)"]) for row in listed), reverse=True)


def test_a_lost_cut_is_said_before_the_cause_of_the_last_reset():
    lost = unit_event(NOW, "cut lost", 2, 7, 0, cause="the state s1 is gone")
    (resets,) = rows(unit_metadata(running(units=(changed(RESET, events=(*KILLED, lost)),)), NOW), "streams/resets")
    assert resets["cause"] == "the state s1 is gone"


def test_numbers_of_a_region_can_be_drawn_over_time():
    drained = changed(RESET, drains=ResetDurations(3, NOW, (0.5,)))
    metadata = unit_metadata(running(units=(drained,)), NOW)
    drawn = {key: value for key, value in metadata.items() if key.startswith("streams/region-0/")}
    assert drawn == {
        "streams/region-0/epoch": 3,
        "streams/region-0/resets": 1,
        "streams/region-0/drain_seconds": 0.5,
        "streams/region-0/reset_seconds": 3.0,
    }


def test_many_regions_do_not_crowd_the_page():
    units = tuple(changed(UNIT, name=f"region-{number}", region=number) for number in range(20))
    metadata = unit_metadata(running(units=units), NOW)
    assert len(rows(metadata, "streams/units")) == 20
    assert len({key.split("/")[1] for key in metadata if key.startswith("streams/region-")}) == PLOTTED_REGIONS


def test_another_day_is_named():
    unit = changed(UNIT, completed_at=NOW - 86400)
    (standing,) = rows(unit_metadata(running(units=(unit,)), NOW), "streams/units")
    assert standing["last cut (UTC)"] == "2027-01-14 08:00:00, 86400.0 s old"
