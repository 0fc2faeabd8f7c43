"""One function deploys a plan, whatever is deployed under its name."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import recompile
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.deployment import opening
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.opening import open_application
from streams_orchestration.runtime.deployment.requests import (
    ContinueFromState,
    FromSavepoint,
    Redeploy,
    Request,
    StartOver,
)
from streams_orchestration.runtime.deployment.run_kinds import RunKind
from streams_orchestration.runtime.errors.errors import ApplicationChangedError, NotDeployableError
from streams_orchestration.runtime.observing.compilations import read_compilation
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.redeployment import redeploying, trial_supervision
from streams_orchestration.runtime.rollout import deploying
from streams_orchestration.runtime.rollout.deploying import Deployment
from streams_orchestration.runtime.savepoints.manifest import SavepointError
from streams_orchestration.runtime.savepoints.restoring import restore
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, node, source, totals, write_rows
from streams_orchestration_tests.runtime.locked import create_savepoint, deploy_plan


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def plan(tmp_path: Path) -> Callable[[int], PlannedCompilation]:
    """The same application with a number of PEs, each of them another plan."""
    file = write_rows(tmp_path / "rows.parquet", 3)
    return lambda pes: totals(file, fusion="manual", pes=pes)


def pes(home: Home, compilation: PlannedCompilation) -> int:
    return len(read_status(Catalog(home), compilation.logical.application).pes)


def life(home: Home, compilation: PlannedCompilation) -> str:
    return read_status(Catalog(home), compilation.logical.application).life


def test_an_application_that_was_never_deployed_starts_from_nothing(
    home: Home, plan: Callable[[int], PlannedCompilation]
) -> None:
    assert deploy_plan(home, deployable(plan(1))) == Deployment()
    assert pes(home, plan(1)) == 1


def test_the_same_plan_goes_on_and_so_it_may_be_repeated(home: Home, plan: Callable[[int], PlannedCompilation]) -> None:
    deploy_plan(home, deployable(plan(1)))
    began = life(home, plan(1))
    cancel_application(Catalog(home), plan(1).logical.application)
    for _ in range(2):
        assert deploy_plan(home, deployable(plan(1))) == Deployment()
        assert read_status(Catalog(home), plan(1).logical.application).state == "RUNNING"
    assert life(home, plan(1)) == began


def test_another_plan_is_refused_unless_it_is_to_replace_the_deployed_one(
    home: Home, plan: Callable[[int], PlannedCompilation]
) -> None:
    deploy_plan(home, deployable(plan(1)))
    with pytest.raises(ApplicationChangedError, match="streams redeploy"):
        deploy_plan(home, deployable(plan(2)))
    assert pes(home, plan(1)) == 1


def test_the_plan_that_is_deployed_already_replaces_nothing(
    home: Home, plan: Callable[[int], PlannedCompilation]
) -> None:
    deploy_plan(home, deployable(plan(1)))
    cancel_application(Catalog(home), plan(1).logical.application)
    redeployment = deploy_plan(home, deployable(plan(1)), Redeploy()).redeployment
    assert redeployment is not None
    assert redeployment.verdict == "unchanged"
    assert read_status(Catalog(home), plan(1).logical.application).state == "RUNNING"


@pytest.fixture
def starts(home: Home, plan: Callable[[int], PlannedCompilation], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For each start of hosts, the number of PEs in the plan that is then deployed; no host is started."""
    starts: list[int] = []
    for module in (redeploying, trial_supervision):
        monkeypatch.setattr(module, "launch_hosts", lambda *_, **__: starts.append(pes(home, plan(1))))
    monkeypatch.setattr(redeploying, "supervise_trial", lambda *_, **__: None)
    return starts


def test_a_redeploy_writes_its_plan_then_starts_hosts_once(
    home: Home, plan: Callable[[int], PlannedCompilation], starts: list[int]
) -> None:
    deploy_plan(home, deployable(plan(1)))
    brought = deploy_plan(home, deployable(plan(2)), Redeploy()).redeployment
    assert (starts, pes(home, plan(1))) == ([2], 2)
    assert brought is not None
    with Catalog(home).write() as connection:
        connection.execute(update(tables.trial).values(state="PASSED", ended_at=1.0))
    with lock_start(home, plan(1).logical.application, "redeploy") as lock:
        brought = deploying.deploy_plan(Catalog(home), lock, deployable(plan(3)), Redeploy()).redeployment
    assert starts == [2, 3]
    assert brought is not None
    assert brought.verdict == "kept"


def test_a_fresh_start_may_replace_another_plan(home: Home, plan: Callable[[int], PlannedCompilation]) -> None:
    deploy_plan(home, deployable(plan(1)))
    began = life(home, plan(1))
    assert deploy_plan(home, deployable(plan(2)), StartOver()) == Deployment()
    assert pes(home, plan(2)) == 2
    assert life(home, plan(2)) != began


def test_a_savepoint_is_where_it_begins_if_nothing_is_deployed_or_that_is_dropped(
    home: Home, plan: Callable[[int], PlannedCompilation]
) -> None:
    wanted = deployable(plan(1))
    deploy_plan(home, wanted)
    cancel_application(Catalog(home), wanted.name)
    create_savepoint(home, wanted.name, "noon")
    with pytest.raises(SavepointError, match="is deployed and would continue from its last complete epoch"):
        deploy_plan(home, wanted, FromSavepoint("noon"))
    restored = deploy_plan(home, deployable(plan(2)), FromSavepoint("noon", fresh=True)).restored
    assert restored is not None
    assert restored.manifest.name == "noon"
    assert pes(home, plan(2)) == 2


def test_a_process_that_dies_after_a_start_from_a_savepoint_leaves_the_kind_of_run_that_was_wanted(
    home: Home, plan: Callable[[int], PlannedCompilation]
) -> None:
    wanted = deployable(plan(1))
    deploy_plan(home, wanted)
    cancel_application(Catalog(home), wanted.name)
    place = create_savepoint(home, wanted.name, "noon").place
    with lock_start(home, wanted.name, "restore") as lock:
        restore(open_application(Catalog(home), lock, wanted, RunKind(available_now=True)), place, fresh=True)
    assert read_status(Catalog(home), wanted.name).bounded


def test_an_application_begins_with_its_own_of_several_savepoints_with_one_name(
    home: Home, plan: Callable[[int], PlannedCompilation]
) -> None:
    own = plan(1)
    clone = replace(own, logical=replace(own.logical, application="clone"), options=Options(name="clone"))
    for each in (own, recompile(clone)):
        deploy_plan(home, deployable(each))
        cancel_application(Catalog(home), each.logical.application)
        create_savepoint(home, each.logical.application, "noon")
    for each in (own, recompile(clone)):
        restored = deploy_plan(home, deployable(each), FromSavepoint("noon", fresh=True)).restored
        assert restored is not None
        assert restored.place.application == restored.manifest.application == each.logical.application


@pytest.mark.parametrize("request_", [ContinueFromState(), Redeploy()])
def test_nobody_else_deploys_between_the_look_and_the_deployment(
    home: Home, plan: Callable[[int], PlannedCompilation], monkeypatch: pytest.MonkeyPatch, request_: Request
) -> None:
    original = deploying.write_first_plan

    def write_alone(*arguments: object, **options: object) -> None:
        with home.start_lock(wanted.name).open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        original(*arguments, **options)  # pyright: ignore[reportArgumentType]

    wanted = deployable(plan(1))
    monkeypatch.setattr(deploying, "write_first_plan", write_alone)
    deploy_plan(home, wanted, request_)
    assert read_compilation(Catalog(home), wanted.name).fusion == plan(1).fusion


def test_a_stage_that_breaks_its_condition_is_not_deployed(
    home: Home, plan: Callable[[int], PlannedCompilation], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = deployable(plan(1))
    monkeypatch.setattr(
        opening, "broken_conditions", lambda _: "which is a bug: fusion_plan: operator Rows is in no PE"
    )
    with pytest.raises(NotDeployableError, match="which is a bug: fusion_plan: operator Rows"):
        deploy_plan(home, wanted)
    assert not home.catalog.exists()


@pytest.mark.parametrize("request_", [Redeploy(), FromSavepoint("noon", fresh=True)])
def test_an_application_that_cannot_run_here_is_refused_before_the_deployed_one_is_touched(
    home: Home, tmp_path: Path, request_: Request
) -> None:
    def plan(path: str) -> PlannedCompilation:
        rows = write_rows(tmp_path / "rows.parquet", 3)
        parameters = {"url": f"http://127.0.0.1:1/{path}"}
        return compiled([source("Rows", rows), node("Post", "HttpSink", "Rows", outputs=[], parameters=parameters)])

    deploy_plan(home, deployable(plan("plain")))
    before = read_status(Catalog(home), "app")
    cancel_application(Catalog(home), "app")
    create_savepoint(home, "app", "noon")
    with pytest.raises(NotDeployableError, match=r"app is not started: .*NO_PATH"):
        deploy_plan(home, deployable(plan("${env:NO_PATH}")), request_)
    after = read_status(Catalog(home), "app")
    assert (after.life, after.fingerprint, after.state) == (before.life, before.fingerprint, "STOPPED")
