"""Epochs as data versions, and what runs after so many new ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.orchestration import epochs_sensor, epochs_since
from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.epochs import VERSION_TAG, Epoch
from streams_orchestration.orchestration.progress import part_events, unless_repeated
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration_tests.orchestration.statuses import failed, measured, running
from streams_orchestration_tests.runtime.readings import changed

SINK = "demo/sinks/Results"


def at(epoch: int, rows: int, **changes: Any) -> ApplicationStatus:
    """`demo` at an epoch, with so many rows in its sink and past its PEs."""
    status = running()
    unit, sink = changed(status.units[0], completed_epoch=epoch), replace(status.sinks[0], rows=rows, epoch=epoch)
    pes = tuple(changed(pe, rows_in=rows) for pe in status.pes)
    return replace(status, units=(unit,), pes=pes, sinks=(sink,))


def passed(rows: int, life: str = "life") -> ApplicationMetrics:
    """Return the metrics of `demo` when so many rows have passed its stream."""
    metrics = measured()
    return replace(metrics, life=life, streams=(replace(metrics.streams[0], tuples=rows),))


def report(instance: dg.DagsterInstance, status: ApplicationStatus, metrics: ApplicationMetrics) -> dict[str, str]:
    """Record a status; return the materialized assets with their data versions."""
    parts = part_events(AssetKeys(), status, metrics, status.pes, status.sinks, lambda *_: [])
    events = [unless_repeated(instance, part) for part in parts]
    for event in events:
        instance.report_runless_asset_event(event)
    made = [event for event in events if isinstance(event, dg.AssetMaterialization)]
    return {each.asset_key.to_user_string(): (each.tags or {})[VERSION_TAG] for each in made}


PARTS = ("demo/pes/pe_0", "demo/pes/pe_1", "demo/streams/Numbers", SINK)


def test_assets_of_data_are_materialized_with_each_epoch_as_their_version(instance: dg.DagsterInstance):
    assert report(instance, at(3, 500), passed(500)) == dict.fromkeys(PARTS, "3@life")
    assert report(instance, at(4, 600), passed(600)) == dict.fromkeys(PARTS, "4@life")


def test_a_single_row_is_described_in_the_singular():
    status, metrics = at(3, 1), passed(1)
    sinks = [replace(each, files=1) for each in status.sinks]
    parts = part_events(AssetKeys(), status, metrics, (), sinks, lambda *_: [])
    assert [each.description for each in parts] == ["1 row in 1 file"]


@pytest.mark.parametrize(
    "later",
    [
        (at(3, 500), passed(500)),  # nothing has happened
        (at(9, 500), passed(500)),  # epochs without tuples
        (at(3, 700), passed(700)),  # tuples of an epoch that is not complete
        (failed(at(3, 500), state="UNHEALTHY"), passed(500)),
    ],
)
def test_all_else_is_observed(instance: dg.DagsterInstance, later: tuple[ApplicationStatus, ApplicationMetrics]):
    report(instance, at(3, 500), passed(500))
    assert report(instance, *later) == {}


def test_a_new_life_has_other_versions_also_where_numbers_are_the_same(instance: dg.DagsterInstance):
    report(instance, at(3, 500), passed(500))
    assert report(instance, at(3, 500), passed(500, "second-life")) == dict.fromkeys(PARTS, "3@second-l")


def test_nothing_is_materialized_before_an_epoch_is_complete(instance: dg.DagsterInstance):
    assert report(instance, at(0, 500), passed(500)) == {}


def test_epochs_that_a_redeploy_on_trial_keeps_back_are_not_shown(instance: dg.DagsterInstance):
    status = at(4, 600)
    trial = replace(status, units=(changed(status.units[0], shown_epoch=3),))
    assert report(instance, trial, passed(600))["demo/pes/pe_0"] == "3@life"


@pytest.mark.parametrize(
    ("version", "epoch"),
    [("12@ab", Epoch(12, "ab")), ("0@", Epoch()), (None, None), ("", None), ("fingerprint@ab", None)],
)
def test_a_version_is_read_as_it_is_written(version: str | None, epoch: Epoch | None):
    assert Epoch.parse(version) == epoch
    assert epoch is None or epoch.version == version


def defined(condition: dg.AutomationCondition[Any] | None = None) -> dg.Definitions:
    @dg.asset(deps=[SINK.split("/")], automation_condition=condition)
    def report_of_the_day() -> None: ...

    return dg.Definitions([dg.AssetSpec(SINK.split("/")), report_of_the_day])


def test_the_data_version_of_the_asset_is_the_epoch(instance: dg.DagsterInstance):
    """Dagster keeps the version that a run has read, so it names the epoch up to which data downstream goes."""
    report(instance, at(7, 500), passed(500))
    report(instance, at(7, 600), passed(600))
    run = defined().resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
    (made,) = run.asset_materializations_for_node("report_of_the_day")
    assert (made.tags or {})[f"dagster/input_data_version/{SINK}"] == "7@life"


STEPS = [(at(9, 1), "life", 0), (at(10, 2), "life", 1), (at(19, 3), "life", 0), (at(23, 4), "life", 1),
         (at(33, 4), "life", 0), (at(34, 5), "life", 1), (at(9, 5), "other", 0), (at(12, 6), "other", 1)]  # fmt: skip
"""Status, life of the application, and how many runs follow when ten epochs are waited for."""


@pytest.mark.slow
def test_a_condition_is_true_once_after_ten_new_epochs(instance: dg.DagsterInstance):
    defs, cursor, requested = defined(epochs_since(SINK)), None, []
    for status, life, _ in STEPS:
        report(instance, status, passed(1, life))
        for _ in range(2):
            result = dg.evaluate_automation_conditions(defs, instance, cursor=cursor)
            cursor = result.cursor
            requested.append(result.total_requested)
    assert requested == [number for *_, runs in STEPS for number in (runs, 0)]


def test_a_condition_goes_with_others(instance: dg.DagsterInstance):
    two = epochs_since(SINK.split("/"), 5) & ~dg.AutomationCondition.in_progress()
    defs = defined(two | epochs_since(dg.AssetKey(SINK.split("/")), 100))
    report(instance, at(5, 1), passed(1))
    assert dg.evaluate_automation_conditions(defs, instance).total_requested == 1


def test_a_sensor_requests_a_run_after_ten_new_epochs(instance: dg.DagsterInstance):
    @dg.job
    def nightly() -> None: ...

    sensor = epochs_sensor(SINK, nightly)
    assert (sensor.name, sensor.job.name) == ("epochs_of_demo_sinks_Results", "nightly")
    cursor, counts = None, []
    context = dg.build_sensor_context(instance=instance)
    assert sensor.evaluate_tick(context).skip_message == f"{SINK} shows no epoch yet"
    for status, life, _ in STEPS:
        report(instance, status, passed(1, life))
        tick = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor))
        cursor = tick.cursor or cursor
        counts.append([(each.run_key, each.tags["streams/epoch"]) for each in tick.run_requests or ()])
    assert [len(each) for each in counts] == [runs for *_, runs in STEPS]
    assert counts[1] == [("10@life", "10")]
    report(instance, at(15, 7), passed(1, "other"))
    tick = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, cursor=cursor))
    assert tick.skip_message == f"{SINK} has 3 of 10 new epochs"


def test_no_epochs_are_too_few():
    for wrong in (lambda: epochs_since(SINK, 0), lambda: epochs_sensor(SINK, "nightly", -1)):
        with pytest.raises(ValueError, match="must be 1 or more"):
            wrong()
