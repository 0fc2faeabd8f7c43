"""A tick of the sensor begins resets, requests their runs, records progress, or says why it does nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.orchestration import sensors
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.cut_checks import RESTORABLE
from streams_orchestration.orchestration.definitions import build_definitions
from streams_orchestration.orchestration.reset_runs import is_recorded
from streams_orchestration.orchestration.sensors import SENSOR, WATCH_SECONDS
from streams_orchestration.orchestration.watching import Cursor
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, CatalogVersionError, HostLaunchError
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime, evaluated
from streams_orchestration_tests.orchestration.statuses import NOW, failed, running
from streams_orchestration_tests.runtime.readings import changed, machine_status, unit_event

pytestmark = pytest.mark.slow


class Daemon:
    """Evaluates the sensor as Dagster's daemon does, one tick after another, and creates the runs it requests."""

    def __init__(self, defs: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.defs, self.instance = defs, instance
        self.cursor: str | None = None

    def tick(self) -> Any:
        tick = evaluated(self.defs, SENSOR, self.instance, self.cursor)
        self.cursor = tick.cursor
        return tick

    def run(self, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
        job = self.defs.resolve_job_def(request.job_name or "")
        return job.execute_in_process(request.run_config, instance=self.instance, tags=request.tags)

    def queue(self, request: dg.RunRequest) -> str:
        job = self.defs.resolve_job_def(request.job_name or "")
        run = self.instance.create_run_for_job(
            job, run_config=request.run_config, tags=request.tags, status=dg.DagsterRunStatus.STARTING
        )
        return run.run_id


@pytest.fixture
def daemon(spec: Path, home: Home) -> Iterator[Daemon]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Daemon(build_definitions(spec.parent, home), instance)


def test_one_sensor_watches_all_applications_and_is_on(spec: Path, home: Home):
    (spec.parent / "other.yaml").write_text(DEMO.replace("application: demo", "application: other"))
    defs = build_definitions(spec.parent, home)
    repository = defs.get_repository_def()
    on = [each for each in repository.sensor_defs if each.default_status is dg.DefaultSensorStatus.RUNNING]
    assert [each.name for each in on] == [SENSOR, "specs"]
    assert {job.name for job in on[0].jobs} == {"demo__reset", "other__reset", "reset"}
    schedule = defs.resolve_schedule_def("demo__redeploy")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert schedule.job_name == "demo__redeploy"


def test_lists_of_jobs_schedules_and_sensors_sort_by_application(spec: Path, home: Home):
    (spec.parent / "demo_2.yaml").write_text(DEMO.replace("application: demo", "application: demo_2"))
    repository = build_definitions(spec.parent, home).get_repository_def()
    jobs = [job.name for job in repository.get_all_jobs() if not job.name.startswith("__")]
    for listed in (jobs, repository.schedule_defs, repository.sensor_defs):
        names = sorted(each if isinstance(each, str) else each.name for each in listed)
        owners = [name.partition("__")[0] for name in names if "__" in name]
        assert owners == sorted(owners, key=["demo_2", "demo"].index)
        assert set(owners) == {"demo", "demo_2"}


def test_an_application_by_itself_has_a_sensor_of_its_own(spec: Path, home: Home):
    defs = build_application_definitions(spec, home)
    assert [job.name for job in defs.resolve_sensor_def("demo__failed_units").jobs] == ["demo__reset"]


def test_the_sensor_skips_an_application_that_is_not_deployed(daemon: Daemon, runtime: Runtime):
    assert daemon.tick().skip_message == "nothing is deployed"
    assert runtime.calls == [("watch_applications", WATCH_SECONDS)]


def test_a_failure_is_reset_in_the_tick_and_one_run_sees_to_the_rest(daemon: Daemon, runtime: Runtime):
    runtime.status = failed(running())
    (request,) = daemon.tick().run_requests
    assert ("reset_unit", "demo", "region-0", 1, False) in runtime.calls
    assert request.run_key == "demo:region-0:first:1:1"
    assert (request.job_name, request.tags["streams/region"]) == ("demo__reset", "demo/region-0")
    assert not daemon.tick().run_requests
    runtime.status = running(units=(changed(running().units[0], generation=2),))
    runtime.generation = 2
    result = daemon.run(request)
    assert [event.step_key for event in result.all_events if event.is_step_success] == ["claim", "await_unit", "record"]
    assert is_recorded(daemon.instance, {"streams/failure": request.tags["streams/failure"]})


def test_a_deployed_application_is_reset_without_its_spec(tmp_path: Path, home: Home, runtime: Runtime):
    with dg.DagsterInstance.ephemeral() as instance:
        daemon = Daemon(build_definitions(tmp_path / "none", home), instance)
        runtime.status = failed(running())
        (request,) = daemon.tick().run_requests
        assert ("reset_unit", "demo", "region-0", 1, False) in runtime.calls
        assert request.job_name == "reset"
        assert not daemon.tick().run_requests
        runtime.status = running(units=(changed(running().units[0], generation=2),))
        runtime.generation = 2
        result = daemon.run(request)
        done = [event.step_key for event in result.all_events if event.is_step_success]
        assert done == ["claim", "await_unit", "record"]
        with pytest.raises(dg.Failure, match="the run names no application: launch it with the tag"):
            daemon.defs.resolve_job_def("reset").execute_in_process(instance=instance)


def test_no_run_is_added_while_one_is_queued_and_the_next_failure_has_its_own_then(daemon: Daemon, runtime: Runtime):
    runtime.status = failed(running())
    (first,) = daemon.tick().run_requests
    queued = daemon.queue(first)
    runtime.status = failed(running(), generation=2, attempts=1)
    tick = daemon.tick()
    assert ("reset_unit", "demo", "region-0", 2, False) in runtime.calls, "its reset begins all the same"
    assert not tick.run_requests
    assert f"is being reset by run {queued}" in tick.skip_message
    daemon.instance.delete_run(queued)
    (second,) = daemon.tick().run_requests
    assert second.run_config["ops"]["claim"]["config"]["generation"] == 2
    assert not daemon.tick().run_requests


def test_a_failure_during_a_tick_is_noticed_in_the_same_tick(
    daemon: Daemon, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    observed = runtime.advance_and_read_status

    def fails_then(catalog: Catalog, application: str) -> ApplicationStatus:
        status = observed(catalog, application)
        runtime.status = failed(running())
        return status

    runtime.status = running()
    monkeypatch.setattr(runtime, "advance_and_read_status", fails_then)
    assert daemon.tick().run_requests


def test_a_failure_late_in_a_tick_is_reset_at_once_and_recorded_by_the_next_tick(
    daemon: Daemon, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    runtime.status = running()
    daemon.tick()
    runtime.status = failed(running(), reset_count=1)
    with monkeypatch.context() as patch:
        patch.setattr(sensors, "RECORD_SHARE", 0.0)
        late = daemon.tick()
    assert runtime.called("reset_unit")
    assert (late.run_requests, late.asset_events) == ([], [])
    assert late.skip_message == "demo: the reset of region-0 has begun; the next tick requests its run"
    runtime.calls.clear()
    after = daemon.tick()
    assert [request.job_name for request in after.run_requests] == ["demo__reset"]
    assert after.asset_events
    assert not runtime.called("reset_unit")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (running(), "nothing has failed"),
        (running(state="STOPPED"), "demo is STOPPED"),
        (running(units=(changed(running().units[0], state="RESETTING"),)), "region-0 is RESETTING"),
        (failed(running(), attempts=5), "5 of 5 resets in a row failed. Fix the cause"),
    ],
)
def test_a_tick_without_a_reset_says_why(daemon: Daemon, runtime: Runtime, status: ApplicationStatus, message: str):
    runtime.status = status
    tick = daemon.tick()
    assert message in (tick.skip_message or "")
    assert tick.asset_events


def test_lineage_is_told_once_that_a_unit_is_given_up(daemon: Daemon, runtime: Runtime):
    runtime.status = failed(running(), attempts=5)
    daemon.tick()
    daemon.tick()
    assert runtime.names.count("report_lineage_failure") == 1


def test_an_application_that_cannot_be_looked_after_keeps_no_other_one_from_it(
    daemon: Daemon, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    def unreadable(_catalog: Catalog, application: str) -> ApplicationStatus:
        raise KeyError(application)

    runtime.status = failed(running())
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "advance_and_read_status", unreadable)
        assert "demo cannot be checked: KeyError('demo')" in daemon.tick().skip_message
    assert daemon.tick().run_requests


def test_a_failed_unit_is_reset_although_its_application_cannot_be_recorded(
    daemon: Daemon, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    def damaged(_catalog: Catalog, application: str) -> ApplicationMetrics:
        raise KeyError(application)

    runtime.status = failed(running())
    monkeypatch.setattr(runtime, "read_metrics", damaged)
    tick = daemon.tick()
    assert ("reset_unit", "demo", "region-0", 1, False) in runtime.calls
    assert [request.job_name for request in tick.run_requests] == ["demo__reset"]
    runtime.calls.clear()
    assert not daemon.tick().run_requests
    assert not runtime.called("reset_unit"), "it is known that it was answered"


def test_a_reset_that_it_cannot_begin_is_left_to_the_run(
    daemon: Daemon, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_arguments: object, **_named: object) -> None:
        message = "host 0 could not be started"
        raise HostLaunchError(message)

    runtime.status = failed(running())
    monkeypatch.setattr(runtime, "reset_unit", refuse)
    assert daemon.tick().run_requests


def events(tick: Any, kind: type) -> list[Any]:
    return [event for event in tick.asset_events if isinstance(event, kind)]


def test_pes_streams_and_results_are_recorded_when_they_have_changed(daemon: Daemon, runtime: Runtime):
    runtime.status = running()
    recorded = [e.asset_key.to_user_string() for e in events(daemon.tick(), dg.AssetMaterialization)]
    assert recorded == [
        "demo/deployment", "demo/pes/pe_0", "demo/pes/pe_1", "demo/streams/Numbers", "demo/sinks/Results",
    ]  # fmt: skip
    assert not daemon.tick().asset_events


def test_each_reset_is_recorded_once_by_its_run(daemon: Daemon, runtime: Runtime):
    def of_deployment(recorded: list[Any]) -> list[str | None]:
        return [each.description for each in recorded if each.asset_key == dg.AssetKey(["demo", "deployment"])]

    runtime.status = running()
    daemon.tick()
    runtime.status = failed(running(), state="UNHEALTHY")
    tick = daemon.tick()
    assert of_deployment(events(tick, dg.AssetObservation)) == ["demo is UNHEALTHY"]
    runtime.generation = 2
    runtime.status = running(units=(changed(running().units[0], generation=2, reset_count=1),))
    result = daemon.run(tick.run_requests[0])
    seen = [event.asset_observation_data.asset_observation for event in result.get_asset_observation_events()]
    assert of_deployment(seen) == ["demo is RUNNING"]
    assert "streams/timeline" in seen[0].metadata
    assert {type(event) for event in daemon.tick().asset_events} == {dg.AssetCheckEvaluation}


def test_a_stop_is_recorded_once_by_its_run(daemon: Daemon, runtime: Runtime):
    runtime.status = running()
    daemon.tick()
    runtime.status = running(state="STOPPED")
    job = daemon.defs.resolve_job_def("demo__cancel")
    assert job.execute_in_process(instance=daemon.instance).get_asset_observation_events()
    assert {type(event) for event in daemon.tick().asset_events} == {dg.AssetCheckEvaluation}


def test_a_sink_shows_its_first_rows(daemon: Daemon, runtime: Runtime):
    runtime.status = running()
    sink = events(daemon.tick(), dg.AssetMaterialization)[-1]
    assert sink.metadata["dagster/row_count"].value == 500
    first, second = (dict(record.data) for record in sink.metadata["streams/first_rows"].records)
    assert first == {"n": 1, "text": f"{'x' * 77}...", "at": "2013-01-01"}
    assert second == {"n": None, "text": "y", "at": "2013-01-01"}


def test_a_plan_is_recorded_once_when_all_of_it_works(daemon: Daemon, runtime: Runtime):
    def recorded(status: ApplicationStatus) -> list[dg.AssetMaterialization]:
        runtime.status = status
        made = events(daemon.tick(), dg.AssetMaterialization)
        for each in made:
            daemon.instance.report_runless_asset_event(each)
        return [each for each in made if each.asset_key == dg.AssetKey(["demo", "deployment"])]

    assert not recorded(running(units=(changed(running().units[0], state="STARTED"),), state="WAITING"))
    (first,) = recorded(running())
    assert (first.tags or {})["dagster/data_version"] == "plan@life"
    assert not recorded(running(state="STOPPED"))
    assert not recorded(running())
    assert not recorded(running(state="STOPPED", fingerprint="other"))
    (second,) = recorded(running(fingerprint="other"))
    assert (second.tags or {})["dagster/data_version"] == "other@life"


def test_a_lost_cut_fails_the_check_once_and_when_somebody_runs_it(daemon: Daemon, runtime: Runtime):
    lost = unit_event(NOW, "cut lost", 1, 3, 0, cause="the state s1 is gone. Restore it")
    runtime.status = replace(running(), units=(changed(running().units[0], events=(lost,)),))
    seen = {e.check_name: e for e in events(daemon.tick(), dg.AssetCheckEvaluation)}
    assert not seen[RESTORABLE].passed
    assert (seen[RESTORABLE].description or "").startswith(lost.cause or "nothing")
    assert not [event for event in events(daemon.tick(), dg.AssetCheckEvaluation) if not event.passed]
    checks = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(["demo", "deployment"]), RESTORABLE))
    merged = dg.Definitions.merge(daemon.defs, dg.Definitions(jobs=[dg.define_asset_job("look", selection=checks)]))
    (result,) = merged.resolve_job_def("look").execute_in_process().get_asset_check_evaluations()
    assert (result.check_name, result.passed) == (RESTORABLE, False)
    assert runtime.names.count("check_cut_files") == 1, "who runs it wants to know how it is now"


def test_a_machine_that_is_lost_is_a_warning(daemon: Daemon, runtime: Runtime):
    runtime.status = running()
    runtime.machines = (machine_status("north", "LOST"),)
    (check,) = [each for each in events(daemon.tick(), dg.AssetCheckEvaluation) if not each.passed]
    assert (check.check_name, check.severity) == ("machines_are_up", dg.AssetCheckSeverity.WARN)
    assert "north is LOST" in (check.description or "")


def test_a_catalog_that_was_away_is_looked_at_later_and_hosts_have_time_for_a_heartbeat(
    daemon: Daemon, runtime: Runtime
):
    runtime.status = failed(running())
    runtime.error = CatalogUnavailableError("locked")
    assert daemon.tick().skip_message == "locked"
    assert daemon.tick().skip_message == "locked"
    runtime.error = None
    assert "send a heartbeat" in (daemon.tick().skip_message or "")
    assert daemon.tick().run_requests


def test_a_catalog_of_another_version_is_left_alone(daemon: Daemon, runtime: Runtime):
    runtime.status = running()
    runtime.error = CatalogVersionError("older")
    assert daemon.tick().skip_message == "older"


def test_an_application_that_is_dropped_is_forgotten(daemon: Daemon, runtime: Runtime):
    runtime.status = failed(running(), attempts=5)
    daemon.tick()
    runtime.status = None
    assert daemon.tick().skip_message == "nothing is deployed"
    assert Cursor.load(daemon.cursor) == Cursor()
