"""A savepoint is there whole or not at all, and its application runs on whatever becomes of it."""

from __future__ import annotations

import errno
import importlib
import os
import shutil
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.errors.errors import NotDeployedError
from streams_orchestration.runtime.redeployment import draining
from streams_orchestration.runtime.redeployment.trial_supervision import OnTrialError
from streams_orchestration.runtime.savepoints import atomic_places, copying, creating
from streams_orchestration.runtime.savepoints.atomic_places import find_savepoint, list_savepoints, remove_savepoint
from streams_orchestration.runtime.savepoints.copying import export_savepoint, import_savepoint
from streams_orchestration.runtime.savepoints.manifest import SavepointError, read_manifest
from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration.runtime.units.holding import HeldUnits
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime.applications import published
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import create_savepoint, deploy
from streams_orchestration_tests.runtime.redeployed import counts, drained, expected_counts, redeploy, run_some, visits
from streams_orchestration_tests.runtime.running import FakeHosts
from streams_orchestration_tests.runtime.saved import begun, take
from streams_orchestration_tests.runtime.shaped import compilation

pytestmark = pytest.mark.slow


PASSING = """
from streams_orchestration.operators import Operator, TupleBatch

class Passing(Operator):
    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)
"""
OWN = """
specVersion: 1
application: app
operators: {Passing: {implementation: "beside_the_spec:Passing", outputs: [{}]}}
graph:
  - name: Made
    operator: Beacon
    outputs: [{stream: Made, schema: n bigint}]
    parameters: {iterations: 3}
  - {name: Passed, operator: Passing, inputs: [Made], outputs: [{stream: Passed, schema: n bigint}]}
  - {name: Out, operator: FileSink, inputs: [Passed], parameters: {file: out}}
"""


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    application = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 3), source_limit=4)
    run_some(application, 4)
    return application


def held(local: LocalApplication) -> bool:
    u = tables.unit
    with local.catalog.read() as connection:
        return connection.execute(select(u.c.name).where(u.c.held_until.is_not(None))).first() is not None


def test_the_application_runs_on(local: LocalApplication):
    created = take(local)
    assert created.manifest.title == "app/point"
    assert {state.operator for state in created.manifest.states} >= {"Counted[0].Seen", "Counted[1].Kept"}
    assert not held(local)
    local.run()
    assert counts(local) == expected_counts()


def test_its_files_outlive_the_collection_and_the_application(local: LocalApplication, tmp_path: Path):
    created = take(local)
    local.run()
    collect_garbage(local.catalog, local.name, local.programs)
    deploy(local.home, deployable(local.compilation), fresh=True)
    other = begun(Home(tmp_path / "other"), visits(tmp_path, 2, 3), created.place)
    other.run()
    assert max(counts(other).values()) == max(expected_counts().values())


def test_a_name_is_taken_once_and_is_plain(local: LocalApplication):
    take(local)
    with pytest.raises(SavepointError, match="app has a savepoint point already"):
        take(local)
    with pytest.raises(SavepointError, match=r"'\.\./x' cannot be the name"):
        take(local, "../x")
    with pytest.raises(NotDeployedError, match="nobody: no such application"):
        create_savepoint(local.home, "nobody")


def test_operators_of_its_own_stand_beside_the_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "beside_the_spec.py").write_text(PASSING)
    (tmp_path / "own.yaml").write_text(OWN)
    monkeypatch.setattr(sys, "path", list(sys.path))
    local = LocalApplication(Home(tmp_path / "home"), compile_spec(tmp_path / "own.yaml"))
    forgotten = [place for place in sys.path if place != str(tmp_path)]
    monkeypatch.setattr(sys, "path", forgotten)  # as in the process of a command that compiles nothing
    del sys.modules["beside_the_spec"]
    assert take(local).manifest.sinks[0].operator == "Out"
    del sys.modules["beside_the_spec"]
    (tmp_path / "beside_the_spec.py").unlink()
    importlib.invalidate_caches()
    with pytest.raises(SavepointError, match=r"beside_the_spec:Passing: the module cannot be imported"):
        take(local, "second")
    assert not held(local)


def test_a_savepoint_without_a_name_is_named_by_its_time(local: LocalApplication):
    assert take(local, "").manifest.name.startswith("2")


def test_the_application_is_held_for_as_long_as_it_takes(local: LocalApplication, monkeypatch: pytest.MonkeyPatch):
    holds, renewed = [0], threading.Event()

    def hold(*arguments: Any, **named: Any) -> None:
        holds[0] += 1
        draining_hold(*arguments, **named)
        if holds[0] > 1:
            renewed.set()

    def slow(held_units: HeldUnits) -> bool:
        assert renewed.wait(10.0)
        drained(local, list(held_units.names))
        return True

    draining_hold = draining.hold_units
    monkeypatch.setattr(draining, "HOLD_SECONDS", 0.03)
    monkeypatch.setattr(draining, "hold_units", hold)
    monkeypatch.setattr(creating, "postpone_if_drained", slow)
    create_savepoint(local.home, local.name, "point")
    assert not held(local)


def test_an_application_that_reaches_no_cut_runs_on_without_a_savepoint(local: LocalApplication, hosts: FakeHosts):
    with pytest.raises(SavepointError, match=r"no savepoint was taken: region-0 has not closed its epoch after 0 s"):
        create_savepoint(local.home, "app", "point", within=0.0)
    assert list(list_savepoints(local.home)) == []
    assert not held(local)
    local.run()
    assert counts(local) == expected_counts()


def test_a_failed_unit_is_not_reset_for_a_savepoint(local: LocalApplication, hosts: FakeHosts):
    with local.catalog.write() as connection:
        connection.execute(update(tables.unit).values(state="UNHEALTHY"))
    with pytest.raises(SavepointError, match=r"has not closed its epoch, region-0 is UNHEALTHY"):
        create_savepoint(local.home, "app", "point", within=0.0)


def test_a_savepoint_of_a_unit_that_is_reset_no_more_is_refused_at_once(local: LocalApplication, hosts: FakeHosts):
    with local.catalog.write() as connection:
        connection.execute(update(tables.unit).values(state=LIMIT, attempts=99))
    with pytest.raises(SavepointError, match=r"region-0 has failed and is no longer reset.*--force"):
        create_savepoint(local.home, "app", "point", within=0.0)


def test_a_savepoint_during_a_trial_is_refused(local: LocalApplication, tmp_path: Path, hosts: FakeHosts):
    redeploy(local, visits(tmp_path, 3, 3))
    cancel_application(local.catalog, local.name, 0.1)
    with pytest.raises(OnTrialError, match="was stopped while its last redeploy was on trial"):
        take(local)
    assert list(list_savepoints(local.home)) == []


def test_a_region_that_its_operator_drives_is_named(data: Path, tmp_path: Path, hosts: FakeHosts):
    driven = LocalApplication(Home(tmp_path / "home"), compilation(data, "an operator drives a diamond", 0), 4)
    run_some(driven, 2)
    with pytest.raises(SavepointError, match="region-0 ends an epoch only when its start operator requests it"):
        create_savepoint(driven.home, driven.name, within=0.0)


def test_a_savepoint_of_an_application_stopped_at_its_cut_starts_no_host(local: LocalApplication, hosts: FakeHosts):
    take(local, "first")
    cancel_application(local.catalog, "app", 1.0)
    second = create_savepoint(local.home, "app", "second").manifest
    first = read_manifest(find_savepoint(local.home, "first"))
    assert hosts.launched == []
    assert (second.positions, second.epoch) == (first.positions, first.epoch)


def test_a_savepoint_of_a_stopped_application_runs_it_to_its_cut_and_stops_it_again(
    local: LocalApplication, hosts: FakeHosts, tmp_path: Path
):
    cancel_application(local.catalog, "app", 1.0)
    created = take_with_hosts(local)
    with local.catalog.read() as connection:
        assert connection.scalar(select(tables.application.c.state)) == "STOPPED"
    assert hosts.launched
    other = begun(Home(tmp_path / "other"), visits(tmp_path, 2, 3), created)
    other.run()
    assert counts(local) | counts(other) == expected_counts()


Step = Callable[[LocalApplication, Path], object]
FORBIDDEN: dict[str, tuple[str, Step]] = {
    "create: the savepoints": ("savepoints/app", lambda local, _: take(local, "other")),
    "create: the place": ("savepoints/app/.other.partial", lambda local, _: take(local, "other")),
    "list": ("savepoints/app", lambda local, _: list(list_savepoints(local.home))),
    "show": ("savepoints/app", lambda local, _: find_savepoint(local.home, "point")),
    "remove": ("savepoints/app", lambda local, _: remove_savepoint(local.home, "point")),
    "a manifest": (
        "savepoints/app/point/manifest.json",
        lambda local, _: read_manifest(next(list_savepoints(local.home))),
    ),
    "export": ("out", lambda local, _: export_savepoint(local.home, "point", local.home.root / "out")),
    "import": ("savepoints/app", lambda local, place: import_savepoint(local.home, place / "kept")),
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_a_missing_permission_is_named_with_the_remedy(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
):
    take(local)
    export_savepoint(local.home, "point", tmp_path / "kept")
    name, step = FORBIDDEN[case]
    forbid(local.home.root / name, monkeypatch)
    with pytest.raises(SavepointError, match=r": Permission denied\..* permission|: Permission denied\..* the right"):
        step(local, tmp_path)
    monkeypatch.undo()
    assert [path.name for path in list_savepoints(local.home)] == ["point"]
    assert not held(local)


def forbid(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every use of a place and of paths below it; rights would not do that for root."""

    def refusing(function: Any) -> Any:
        def call(path: Any, *arguments: Any, **named: Any) -> Any:
            if isinstance(path, str | Path) and Path(path).absolute().is_relative_to(place):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return function(path, *arguments, **named)

        return call

    for name in ("stat", "mkdir", "listdir", "scandir", "open", "rename"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    for name in ("open", "read_bytes"):
        monkeypatch.setattr(Path, name, refusing(getattr(Path, name)))


class KilledError(BaseException):
    """A kill of the process, which does nothing after it."""


def test_a_stopped_application_stays_so_if_the_process_that_runs_it_for_a_savepoint_is_killed(
    local: LocalApplication, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
):
    def die(*_: object, **__: object) -> None:
        raise KilledError

    def wanted() -> str | None:
        advance_units(local.catalog, "app")
        with local.catalog.read() as connection:
            return connection.scalar(select(tables.application.c.wanted))

    cancel_application(local.catalog, "app", 1.0)
    with monkeypatch.context() as patch:
        patch.setattr(creating, "launch_hosts", die)
        patch.setattr(creating, "cancel_application", die)
        with pytest.raises(KilledError):
            create_savepoint(local.home, "app", "point")
    assert wanted() == "RUNNING", "it may be on its way to its cut"
    with local.catalog.write() as connection:
        connection.execute(update(tables.application).values(runs_until=0.0))
    assert wanted() == "STOPPED"
    local.run()
    assert counts(local) == expected_counts()


def take_with_hosts(local: LocalApplication) -> SavepointPlace:
    """Only the second poll steps the PEs: the hosts are up by then."""
    whole = creating.drain
    stepping = take.__globals__["drained"]

    def drain(held_units: HeldUnits, *arguments: Any, **named: Any) -> str:
        stepping(local, list(held_units.names))
        return whole(held_units, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(creating, "postpone_if_drained", lambda *_: False)
        patch.setattr(creating, "drain", drain)
        patch.setattr(creating, "cancel_application", partial(cancel_application, timeout=0.0))
        return create_savepoint(local.home, "app", "point").place


def test_a_savepoint_of_a_complete_application_gives_nothing_twice(local: LocalApplication, tmp_path: Path):
    local.run()
    created = create_savepoint(local.home, "app", "end")
    assert created.manifest.complete
    other = begun(Home(tmp_path / "other"), visits(tmp_path, 2, 3), created.place)
    other.run()
    assert published(other.published("Out")) == []


STEPS: dict[str, Step] = {
    "create": lambda local, _: take(local, "other"),
    "export": lambda local, place: export_savepoint(local.home, "point", place / "exported"),
    "import": lambda _, place: import_savepoint(Home(place / "second"), place / "kept"),
}


@pytest.mark.covering
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("survived", [0, pytest.param(1, marks=pytest.mark.deep), 3])
def test_a_disk_that_is_full_leaves_nothing(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, survived: int
):
    take(local)
    export_savepoint(local.home, "point", tmp_path / "kept")
    writes = [0]

    def full(write: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            writes[0] += 1
            if writes[0] > survived:
                raise OSError(errno.ENOSPC, "No space left on device", str(arguments[-1]))
            write(*arguments)

        return call

    monkeypatch.setattr(Store, "copy", full(Store.copy))
    monkeypatch.setattr(SavepointPlace, "write", full(SavepointPlace.write))
    with pytest.raises(
        SavepointError, match=r"cannot be written: No space left on device\. The incomplete savepoint was removed"
    ):
        STEPS[step](local, tmp_path)
    assert [path.name for path in list_savepoints(local.home)] == ["point"]
    assert list(list_savepoints(Home(tmp_path / "second"))) == []
    assert not (tmp_path / "exported").exists()
    assert not list(tmp_path.rglob("*.partial"))
    monkeypatch.undo()
    local.run()
    assert counts(local) == expected_counts()


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_step_leaves_no_partial_savepoint_and_may_be_repeated(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    take(local)
    export_savepoint(local.home, "point", tmp_path / "kept")

    class KilledError(BaseException):
        """The process is gone: nothing that it would clean up is cleaned up."""

    def killed(*_: object) -> None:
        raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atomic_places.shutil, "rmtree", lambda *_, **__: None)
        for module in (creating, copying):
            patch.setattr(module, "write_manifest", killed)
        with pytest.raises(KilledError):
            STEPS[step](local, tmp_path)
    assert [path.name for path in list_savepoints(local.home)] == ["point"]
    assert not (tmp_path / "exported").exists()
    assert list(tmp_path.rglob("*.partial"))
    STEPS[step](local, tmp_path)
    assert not list(tmp_path.rglob("*.partial"))


def test_removed_is_gone_whole(local: LocalApplication):
    path = take(local).place.path
    assert path is not None and path.exists()
    assert remove_savepoint(local.home, "point") == "app/point"
    assert not path.exists()
    assert list(list_savepoints(local.home)) == []
    with pytest.raises(SavepointError, match="There are no savepoints yet"):
        remove_savepoint(local.home, "point")


def test_an_exported_savepoint_is_none_of_the_state_directory(local: LocalApplication, tmp_path: Path):
    take(local)
    exported = export_savepoint(local.home, "point", tmp_path / "exported").place
    assert exported.path == tmp_path / "exported"
    with pytest.raises(SavepointError, match="is not a savepoint of"):
        remove_savepoint(local.home, str(exported))
    shutil.rmtree(tmp_path / "exported")
