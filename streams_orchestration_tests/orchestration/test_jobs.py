from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from streams_orchestration.orchestration import ops
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.artifacts import StageMissingError, StagesOutOfStepError
from streams_orchestration.orchestration.cut_checks import RESTORABLE
from streams_orchestration.orchestration.watching import Memory
from streams_orchestration.runtime.errors import (
    CatalogUnavailableError,
    CatalogVersionError,
    CommitUnknownError,
    HostLaunchError,
    NotDeployedError,
)
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.status import ApplicationStatus
from streams_orchestration.runtime.unit_status import UnitEvent
from streams_orchestration_tests.orchestration.conftest import Runtime
from streams_orchestration_tests.orchestration.statuses import NOW, failed, running


def run(defs: dg.Definitions, job: str, config: Mapping[str, object] | None = None) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def(job).execute_in_process(config)


def recorded(result: dg.ExecuteInProcessResult) -> set[str]:
    return {e.asset_key.to_user_string() for e in result.get_asset_materialization_events() if e.asset_key}


def test_deploying_writes_launches_and_waits(defs: dg.Definitions, runtime: Runtime):
    run(defs, "compile_demo")
    result = run(defs, "deploy_demo", {"ops": {"write_wanted_state": {"config": {"fresh": True}}}})
    assert runtime.calls[0] == ("deploy", "demo", True)
    assert runtime.names == ["deploy", "launch", "await_running"]
    assert recorded(result) == {"demo/deployment", "demo/pes/pe_0", "demo/pes/pe_1", "demo/sinks/Results"}


def test_what_was_measured_shows_on_the_assets(defs: dg.Definitions, runtime: Runtime):
    runtime.status = running()
    events = run(defs, "cancel_demo").get_asset_materialization_events()
    shown = {e.asset_key.to_user_string(): e.materialization.metadata for e in events if e.asset_key}
    operators = shown["demo/deployment"]["streams/operators"]
    assert isinstance(operators, dg.TableMetadataValue)
    assert [dict(record.data) for record in operators.records] == [
        {"operator": "Results", "PE": 1, "tuples in": 1000, "tuples out": 0, "cpu seconds": 2.0},
        {"operator": "Numbers", "PE": 0, "tuples in": 0, "tuples out": 1000, "cpu seconds": 1.5},
    ]
    assert shown["demo/pes/pe_0"]["streams/cpu_seconds"].value == 1.5


def test_what_was_not_compiled_is_not_deployed(defs: dg.Definitions, runtime: Runtime):
    with pytest.raises(StageMissingError, match="compile_demo"):
        run(defs, "deploy_demo")
    assert not runtime.calls


def test_stages_that_do_not_belong_together_are_not_deployed(defs: dg.Definitions, runtime: Runtime):
    run(defs, "compile_demo")
    first = defs.resolve_job_def("compile_demo").execute_in_process(
        {"ops": {"demo__logical_graph": {"config": {"submission": {"width": "3"}}}}},
        asset_selection=[dg.AssetKey(["demo", "logical_graph"])],
    )
    assert first.success
    with pytest.raises(StagesOutOfStepError, match="parallel_expanded_graph is older than logical_graph"):
        run(defs, "deploy_demo")
    assert not runtime.calls


def test_a_spec_that_changed_since_is_not_deployed(defs: dg.Definitions, runtime: Runtime, spec: Path):
    run(defs, "compile_demo")
    spec.write_text(spec.read_text() + "\n")
    with pytest.raises(StagesOutOfStepError, match=r"logical_graph is older than .*demo\.yaml"):
        run(defs, "deploy_demo")


def test_redeploying_compiles_first_and_keeps_the_options(spec: Path, home: Home, runtime: Runtime):
    defs = build_application_definitions(spec, home)
    with dg.instance_for_test() as instance:
        config = {"ops": {"demo__logical_graph": {"config": {"submission": {"width": "3"}}}}}
        defs.resolve_job_def("compile_demo").execute_in_process(config, instance=instance)
        spec.write_text(spec.read_text().replace("iterations: 1000", "iterations: 2000"))
        assert defs.resolve_job_def("redeploy_demo").execute_in_process(instance=instance).success
        runs = {record.job_name for record in instance.get_runs()}
    store = defs.resources["artifact_store"]  # pyright: ignore[reportOptionalSubscript]
    assert runs == {"compile_demo", "redeploy_demo"}
    assert store.compilation("demo").options.submission == {"width": "3"}
    assert store.compilation("demo").logical.operators[0].parameters == {"iterations": 2000}
    assert runtime.names == ["deploy", "launch", "await_running"]


def test_cancelling_stops_and_records(defs: dg.Definitions, runtime: Runtime):
    runtime.status = running(state="STOPPED")
    result = run(defs, "cancel_demo", {"ops": {"stop_hosts": {"config": {"timeout": 5.0}}}})
    assert runtime.calls == [("cancel", "demo", 5.0)]
    assert "demo/deployment" in recorded(result)


def test_resetting_resets_and_waits(defs: dg.Definitions, runtime: Runtime):
    runtime.status = running()
    runtime.generation = 2
    run(defs, "reset_demo", {"ops": {"reset_unit": {"config": {"unit": "region-0", "generation": 1}}}})
    assert runtime.calls[0] == ("reset", "demo", "region-0", 1, False)
    assert runtime.names == ["reset", "await_running"]


def test_a_reset_shows_the_timeline_and_does_not_count_as_progress(defs: dg.Definitions, runtime: Runtime):
    runtime.status = running()
    result = run(defs, "reset_demo", {"ops": {"reset_unit": {"config": {"unit": "region-0", "generation": 1}}}})
    assert "demo/deployment" not in recorded(result)
    (seen,) = result.get_asset_observation_events()
    assert seen.asset_key == dg.AssetKey(["demo", "deployment"])
    assert "image/svg+xml" in str(seen.asset_observation_data.asset_observation.metadata["streams/timeline"].value)


def test_a_busy_catalog_is_tried_again_but_nothing_else(
    defs: dg.Definitions, runtime: Runtime, home: Home, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ops, "RETRY_SECONDS", 0.01)
    config = {"ops": {"reset_unit": {"config": {"unit": "region-0"}}}}
    for error, tries in ((CatalogUnavailableError("locked"), 3), (NotDeployedError("demo", (), home.root), 1)):
        runtime.error = error
        runtime.calls.clear()
        with pytest.raises(Exception):  # noqa: B017
            run(defs, "reset_demo", config)
        assert runtime.names == ["reset"] * tries


def test_steps_of_a_deployment_are_tried_again_when_the_catalog_is_away(
    defs: dg.Definitions, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ops, "RETRY_SECONDS", 0.01)
    runtime.error = CatalogUnavailableError("away")
    with pytest.raises(Exception):  # noqa: B017
        run(defs, "cancel_demo", {"ops": {"stop_hosts": {"config": {"timeout": 5.0}}}})
    assert runtime.names == ["cancel"] * 3


@pytest.mark.parametrize(("config", "tries"), [({"unit": "region-0"}, 1), ({"unit": "region-0", "generation": 1}, 3)])
def test_a_reset_whose_commit_is_in_doubt_is_repeated_only_if_that_cannot_make_two(
    defs: dg.Definitions, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, config: dict[str, object], tries: int
):
    monkeypatch.setattr(ops, "RETRY_SECONDS", 0.01)
    runtime.error = CommitUnknownError("there", "the connection is gone")
    with pytest.raises(Exception):  # noqa: B017
        run(defs, "reset_demo", {"ops": {"reset_unit": {"config": config}}})
    assert runtime.names == ["reset"] * tries


def test_jobs_run_in_one_process_and_end(defs: dg.Definitions):
    for name in ("compile", "deploy", "redeploy", "cancel", "reset"):
        job = defs.resolve_job_def(f"{name}_demo")
        assert job.executor_def is dg.in_process_executor
        assert job.run_tags[dg.MAX_RUNTIME_SECONDS_TAG] == "900"


class TestSensor:
    @pytest.fixture
    def sensor(self, defs: dg.Definitions) -> dg.SensorDefinition:
        return defs.resolve_sensor_def("failed_units_of_demo")

    def look(self, defs: dg.Definitions, sensor: dg.SensorDefinition, cursor: str | None = None):
        assert defs.resources is not None
        context = dg.build_sensor_context(cursor=cursor, resources={"deployments": defs.resources["deployments"]})
        return sensor.evaluate_tick(context)

    def test_it_is_on_and_the_schedule_is_off(self, defs: dg.Definitions, sensor: dg.SensorDefinition):
        assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
        schedule = defs.resolve_schedule_def("redeploy_demo")
        assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
        assert schedule.job_name == "redeploy_demo"

    def test_it_skips_what_is_not_deployed(self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime):
        tick = self.look(defs, sensor)
        assert tick.skip_message == "demo is not deployed"

    def test_a_failure_requests_a_run_of_the_reset_job(
        self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime
    ):
        runtime.status = failed(running())
        tick = self.look(defs, sensor)
        requests = tick.run_requests or []
        assert len(requests) == 1
        assert requests[0].tags["streams/region"] == "demo/region-0"
        assert requests[0].run_config["ops"]["reset_unit"]["config"]["generation"] == 1
        assert "region-0" in Memory.load(tick.cursor).known
        result = defs.resolve_job_def("reset_demo").execute_in_process(requests[0].run_config, tags=requests[0].tags)
        assert result.success
        assert runtime.names[-2:] == ["reset", "await_running"]
        assert not self.look(defs, sensor, tick.cursor).run_requests

    @pytest.mark.parametrize(
        ("status", "said"),
        [
            (running(), "nothing has failed"),
            (running(state="STOPPED"), "demo is STOPPED"),
            (running(units=(replace(running().units[0], state="RESETTING"),)), "region-0 is RESETTING"),
            (failed(running(), attempts=5), "5 of 5 resets in a row have failed. Mend the cause"),
        ],
    )
    def test_a_tick_without_a_reset_says_why(
        self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime, status: ApplicationStatus, said: str
    ):
        runtime.status = status
        tick = self.look(defs, sensor)
        assert said in (tick.skip_message or "")
        assert tick.asset_events

    def test_it_begins_the_reset_itself_and_the_run_sees_to_the_rest(
        self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime
    ):
        runtime.status = failed(running())
        assert self.look(defs, sensor).run_requests
        assert ("reset", "demo", "region-0", 1, False) in runtime.calls

    def test_a_reset_that_it_cannot_begin_is_left_to_the_run(
        self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ):
        def refuse(*_arguments: object, **_named: object) -> int:
            message = "host 0 could not be started"
            raise HostLaunchError(message)

        runtime.status = failed(running())
        monkeypatch.setattr(runtime, "reset", refuse)
        assert self.look(defs, sensor).run_requests

    def test_results_are_recorded(self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime):
        runtime.status = running()
        tick = self.look(defs, sensor)
        keys = [e.asset_key.to_user_string() for e in tick.asset_events if isinstance(e, dg.AssetMaterialization)]
        assert keys == ["demo/deployment", "demo/sinks/Results"]
        assert not self.look(defs, sensor, tick.cursor).asset_events

    def test_only_cuts_count_for_freshness(self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime):
        runtime.status = running()
        cursor = self.look(defs, sensor).cursor
        runtime.status = replace(running(), units=(replace(running().units[0], resets=1),))
        kinds = {type(event) for event in self.look(defs, sensor, cursor).asset_events}
        assert dg.AssetObservation in kinds
        assert dg.AssetMaterialization not in kinds

    def test_a_lost_cut_fails_the_check_once_and_when_somebody_runs_it(
        self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime
    ):
        lost = UnitEvent(NOW, "cut lost", 1, 3, 0, cause="the state s1 is gone. Bring it back")
        runtime.status = replace(running(), units=(replace(running().units[0], events=(lost,)),))
        tick = self.look(defs, sensor)
        seen = {e.check_name: e for e in tick.asset_events if isinstance(e, dg.AssetCheckEvaluation)}
        assert not seen[RESTORABLE].passed
        assert (seen[RESTORABLE].description or "").startswith(lost.cause or "nothing")
        again = self.look(defs, sensor, tick.cursor).asset_events
        assert not any(isinstance(event, dg.AssetCheckEvaluation) and not event.passed for event in again)
        checks = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(["demo", "deployment"]), RESTORABLE))
        job = dg.define_asset_job("look", selection=checks)
        merged = dg.Definitions.merge(defs, dg.Definitions(jobs=[job]))
        (result,) = merged.resolve_job_def("look").execute_in_process().get_asset_check_evaluations()
        assert (result.check_name, result.passed) == (RESTORABLE, False)
        assert runtime.names.count("look_at_cuts") == 1, "who runs it wants to know how it is now"

    def test_a_catalog_that_was_away_is_looked_at_later_and_hosts_have_time_for_a_heartbeat(
        self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime
    ):
        runtime.status = failed(running())
        runtime.error = CatalogUnavailableError("locked")
        away = self.look(defs, sensor)
        assert away.skip_message == "locked"
        runtime.error = None
        back = self.look(defs, sensor, away.cursor)
        assert "time for a heartbeat" in (back.skip_message or "")
        assert self.look(defs, sensor, back.cursor).run_requests

    def test_a_catalog_of_another_version_is_left_alone(
        self, defs: dg.Definitions, sensor: dg.SensorDefinition, runtime: Runtime
    ):
        runtime.status = running()
        runtime.error = CatalogVersionError("older")
        assert self.look(defs, sensor).skip_message == "older"
