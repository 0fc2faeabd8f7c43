from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial
from inspect import isfunction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import polars as pl
import pytest

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.kept_options import options_of
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.deployment.lasting_hosts import require_lasting_hosts
from streams_orchestration.runtime.deployment.requests import (
    ContinueFromState,
    FromSavepoint,
    Redeploy,
    Request,
    Revert,
    StartOver,
)
from streams_orchestration.runtime.deployment.reset import UnitReset
from streams_orchestration.runtime.errors.errors import NotDeployedError
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.observing.status_summaries import StatusSummary
from streams_orchestration.runtime.rollout.deploying import Deployment
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import UnitFailure, find_failures
from streams_orchestration.runtime.units.unit_status import Cut
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.orchestration.dagster_page import new_project
from streams_orchestration_tests.orchestration.statuses import NOW, measured, running
from streams_orchestration_tests.quick_storages import quick_storages

DEMO = """\
specVersion: 1
application: demo
submission:
  width: {type: int32, default: 2}
schemas: {Number: "n bigint"}
graph:
  - name: Numbers
    operator: Beacon
    parameters: {iterations: 1000}
    outputs: [{stream: Numbers, schema: Number}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
    config: {placement: {partitionIsolation: true}}
  - name: Even
    operator: Filter
    inputs: [Numbers]
    parameters: {filter: "n % 2 == 0"}
    annotations: {parallel: {width: "${width}"}}
    config: {placement: {partitionColocation: middle}}
  - name: Results
    operator: FileSink
    inputs: [Even]
    parameters: {file: even.csv, format: csv}
    config: {placement: {partitionIsolation: true}}
"""


@pytest.fixture(autouse=True, scope="package")
def quickly() -> Iterator[None]:
    """Most tests have a storage of Dagster's, or several."""
    with quick_storages():
        yield


@pytest.fixture(scope="session")
def scaffolded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the page of Dagster before anything is added; tests copy it."""
    return new_project(tmp_path_factory.mktemp("project"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def store(home: Home) -> ArtifactStore:
    return ArtifactStore(home)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture
def spec(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The file of the test module's `SPEC`, or else of `DEMO`."""
    path = tmp_path / "specs" / "demo.yaml"
    path.parent.mkdir()
    path.write_text(getattr(request.module, "SPEC", DEMO))
    return path


@pytest.fixture
def defs(spec: Path, home: Home) -> dg.Definitions:
    return build_application_definitions(spec, home)


def step(name: str, **config: Any) -> dict[str, Any]:
    """Return the config of a step of the deployment of `demo`, in a run that computes the asset."""
    return {"ops": {"demo__deployment": {"ops": {name: {"config": config}}}}}


def failure_of(result: dg.ExecuteInProcessResult | dg.JobExecutionResult) -> Any:
    """Return what the only step that failed in a run says."""
    (event,) = [each for each in result.all_events if each.is_step_failure]
    return event.step_failure_data


def evaluated(defs: dg.Definitions, sensor: str, instance: dg.DagsterInstance, cursor: str | None = None) -> Any:
    """Evaluate a tick of a sensor as the daemon does, and return its outcome."""
    context = dg.build_sensor_context(
        instance=instance,
        cursor=cursor,
        resources=dict(defs.resources or {}),
        repository_def=defs.get_repository_def(),
    )
    return defs.resolve_sensor_def(sensor).evaluate_tick(context)


def record(instance: dg.DagsterInstance, tick: Any) -> list[Any]:
    """Record the events of assets of a tick, and return them."""
    for event in tick.asset_events:
        instance.report_runless_asset_event(event)
    return list(tick.asset_events)


COURSES = frozenset({"start over", "take what is there", "go on", "replace"})
"""The calls that `Runtime.deploy_plan` records."""


class Runtime(SimpleNamespace):
    """Stands in for `runtime.deployment`: records calls, answers with `status`, or with `error` (to `refused` only)."""

    status: ApplicationStatus | None
    machines: tuple[Any, ...] = ()

    def __init__(self) -> None:
        super().__init__(
            calls=[], reasons=[], status=None, orphans=(), generation=1, error=None, refused=None, redeployment=None
        )
        self.deployed: Any = None
        self.under_way: str | None = None

    def _called(self, name: str, *arguments: Any) -> None:
        self.calls.append((name, *arguments))
        if self.error is not None and self.refused in (None, name):
            raise self.error

    def _start_hosts(self, catalog: Catalog, application: str) -> None:
        """Refuse to start hosts as the runtime does; `reasons` has the reason of each call, or None."""
        self.reasons.append(catalog.home.short_lived)
        require_lasting_hosts(catalog, application)

    def deploy_plan(self, catalog: Catalog, lock: StartLock, wanted: Deployable, request: Request) -> Deployment:
        """`redeployment` is what becomes of what is deployed."""
        self._start_hosts(catalog, wanted.name)
        before, replaces = self.status, False
        match request:
            case StartOver():
                self._called("start over", wanted.name)
            case ContinueFromState(run) | FromSavepoint(run=run):
                self._called("take what is there" if run.available_now else "go on", wanted.name)
            case Redeploy(drop_state) | Revert(drop_state):
                self._called("replace", wanted.name, *drop_state)
                replaces = before is not None
        self.status = before or running()
        return Deployment(redeployment=self.redeployment if replaces else None)

    def read_compilation(self, catalog: Catalog, application: str) -> Any:
        """`deployed` is what the catalog has."""
        if self.deployed is None:
            raise NotDeployedError(application, (), catalog.home.root)
        return self.deployed

    def report_lineage_failure(self, catalog: Catalog, application: str) -> None:
        self._called("report_lineage_failure", application)

    def describe_redeploy_under_way(self, catalog: Catalog, application: str) -> str | None:
        return self.under_way

    def read_compilation_if_any(self, catalog: Catalog, application: str) -> Any:
        return self.deployed

    def read_compilation_if_readable(self, catalog: Catalog, application: str) -> Any:
        return self.deployed

    def read_deployed_options(self, catalog: Catalog, application: str) -> Options | None:
        return None if self.deployed is None else options_of(self.deployed)

    def open_catalog(self, home: Home, application: str) -> Catalog:
        return Catalog(home)

    def preview_redeploy(self, catalog: Catalog, wanted: Deployable, *, stored: bool = True) -> Redeployment:
        """`redeployment` is what would become of what is deployed."""
        if self.redeployment is None:
            raise NotDeployedError(wanted.name, (), catalog.home.root)
        return self.redeployment

    def launch_hosts(self, catalog: Catalog, application: str, *, asked_at: float | None) -> tuple[str, ...]:
        self._start_hosts(catalog, application)
        self._called("launch_hosts", application)
        return ("host 0, pid 4711",)

    def await_running_pes(self, catalog: Catalog, application: str, timeout: float) -> Any:
        self._called("await_running_pes", application, timeout)
        return self.status

    def await_reset(
        self, catalog: Catalog, application: str, unit: str, failed: int | None, timeout: float, say: object
    ) -> None:
        self.reasons.append(catalog.home.short_lived)
        self._called("await_reset", application, unit, failed, timeout)

    def cancel_application(self, catalog: Catalog, application: str, timeout: float) -> tuple[Any, ...]:
        self._called("cancel_application", application, timeout)
        return self.orphans

    def stop_orphans(self, catalog: Catalog, application: str) -> tuple[Any, ...]:
        return self.orphans

    def reset_unit(
        self, catalog: Catalog, application: str, unit: str, *, generation: int | None = None, force: bool = False
    ) -> UnitReset:
        self._start_hosts(catalog, application)
        self._called("reset_unit", application, unit, generation, force)
        return UnitReset(self.generation, begun=self.generation > (generation or 1))

    def reset_failed_unit(self, catalog: Catalog, failure: UnitFailure) -> UnitReset:
        return self.reset_unit(catalog, failure.application, failure.unit, generation=failure.generation)

    def read_status(self, catalog: Catalog, application: str) -> Any:
        self._called("read_status", application)
        if self.status is None:
            raise NotDeployedError(application, (), catalog.home.root)
        return self.status

    def read_status_if_deployed(self, catalog: Catalog, application: str) -> Any:
        self._called("read_status", application)
        return self.status

    def require_deployed(self, catalog: Catalog, application: str) -> None:
        pass

    def read_machines(self, catalog: Catalog) -> tuple[Any, ...]:
        return self.machines

    def advance_and_read_status(self, catalog: Catalog, application: str) -> Any:
        return self.read_status(catalog, application)

    def watch_applications(self, home: Home, seconds: float) -> Iterator[dict[str, StatusSummary]]:
        """Yield one view, and the next one if `status` was changed meanwhile."""
        self._called("watch_applications", seconds)
        shown = None
        while self.status is not None and self.status != shown:  # the product polls until the time is over
            shown = self.status
            units = tuple((unit.name, unit.state, unit.generation, unit.row.reset_count) for unit in shown.units)
            suspected = tuple(failure.unit for failure in find_failures(shown, NOW))
            yield {shown.application: StatusSummary(shown.state, shown.life, units, suspected)}

    def check_cut_files(self, catalog: Catalog, application: str) -> None:
        self._called("check_cut_files", application)

    def read_first_rows(self, sink: Any, limit: int) -> pl.DataFrame | None:
        return pl.DataFrame({"n": [1, None], "text": ["x" * 200, "y"], "at": [date(2013, 1, 1)] * 2}).head(limit)

    def read_metrics(self, catalog: Catalog, application: str) -> ApplicationMetrics:
        return measured()

    def read_cuts(self, catalog: Catalog, application: str) -> dict[str, tuple[Cut, ...]]:
        return {"region-0": (Cut(3, NOW - 1, 0.1),)}

    def list_applications(self, catalog: Catalog) -> tuple[str, ...]:
        if self.error is not None:
            raise self.error
        return (self.status.application,) if self.status else ()

    def replace(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the place of the runtime's functions that this has, now and as later replaced on it."""
        for name in dir(type(self)):
            if not name.startswith("_") and name not in ("replace", "called") and isfunction(getattr(type(self), name)):
                replace_function(monkeypatch, api, name, partial(self._call, name))

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        return getattr(self, name)(*arguments, **named)

    @property
    def names(self) -> list[str]:
        return [call[0] for call in self.calls]

    def called(self, *names: str) -> set[str]:
        """Return the names among these that were called; fail if this can have no call of such a name."""
        assert all(name in COURSES or isfunction(getattr(type(self), name, None)) for name in names), names
        return set(names) & set(self.names)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    fake = Runtime()
    fake.replace(monkeypatch)
    return fake
