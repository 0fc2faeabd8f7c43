"""Jobs that run in this process, asked for at the same time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.cli import jobs
from streams_orchestration.cli.following import Foreground
from streams_orchestration.cli.interrupts import BackgroundCall
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.instance import dagster_instance
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.reset import UnitReset
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration.runtime.units.region_events import FailureCause
from streams_orchestration_tests.cli import made_up
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime
from streams_orchestration_tests.orchestration.shown_states import stale_states
from streams_orchestration_tests.orchestration.statuses import running

pytestmark = pytest.mark.slow

TIMEOUT_SECONDS = 120.0


def failure(unit: str) -> UnitFailure:
    return UnitFailure("demo", made_up.unit(name=unit), FailureCause("boom"), Path("host-0.log"))


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    fake = Runtime()
    fake.status = running()
    fake.replace(monkeypatch)
    return fake


@pytest.fixture
def controls(tmp_path: Path) -> jobs.Jobs:
    return jobs.Jobs(Catalog(Home(tmp_path / "home").prepare()), "demo")


def test_resets_that_are_recorded_at_the_same_time_do_not_block_each_other(
    controls: jobs.Jobs, runtime: Runtime, tmp_path: Path
):
    units = ("region-0", "region-1")
    both = [BackgroundCall(lambda each=unit: controls.record_reset(each, 1)) for unit in units]
    for each in both:
        assert each.wait(TIMEOUT_SECONDS)
        each.result()
    with dagster_instance(Home(tmp_path / "home")) as instance:
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.SUCCESS] * 2
    assert {call[2:4] for call in runtime.calls if call[0] == "reset_unit"} == {(unit, 1) for unit in units}
    runtime.calls.clear()
    controls.record_reset("region-0", 1)
    assert not runtime.called("reset_unit"), "a run shows it already"


def test_a_reset_is_recorded_although_an_earlier_run_for_it_has_failed(
    controls: jobs.Jobs, runtime: Runtime, tmp_path: Path
):
    runtime.error, runtime.refused = StreamsRuntimeError("no attempt is left"), "reset_unit"
    with pytest.raises(StreamsRuntimeError, match="no attempt is left"):
        controls.record_reset("region-0", 1)
    runtime.error = None
    controls.record_reset("region-0", 1)
    with dagster_instance(Home(tmp_path / "home")) as instance:
        statuses = [run.status for run in instance.get_runs()]
    assert statuses == [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE], "the newest first"


def test_a_reset_is_begun_while_another_one_is_being_recorded(
    controls: jobs.Jobs, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    recording, over = threading.Event(), threading.Event()

    def await_reset(*_: Any) -> None:
        recording.set()
        assert over.wait(TIMEOUT_SECONDS)

    def begin(_catalog: Catalog, _application: str, unit: str, **_: Any) -> UnitReset:
        begun.append(unit)
        return UnitReset(1, begun=False)

    monkeypatch.setattr(runtime, "await_reset", await_reset)
    monkeypatch.setattr(runtime, "reset_unit", begin)
    begun: list[str] = []
    record = BackgroundCall(lambda: controls.record_reset("region-0", 1))
    try:
        assert recording.wait(TIMEOUT_SECONDS)
        Foreground(Catalog(Home(tmp_path / "home")), "demo").begin_reset(failure("region-1")).result()
        assert begun == ["region-0", "region-1"]
    finally:
        over.set()
    assert record.wait(TIMEOUT_SECONDS)
    record.result()


def test_a_deployment_of_a_command_is_recorded_as_the_job_would_have_done(
    controls: jobs.Jobs, runtime: Runtime, tmp_path: Path
):
    spec, home = tmp_path / "demo.yaml", Home(tmp_path / "home")
    spec.write_text(DEMO)
    controls.record_deployment(spec, compile_spec(spec))
    assert not runtime.called("replace", "launch_hosts", "go on"), "the command has deployed it"
    with dagster_instance(home) as instance:
        (run,) = instance.get_runs()
        assert (run.job_name, run.status) == ("demo__redeploy", dg.DagsterRunStatus.SUCCESS)
        names = (*BY_NAME, "deployment")
        assert stale_states(instance, build_application_definitions(spec, home), names) == {"FRESH"}
        keys = [dg.AssetKey(["demo", name]) for name in names]
        checks = [dg.AssetCheckKey(keys[-1], "failures_are_mended"), dg.AssetCheckKey(keys[-2], "runs_here")]
        records = [instance.get_latest_asset_check_evaluation_record(key) for key in checks]
        assert all(each is not None and each.evaluation is not None for each in records)


def test_a_stop_of_a_command_is_recorded_by_the_job_that_would_have_done_it(
    controls: jobs.Jobs, runtime: Runtime, tmp_path: Path
):
    runtime.status = running(state="STOPPED")
    controls.record_cancel()
    assert not runtime.called("cancel_application", "stop_orphans"), "the command has stopped it"
    with dagster_instance(Home(tmp_path / "home")) as instance:
        (run,) = instance.get_runs()
        assert (run.job_name, run.status) == ("demo__cancel", dg.DagsterRunStatus.SUCCESS)
        (record,) = instance.fetch_observations(dg.AssetKey(["demo", "deployment"]), limit=1).records
        assert record.asset_observation is not None
        assert record.asset_observation.metadata["streams/state"].value == "STOPPED"


def test_a_revert_of_a_command_is_recorded_by_the_job_that_would_have_done_it(
    controls: jobs.Jobs, runtime: Runtime, tmp_path: Path
):
    controls.record_revert()
    assert not runtime.called("replace", "launch_hosts", "go on"), "the command has restored the plan"
    with dagster_instance(Home(tmp_path / "home")) as instance:
        (run,) = instance.get_runs()
        assert (run.job_name, run.status) == ("demo__deploy", dg.DagsterRunStatus.SUCCESS)
        assert instance.get_latest_materialization_event(dg.AssetKey(["demo", "deployment"])) is not None
        assert instance.get_latest_materialization_event(dg.AssetKey(["demo", "deployment_plan"])) is None
