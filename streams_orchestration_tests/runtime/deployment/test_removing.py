"""Removal of an application for good, on both databases."""

from __future__ import annotations

import itertools
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import recompile
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.deployment import dropping, removing
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.removing import NotRemovedError, preview_removal, remove_application
from streams_orchestration.runtime.deployment.requests import ContinueFromState, Redeploy, StartOver
from streams_orchestration.runtime.errors.errors import CatalogPlaceError, NotDeployableError, NotDeployedError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.runtime.applications import compiled, published, sink, source, write_rows
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.exporting import doubled, exporter, importer, run_until_idle
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy, deploy_plan
from streams_orchestration_tests.runtime.running import Running
from streams_orchestration_tests.runtime.stored import store_in
from streams_orchestration_tests.servers.s3 import S3

pytestmark = pytest.mark.usefixtures("database")

COUNT = 20


def application(directory: Path, name: str = "app", target: str = "target") -> LocalApplication:
    """Return an application whose sink writes to a directory outside of the state directory."""
    file = write_rows(directory / "rows.parquet", COUNT)
    parameters = {"file": str(directory / target), "closeMode": "batch"}
    graph = [source("Rows", file), sink("Out", "Rows", parameters=parameters), sink("Inside", "Rows")]
    return LocalApplication(Home(directory / "home"), compiled(graph, application=name, fusion="manual", pes=1), 5)


def stopped(directory: Path, **options: Any) -> LocalApplication:
    """Return a stopped application with published results, waiting outputs, logs and documents."""
    local = application(directory, **options)
    local.commit()
    local.commit(boundary=True)
    local.publish()
    local.commit()
    for path in (local.home.logs(local.name) / "pe-0.log", local.home.artifacts / local.name / "logical.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    cancel_application(local.catalog, local.name, 0.0)
    return local


def remove(home: Home, name: str = "app", **options: Any) -> None:
    with lock_start(home.prepare(), name, "streams remove") as lock:
        remove_application(Catalog(home), lock, name, **options)


def rows_of(catalog: Catalog, name: str) -> list[str]:
    """Return the tables that have rows of an application."""
    named = [table for table in tables.metadata.sorted_tables if "application" in table.c]
    with catalog.read() as connection:
        left = [t.name for t in named if connection.execute(select(t).where(t.c.application == name)).first()]
    return [*left, *(each for each in list_applications(catalog) if each == name)]


def files_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_a_removed_application_leaves_its_results_and_nothing_else(tmp_path: Path):
    local = stopped(tmp_path)
    savepoint, inside = local.home.root / "savepoints" / "app" / "point", local.home.results("app") / "Inside"
    savepoint.mkdir(parents=True)
    visible = [path.name for path in (tmp_path / "target").glob("part-*")]
    assert visible
    assert any((tmp_path / "target" / "_pending").iterdir())
    removal = preview_removal(local.catalog, "app")
    assert "batch_commit" in rows_of(local.catalog, "app")
    remove(local.home)
    assert rows_of(local.catalog, "app") == []
    directories = [local.home.data("app"), local.home.logs("app"), local.home.artifacts / "app"]
    assert not any(directory.exists() for directory in directories)
    assert files_in(tmp_path / "target") == sorted(visible)
    assert [path.name for path in inside.glob("part-*")]
    assert savepoint.exists()
    places = {part.place: part.content for part in removal.files}
    assert places[str(tmp_path / "target" / "_pending")] == "waiting outputs"
    assert not any(part.content == "published results" for part in removal.files)
    with pytest.raises(NotDeployedError, match=r"app: no such application .*Nothing is deployed there"):
        read_status(local.catalog, "app")


def test_a_removed_application_begins_again_from_zero_once_its_results_are_gone(tmp_path: Path):
    local = stopped(tmp_path)
    remove(local.home)
    with pytest.raises(NotDeployableError, match=r"files? of an earlier run"):
        deploy(local.home, deployable(local.compilation))
    remove(local.home, results=True)  # the results in the state directory; no row says where others are
    for path in (tmp_path / "target").iterdir():
        path.unlink()
    again = application(tmp_path)
    again.run()
    assert len(published(again.published("Inside"))) == COUNT


def test_results_go_with_it_if_that_is_asked_for(tmp_path: Path):
    local = stopped(tmp_path)
    other = tmp_path / "target" / "of-a-user.parquet"
    other.touch()
    shown = {part.place for part in preview_removal(local.catalog, "app", results=True).files}
    assert {str(tmp_path / "target"), str(local.home.results("app"))} <= shown
    remove(local.home, results=True)
    assert files_in(tmp_path / "target") == [other.name]
    assert not local.home.results("app").exists()


def test_an_application_that_is_to_run_is_refused(running: Running):
    running.work()
    with pytest.raises(NotRemovedError, match=r"app is not removed: it has running hosts \(host 0.*streams cancel app"):
        remove(running.home)
    running.kill_host()
    with pytest.raises(NotRemovedError, match=r"it is RUNNING, so its hosts would be .*streams cancel app"):
        preview_removal(running.catalog, "app")
    cancel_application(running.catalog, "app", 0.0)
    remove(running.home)
    assert rows_of(running.catalog, "app") == []


def test_the_plan_is_needed_for_the_results_only(tmp_path: Path):
    local = stopped(tmp_path)
    with local.catalog.write() as connection:
        connection.execute(update(tables.pe).values(program=b"{}"))
        connection.execute(update(tables.application).values(compilation=b"{}"))
    with pytest.raises(NotRemovedError, match=r"results cannot be found: .*another version.*without --results"):
        remove(local.home, results=True)
    assert rows_of(local.catalog, "app")
    remove(local.home)
    assert rows_of(local.catalog, "app") == []


class Interruption(BaseException):
    """The end of the process, as by a signal."""


def test_an_interrupted_removal_is_completed_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = itertools.count()
    until = -1

    def before(function: Any) -> Any:
        def interrupted(*arguments: Any, **options: Any) -> Any:
            if next(steps) == until:
                raise Interruption
            return function(*arguments, **options)

        return interrupted

    monkeypatch.setattr(shutil, "rmtree", before(shutil.rmtree))
    monkeypatch.setattr(removing, "delete_rows", before(removing.delete_rows))
    monkeypatch.setattr(removing, "sync_removals", before(removing.sync_removals))
    known: list[bool] = []
    for end in range(12):
        until, steps = -1, itertools.count()
        local = stopped(tmp_path)
        until, steps = end, itertools.count()
        try:
            remove(local.home, results=True)
        except Interruption:
            known.append("app" in list_applications(local.catalog))
            with suppress(NotDeployedError):  # only the last flush was left
                remove(local.home, results=True)
        assert rows_of(local.catalog, "app") == []
        assert files_in(tmp_path / "target") == []
        assert not any((local.home.root / name / "app").exists() for name in ("data", "logs", "artifacts", "results"))
        with pytest.raises(NotDeployedError):
            remove(local.home, results=True)
    assert known == sorted(known, reverse=True)
    assert set(known) == {True, False}


@pytest.mark.parametrize("fresh", [False, True])
def test_a_partly_removed_application_does_not_continue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: bool):
    def interrupted(*_: object) -> None:
        raise Interruption

    local = stopped(tmp_path)
    wanted = deployable(local.compilation)
    with monkeypatch.context() as patch, pytest.raises(Interruption):
        patch.setattr(dropping if fresh else removing, "delete_rows", interrupted)
        if fresh:
            deploy_plan(local.home, wanted, StartOver())
        else:
            remove(local.home, results=True)
    assert not any((tmp_path / "target").glob("part-*"))
    cancel_application(local.catalog, "app", 0.0)
    wider = deployable(recompile(replace(local.compilation, options=Options(fusion="manual", pes=3))))
    for again, request in ((wanted, ContinueFromState()), (wanted, Redeploy()), (wider, Redeploy())):
        with pytest.raises(NotDeployableError, match=r"app is partly removed.*`streams remove app`.*--fresh"):
            deploy_plan(local.home, again, request)
    deploy_plan(local.home, wanted, StartOver())
    assert read_status(local.catalog, "app").state == "RUNNING"


def test_a_partly_removed_application_does_not_count_as_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object) -> None:
        raise Interruption

    local = application(tmp_path)
    local.run()
    with monkeypatch.context() as patch, pytest.raises(Interruption):
        patch.setattr(removing, "delete_rows", interrupted)
        remove(local.home, results=True)
    assert read_status(local.catalog, "app").state == "STOPPED", "a run would show results that are gone"
    with pytest.raises(NotDeployableError, match="app is partly removed"):
        deploy_plan(local.home, deployable(local.compilation), ContinueFromState())
    remove(local.home, results=True)
    assert rows_of(local.catalog, "app") == []


def test_a_file_that_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    local = stopped(tmp_path)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch, pytest.raises(NotRemovedError, match=r"_pending: Permission denied.*repeat"):
        patch.setattr(shutil, "rmtree", refuse)
        remove(local.home)
    assert rows_of(local.catalog, "app")
    remove(local.home)


@POSTGRESQL_IS_DEEP
@pytest.mark.parametrize("name", ["..", "", ".standby", "other"])
def test_only_what_has_the_name_of_an_application_is_removed(tmp_path: Path, name: str):
    local = stopped(tmp_path)
    local.home.logs(".standby").mkdir()
    with pytest.raises(NotDeployedError, match=r"Deployed there: app"):
        preview_removal(local.catalog, name, results=True)


def test_files_of_another_catalog_are_left(tmp_path: Path):
    local = stopped(tmp_path)
    with local.catalog.write() as connection:
        removing.delete_rows(connection, "app")
    local.home.place.write_text("postgresql://elsewhere/catalog\n")
    with pytest.raises(CatalogPlaceError, match=r"is in postgresql://elsewhere/catalog"):
        preview_removal(local.catalog, "app")


def test_an_importer_goes_on_without_the_removed_exporter(tmp_path: Path):
    writer = exporter(tmp_path, 40, streamId="s")
    reader = importer(tmp_path, application="exporter", streamId="s")
    run_until_idle(writer, reader)
    cancel_application(writer.catalog, "exporter", 0.0)
    remove(writer.home, "exporter")
    assert [each.connections for each in read_status(reader.catalog, "importer").imports] == [()]
    run_until_idle(reader)
    run_until_idle(exporter(tmp_path, 40, streamId="s"), reader)
    assert published(reader.published("Kept")) == sorted(doubled(40) * 2)


@POSTGRESQL_IS_DEEP
def test_outputs_of_another_application_that_wait_at_the_same_place_stay(tmp_path: Path):
    first, second = application(tmp_path), application(tmp_path, "other")
    for local in (first, second):
        local.commit()
    cancel_application(first.catalog, "app", 0.0)
    before = files_in(tmp_path / "target" / "_pending")
    remove(first.home)
    assert files_in(tmp_path / "target" / "_pending") == before


@pytest.mark.parametrize("s3", ["moto"], indirect=True)
@POSTGRESQL_IS_DEEP
def test_files_in_an_object_store_are_removed(tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch):
    directory = store_in(s3, monkeypatch)
    local = stopped(tmp_path)
    assert s3.names(f"{directory}/data/app")
    places = [part.place for part in preview_removal(local.catalog, "app").files]
    assert any(place.startswith("s3://") for place in places)
    with local.catalog.write() as connection:
        removing.delete_rows(connection, "app")
    remove(local.home)  # after an interruption
    assert s3.names(f"{directory}/data/app") == []
