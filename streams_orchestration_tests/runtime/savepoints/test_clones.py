"""Clones leave alone what the first application works with; one that moves goes on with it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.savepoints.atomic_places import list_savepoints
from streams_orchestration.runtime.savepoints.manifest import SavepointError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.runtime.applications import (
    compiled,
    node,
    published,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.exporting import (
    doubled,
    export,
    exporter,
    heard,
    imported,
    importer,
    run_until_idle,
)
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy, restore
from streams_orchestration_tests.runtime.redeployed import COUNT, adopt, run_some
from streams_orchestration_tests.runtime.saved import begun, take

pytestmark = pytest.mark.slow


def totals(directory: Path, out: str = "Out", **options: Any) -> PlannedCompilation:
    """Rows -> running totals -> files in `out`."""
    file = write_rows(directory / "rows.parquet", COUNT)
    parameters = {"file": out, "closeMode": "batch"}
    kept = node("Totals", "KeyedTotals", "Rows", schema="Total")
    return compiled([source("Rows", file), kept, sink("Out", "Totals", parameters=parameters)], **options)


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    application = LocalApplication(Home(tmp_path / "home"), totals(tmp_path), source_limit=4)
    run_some(application, 4)
    return application


def test_a_clone_runs_beside_the_first(local: LocalApplication, tmp_path: Path):
    place = take(local).place
    before = published(local.published("Out"))
    clone = begun(local.home, totals(tmp_path, name="other"), place)
    clone.run()
    local.run()
    assert clone.name == "other"
    assert sorted(before + published(clone.published("Out"))) == published(local.published("Out"))
    assert list_applications(local.catalog) == ("app", "other")


def test_a_clone_writes_nowhere_where_the_first_does(tmp_path: Path):
    out = str(tmp_path / "out")
    local = LocalApplication(Home(tmp_path / "home"), totals(tmp_path, out), source_limit=4)
    run_some(local, 4)
    place = take(local).place
    for home in (local.home, Home(tmp_path / "elsewhere")):
        with pytest.raises(SavepointError, match=r"Out of other would write to .*/out, as app does.*--set"):
            restore(home, deployable(totals(tmp_path, out, name="other")), place)
    begun(local.home, totals(tmp_path, str(tmp_path / "own"), name="other"), place).run()


def test_a_moved_application_continues_behind_its_own_files(local: LocalApplication, tmp_path: Path):
    place = take(local).place
    moved = Home(tmp_path / "moved")
    shutil.copytree(local.home.results("app"), moved.results("app"))
    other = begun(moved, totals(tmp_path), place)
    other.run()
    local.run()
    assert published(other.published("Out")) == published(local.published("Out"))


def test_files_published_after_the_savepoint_are_refused(local: LocalApplication, tmp_path: Path):
    place = take(local).place
    local.run()
    moved = Home(tmp_path / "moved")
    shutil.copytree(local.home.results("app"), moved.results("app"))
    with pytest.raises(
        SavepointError, match=r"Results after the savepoint would be doubled: move the newer files away"
    ):
        restore(moved, deployable(totals(tmp_path)), place)
    assert list_applications(Catalog(moved)) == ()


def test_fresh_takes_the_place_of_what_is_deployed(local: LocalApplication, tmp_path: Path):
    place = take(local).place
    before = published(local.published("Out"))
    local.run()
    whole = published(local.published("Out"))
    again = begun(local.home, totals(tmp_path), place, fresh=True)
    again.run()
    assert sorted(before + published(again.published("Out"))) == whole
    assert place in list_savepoints(local.home)


KINDS = {"subscription": 'kind == "rows"'}


def reading(**options: Any) -> PlannedCompilation:
    """Return the compilation that `importer` runs."""
    graph = [imported(**KINDS), node("Passed", "Passing", "In"), sink("Kept", "Passed")]
    return compiled(graph, application="importer", **options)


@pytest.fixture
def both(tmp_path: Path) -> list[LocalApplication]:
    """An application that exports and one that imports, amid their data."""
    home = tmp_path / "home"
    home.mkdir()
    applications = [exporter(home, 60, properties={"kind": "rows"}), importer(home, **KINDS)]
    for application in (*applications, *applications):
        heard(application)
        run_some(application, 5)
    return applications


def test_an_import_goes_on_where_it_was(both: list[LocalApplication]):
    first, reader = both
    place = take(reader).place
    before = published(reader.published("Kept"))
    run_some(first, 6)
    assert restore(reader.home, deployable(reading(name="other")), place).notes == ()
    clone = LocalApplication(reader.home, reading(name="other"), source_limit=5)
    adopt(clone)
    run_until_idle(first, clone, reader)
    assert 0 < len(before) < 60
    assert sorted(before + published(clone.published("Kept"))) == doubled(60) == published(reader.published("Kept"))


def test_tuples_that_the_exporter_has_dropped_are_noted(both: list[LocalApplication]):
    first, reader = both
    place = take(reader).place
    run_until_idle(first, reader)
    for application in (reader, first):
        collect_garbage(application.catalog, application.name, application.programs)
    (note,) = restore(reader.home, deployable(reading(name="other")), place).notes
    assert (
        note
        == "In has read Doubled of exporter, which has dropped later tuples: In reads the tuples that come from now on"
    )


def test_an_exporter_that_is_not_there_is_waited_for(both: list[LocalApplication], tmp_path: Path):
    place = take(both[1]).place
    (note,) = restore(Home(tmp_path / "elsewhere"), deployable(reading()), place).notes
    assert note.startswith("In has read Doubled of exporter, which is not deployed here: In reads the tuples that")


def test_an_exporter_that_was_started_anew_is_another_one(both: list[LocalApplication]):
    first, reader = both
    place = take(reader).place
    deploy(first.home, deployable(first.compilation), fresh=True)
    (note,) = restore(reader.home, deployable(reading(name="other")), place).notes
    assert "which was started over since then" in note


def test_a_clone_does_not_feed_whom_the_first_feeds(both: list[LocalApplication], tmp_path: Path):
    first, _ = both
    place = take(first).place
    graph = [
        source("Rows", tmp_path / "home" / "exporter.parquet"),
        node("Doubled", "Doubling", "Rows"),
        export("Doubled", properties={"kind": "rows"}),
    ]
    with pytest.raises(SavepointError, match=r"other would send In of importer the same tuples as exporter does"):
        restore(first.home, deployable(compiled(graph, application="exporter", name="other")), place)
    assert list_applications(Catalog(first.home)) == ("exporter", "importer")
    graph[2]["parameters"] = {"properties": {"kind": "trial"}}
    restore(first.home, deployable(compiled(graph, application="exporter", name="other")), place)
