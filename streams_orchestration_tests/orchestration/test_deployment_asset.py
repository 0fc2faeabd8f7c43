"""The deployment as an asset: a user materializes it, automation does when the spec has changed, and runs may end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.epochs import VERSION_TAG, last_materialization
from streams_orchestration.orchestration.plan_events import plan_events
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.deployment import lasting_hosts
from streams_orchestration.runtime.machines.register import MachineStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime, failure_of
from streams_orchestration_tests.orchestration.statuses import failed, measured, running
from streams_orchestration_tests.runtime.readings import machine_status

pytestmark = pytest.mark.slow

DEPLOYMENT = dg.AssetKey(["demo", "deployment"])
NORTH = machine_status("north", "UP")
SPEC_ASSET = dg.AssetKey(["demo", "spec"])
STAGES = (dg.AssetKey(["demo", "logical_graph"]), dg.AssetKey(["demo", "deployment_plan"]))


def materialize(defs: dg.Definitions, instance: dg.DagsterInstance, *keys: dg.AssetKey, **settings: Any) -> Any:
    """Compute assets as the button *Materialize* does, in a job that Dagster makes for them."""
    job = defs.get_implicit_global_asset_job_def().get_subset(asset_selection=set(keys))
    return job.execute_in_process(instance=instance, **settings)


def materializations(instance: dg.DagsterInstance) -> int:
    return len(instance.fetch_materializations(DEPLOYMENT, limit=10).records)


def test_materializing_it_deploys_what_is_compiled(defs: dg.Definitions, runtime: Runtime):
    with dg.DagsterInstance.ephemeral() as instance:
        assert defs.resolve_job_def("demo__compile").execute_in_process(instance=instance).success
        assert materialize(defs, instance, DEPLOYMENT).success
        assert runtime.names[:3] == ["replace", "launch_hosts", "await_running_pes"]
        assert materializations(instance) == 1
        event = last_materialization(instance, DEPLOYMENT)
    assert event is not None
    assert runtime.status is not None
    assert (event.tags or {})[VERSION_TAG].startswith(f"{runtime.status.fingerprint}@")
    assert "streams/hosts" in event.metadata


def test_the_deployment_has_the_checks_of_its_run(defs: dg.Definitions, runtime: Runtime):
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("demo__redeploy").execute_in_process(instance=instance)
        assert result.success
        checked = {each.check_name for each in result.get_asset_check_evaluations() if each.asset_key == DEPLOYMENT}
    assert {"failures_are_mended", "cuts_can_be_restored", "redeploy_keeps_state"} <= checked


def test_automation_redeploys_when_the_spec_has_changed(spec: Path, home: Home, runtime: Runtime):
    def eager(asset: dg.AssetSpec) -> dg.AssetSpec:
        return asset.replace_attributes(automation_condition=dg.AutomationCondition.eager())

    def evaluate(cursor: Any) -> Any:
        assert materialize(defs, instance, SPEC_ASSET).success
        return dg.evaluate_automation_conditions(defs, instance=instance, cursor=cursor)

    defs = build_application_definitions(spec, home, change=eager)
    with dg.DagsterInstance.ephemeral() as instance:
        assert defs.resolve_job_def("demo__redeploy").execute_in_process(instance=instance).success
        first = evaluate(evaluate(None).cursor)
        assert not any(first.get_num_requested(key) for key in (DEPLOYMENT, *STAGES))
        spec.write_text(DEMO.replace("iterations: 1000", "iterations: 2000"))
        second = evaluate(first.cursor)
        assert all(second.get_num_requested(key) == 1 for key in (DEPLOYMENT, *STAGES))
        computed = defs.resolve_asset_graph().executable_asset_keys
        wanted = [each.key for each in second.results if each.true_subset.size and each.key in computed]
        runtime.calls.clear()
        assert materialize(defs, instance, *wanted).success
        assert runtime.called("replace")
        third = evaluate(second.cursor)
        assert not any(third.get_num_requested(key) for key in (DEPLOYMENT, *STAGES))


def test_a_run_that_is_ended_says_that_the_application_goes_on(
    defs: dg.Definitions, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(*_: Any) -> None:
        raise dg.DagsterExecutionInterruptedError

    monkeypatch.setattr(runtime, "await_running_pes", interrupted)
    with dg.DagsterInstance.ephemeral() as instance:
        assert defs.resolve_job_def("demo__compile").execute_in_process(instance=instance).success
        with pytest.raises(dg.DagsterExecutionInterruptedError):
            materialize(defs, instance, DEPLOYMENT)
        assert materializations(instance) == 0
        (run,) = instance.get_runs(limit=1)
        messages = [each.user_message for each in instance.all_logs(run.run_id)]
    assert any("demo continues, job demo__cancel stops it" in each for each in messages)


def test_a_plan_is_recorded_behind_a_redeploy_that_was_refused(defs: dg.Definitions, runtime: Runtime):
    """The check of that run is planned, and never evaluated."""
    runtime.refused, runtime.error = "replace", dg.Failure("it would lose state")
    with dg.DagsterInstance.ephemeral() as instance:
        redeploy = defs.resolve_job_def("demo__redeploy")
        assert not redeploy.execute_in_process(instance=instance, raise_on_error=False).success
        events = list(plan_events(AssetKeys(), instance, running(), measured(), ()))
    assert [each.passed for each in events if isinstance(each, dg.AssetCheckEvaluation)] == [True]


def redeploying() -> dg.JobDefinition:
    """Return the job, for a run that Dagster builds anew."""
    return build_application_definitions(os.environ["DEMO_SPEC"]).resolve_job_def("demo__redeploy")


def resetting() -> dg.JobDefinition:
    """Return the job that resets what has failed."""
    return build_application_definitions(os.environ["DEMO_SPEC"]).resolve_job_def("demo__reset")


@pytest.fixture
def at(spec: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The spec that the functions above build; Dagster forgets the job that they have built before."""
    monkeypatch.setenv("DEMO_SPEC", str(spec))
    monkeypatch.setenv("STREAMS_HOME", str(home.root))
    built = dg.reconstructable(redeploying)
    built.get_definition.cache_clear()
    built.get_repository_definition.cache_clear()
    return spec


def test_a_run_goes_on_from_the_step_that_failed(at: Path, runtime: Runtime):
    runtime.refused, runtime.error = "launch_hosts", dg.Failure("no process could be started")
    with dg.instance_for_test() as instance:
        first = dg.execute_job(dg.reconstructable(redeploying), instance=instance)
        assert not first.success
        runtime.error = None
        runtime.calls.clear()
        rest = dg.ReexecutionOptions.from_failure(first.run_id, instance)
        assert dg.execute_job(dg.reconstructable(redeploying), instance=instance, reexecution_options=rest).success
        assert runtime.names[:2] == ["launch_hosts", "await_running_pes"], "what was written is not written again"
        assert materializations(instance) == 1


class PodLauncher(dg.DefaultRunLauncher):
    """Stands for a launcher that gives each run a container of its own."""


@pytest.mark.covering
@pytest.mark.parametrize("machines", [(), (NORTH,)])
@pytest.mark.parametrize("job", [redeploying, resetting])
def test_a_run_with_a_container_of_its_own_starts_hosts_by_agents_only(
    at: Path,
    home: Home,
    runtime: Runtime,
    monkeypatch: pytest.MonkeyPatch,
    job: Callable[[], dg.JobDefinition],
    machines: tuple[MachineStatus, ...],
):
    launcher = {"module": __name__, "class": "PodLauncher"}
    create_catalog(home)
    monkeypatch.setattr(lasting_hosts, "registered", lambda _: machines)
    runtime.status, runtime.machines = failed(running()), machines
    with dg.instance_for_test(overrides={"run_launcher": launcher}) as instance:
        result = dg.execute_job(dg.reconstructable(job), instance=instance)
        assert result.success is bool(machines)
        if not machines:
            said = str(failure_of(result).error)
            assert "no host of demo is started: with the run launcher PodLauncher" in said
            assert "Keep `streams agent` running" in said
            assert not runtime.called("replace", "launch_hosts", "reset_unit")
        else:
            assert runtime.reasons == ["with the run launcher PodLauncher this run may have a container of its own"] * 2
