"""Checks in Dagster stand until they are evaluated anew, and the health of the deployment follows its units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration.definitions import build_definitions
from streams_orchestration.orchestration.previews import KEEPS_STATE
from streams_orchestration.orchestration.sensors import SENSOR
from streams_orchestration.runtime import api
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.orchestration.conftest import Runtime, evaluated, record
from streams_orchestration_tests.orchestration.redeployments import KEPT, outcome
from streams_orchestration_tests.orchestration.shown_states import health, not_evaluated
from streams_orchestration_tests.orchestration.statuses import NOW, failed, running
from streams_orchestration_tests.runtime.readings import changed
from streams_orchestration_tests.waiting import until

pytestmark = pytest.mark.slow
DEPLOYMENT = dg.AssetKey(["demo", "deployment"])


class Deployed:
    """`demo` in a code location: the sensor's ticks are recorded, jobs are run, and checks are read."""

    def __init__(self, defs: dg.Definitions, instance: dg.DagsterInstance, runtime: Runtime) -> None:
        by_hand = dg.define_asset_job("by_hand", selection=dg.AssetSelection.checks_for_assets(DEPLOYMENT))
        self.defs = dg.Definitions.merge(defs, dg.Definitions(jobs=[by_hand]))
        self.instance, self.runtime = instance, runtime
        self.cursor: str | None = None
        self.status, self.now = running(), NOW

    def tick(self, status: ApplicationStatus | None = None, *, after: float = 2.0) -> list[Any]:
        """Evaluate a tick of the sensor so many simulated seconds after its last one, and record its events."""
        self.runtime.status = status or self.status
        self.now += after
        tick = evaluated(self.defs, SENSOR, self.instance, self.cursor)
        self.cursor = tick.cursor
        return record(self.instance, tick)

    def run(self, job: str) -> None:
        """Run a job."""
        assert self.defs.resolve_job_def(job).execute_in_process(instance=self.instance).success

    def checks(self, *assets: dg.AssetKey) -> set[dg.AssetCheckKey]:
        """Return the checks of these assets."""
        return set(self.defs.resolve_asset_graph().get_check_keys_for_assets(set(assets)))

    def not_evaluated(self, *assets: dg.AssetKey) -> set[str]:
        """Return the checks that Dagster shows as not evaluated."""
        return not_evaluated(self.instance, self.checks(*assets))

    def health(self) -> str:
        """Return the health of the deployment by its checks."""
        return health(self.instance, self.checks(DEPLOYMENT))


@pytest.fixture
def deployed(spec: Path, home: Home, runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    with dg.DagsterInstance.ephemeral() as instance:
        application = Deployed(build_definitions(spec.parent, home), instance, runtime)
        replace_function(monkeypatch, api, "now", lambda: application.now)
        yield application


def later(status: ApplicationStatus, seconds: float) -> ApplicationStatus:
    """Return the status after further epochs, one a second."""
    unit = status.units[0]
    epoch = unit.completed_epoch + int(seconds)
    host = changed(status.hosts[0], heartbeat_at=NOW + seconds)
    sink = replace(status.sinks[0], rows=1000 * epoch, epoch=epoch)
    unit = changed(unit, completed_epoch=epoch, completed_at=NOW + seconds)
    return replace(status, hosts=(host,), units=(unit,), sinks=(sink,))


def test_checks_that_are_run_by_hand_stand_while_epochs_go_on(deployed: Deployed):
    deployed.tick()
    deployed.run("by_hand")
    assert deployed.not_evaluated(DEPLOYMENT) == set()
    deployed.now += 60
    assert deployed.tick(later(deployed.status, 61))
    assert deployed.not_evaluated(DEPLOYMENT) == set()


@pytest.mark.parametrize("job", ["demo__cancel", "demo__redeploy", "demo__reset"])
def test_checks_of_the_sensor_stand_after_a_run(deployed: Deployed, job: str):
    deployed.tick()
    assert deployed.not_evaluated(DEPLOYMENT) == set()
    deployed.status = running(fingerprint="other")
    deployed.runtime.status = failed(deployed.status) if job == "demo__reset" else deployed.status
    if job == "demo__redeploy":
        deployed.run("demo__compile")
    deployed.run(job)
    assert deployed.not_evaluated(DEPLOYMENT) == set()


def test_checks_stand_soon_after_a_run_that_failed_before_it_evaluated_them(deployed: Deployed, spec: Path):
    deployed.tick()
    deployed.runtime.status = deployed.status
    deployed.run("demo__redeploy")
    until(lambda: deployed.tick(after=0.0) and not deployed.not_evaluated(DEPLOYMENT), "checks are not evaluated")
    spec.write_text(spec.read_text().replace("n % 2", "m % 2"))
    job = deployed.defs.resolve_job_def("demo__redeploy")
    assert not job.execute_in_process(instance=deployed.instance, raise_on_error=False).success
    assert deployed.not_evaluated(DEPLOYMENT) == {each.name for each in deployed.checks(DEPLOYMENT)}
    deployed.tick()
    assert deployed.not_evaluated(DEPLOYMENT) == set()
    assert not deployed.tick()


def test_checks_stand_soon_after_a_run_beside_which_the_sensor_has_recorded_some(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
):
    def awaited(*_: object) -> ApplicationStatus:
        deployed.now += 60
        deployed.tick(deployed.status)  # its cut is late
        return deployed.status

    deployed.tick()
    monkeypatch.setattr(deployed.runtime, "await_running_pes", awaited)
    deployed.status = deployed.runtime.status = running(fingerprint="other")
    deployed.run("demo__redeploy")
    assert deployed.not_evaluated(DEPLOYMENT) == {"cuts_are_fresh"}
    until(lambda: deployed.tick(after=0.0) and not deployed.not_evaluated(DEPLOYMENT), "checks are not evaluated")
    assert not deployed.tick()


def test_an_application_deployed_by_a_command_has_all_checks(deployed: Deployed):
    """Commands redeploy before a run records it, or without one."""
    deployed.tick()
    key = dg.AssetCheckKey(DEPLOYMENT, KEEPS_STATE)
    deployed.instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(asset_key=DEPLOYMENT, check_name=KEEPS_STATE, passed=False)
    )
    deployed.tick(running(fingerprint="other", state="WAITING"))
    deployed.tick(running(fingerprint="other"))
    assert deployed.not_evaluated(DEPLOYMENT) == set()
    record = deployed.instance.get_latest_asset_check_evaluation_record(key)
    assert record is not None
    assert record.evaluation is not None
    assert record.evaluation.passed


def test_checks_of_stages_stand_after_a_redeploy(deployed: Deployed):
    stages = [dg.AssetKey(["demo", name]) for name in BY_NAME]
    deployed.runtime.status = deployed.status
    deployed.run("demo__compile")
    assert deployed.not_evaluated(*stages) == set()
    deployed.run("demo__redeploy")
    assert deployed.not_evaluated(*stages) == set()


def test_the_health_of_the_deployment_follows_its_units(deployed: Deployed):
    healthy, host = deployed.status, deployed.status.hosts[0]
    seen = []
    for status in (
        healthy,
        replace(healthy, hosts=(changed(host, alive=False),)),
        failed(healthy, state="UNHEALTHY", generation=2),
        failed(healthy, state="UNHEALTHY", generation=2, attempts=5),
        healthy,
        failed(healthy, state="UNHEALTHY", generation=3),
        running(state="STOPPED"),
        running(state="COMPLETED"),
    ):
        deployed.tick(status)
        seen.append(deployed.health())
    assert seen == ["HEALTHY", "WARNING", "WARNING", "DEGRADED", "HEALTHY", "WARNING", "HEALTHY", "HEALTHY"]


def test_the_check_of_a_redeploy_stands_after_the_run_that_did_it(deployed: Deployed):
    deployed.tick()
    deployed.runtime.status = deployed.status
    deployed.runtime.redeployment = outcome(KEPT)
    deployed.run("demo__redeploy")
    assert KEEPS_STATE not in deployed.not_evaluated(DEPLOYMENT)
