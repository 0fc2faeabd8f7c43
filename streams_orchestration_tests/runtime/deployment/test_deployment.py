from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import Compilation, PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.documents import load
from streams_orchestration.compiler.fingerprint import difference, fingerprint
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.query_columns import ColumnOrigin, OperatorColumns
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.engine.query_analysis import QueryAnalysis
from streams_orchestration.runtime.engine.spark.frames import analysis
from streams_orchestration.runtime.errors.errors import (
    ApplicationChangedError,
    NotDeployableError,
    NotDeployedError,
    StateDirectoryError,
)
from streams_orchestration.runtime.observing.compilations import read_compilation
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.programs.stored_compilation import stored
from streams_orchestration.runtime.redeployment import redeploying
from streams_orchestration.runtime.redeployment.redeploying import PlanChange
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications, require_deployed
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.runtime.applications import (
    expected_totals,
    published,
    rows,
    totals,
    write_rows,
)
from streams_orchestration_tests.runtime.catalogs import remove_catalog
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.usefixtures("database")

COUNT = 20
SPEC = """\
specVersion: 1
application: app
schemas: {Row: "k string, n bigint"}
graph:
  - name: Rows
    operator: FileSource
    outputs: [{stream: Rows, schema: Row}]
    parameters: {file: rows.parquet, format: parquet}
    annotations: {consistent: {trigger: periodic, period: 1.0}}
  - name: Kept
    operator: Filter
    inputs: [Rows]
    parameters: {filter: "n > 3"}
    annotations: {parallel: {width: 2}}
  - {name: Out, operator: FileSink, inputs: [Kept], parameters: {file: out}}
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.parquet", COUNT)


def spec(file: Path, *changes: tuple[str, str]) -> PlannedCompilation:
    text = SPEC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = file.parent / "app.yaml"
    path.write_text(text)
    return compile_spec(path)


def life(home: Home) -> str:
    from streams_orchestration.runtime.catalog.catalog import Catalog

    with Catalog(home).read() as connection:
        return connection.scalars(select(tables.application.c.life)).one()


def test_a_deployed_application_can_be_read_back(home: Home, file: Path):
    compilation = totals(file)
    assert list_applications(Catalog(home)) == ()
    deploy(home, deployable(compilation))
    assert list_applications(Catalog(home)) == ("app",)
    assert read_status(Catalog(home), "app").fingerprint == fingerprint(read_compilation(Catalog(home), "app"))
    assert [pe.state for pe in read_status(Catalog(home), "app").pes] == ["WANTED"] * len(compilation.fusion.pes)


def test_an_application_that_is_not_deployed_is_named_with_those_that_are(home: Home, file: Path):
    with pytest.raises(NotDeployedError, match=r"other: no such application .*Nothing is deployed there"):
        require_deployed(Catalog(home), "other")
    deploy(home, deployable(totals(file)))
    with pytest.raises(NotDeployedError, match=r"other: no such application .*Deployed there: app; the nearest is app"):
        read_status(Catalog(home), "other")


def test_deploying_again_goes_on_where_it_stood(home: Home, file: Path):
    local = LocalApplication(home, totals(file, fusion="manual", pes=1), 5)
    local.step(local.programs[0])
    cancel_application(Catalog(home), "app", 0.0)
    assert read_status(Catalog(home), "app").state == "STOPPED"
    again = LocalApplication(home, totals(file, fusion="manual", pes=1), 5)
    (pe,) = read_status(Catalog(home), "app").pes
    assert (pe.row.batch, pe.state, pe.generation) == (0, "WANTED", 2)
    again.run()
    assert published(again.published("Out")) == expected_totals(rows(COUNT))


@pytest.mark.parametrize("fails_again", [False, True])
def test_an_application_that_is_stopped_during_a_reset_continues_from_the_cut(
    home: Home, file: Path, hosts: FakeHosts, *, fails_again: bool
):
    """Its PEs are at the cut, in an epoch that is later than the one in the record of the region."""
    local = LocalApplication(home, totals(file, fusion="manual", pes=1), 5)
    local.step(local.programs[0])
    reset_unit(Catalog(home), "app", "region-0", force=True)
    if fails_again:
        with local.catalog.write() as connection:
            connection.execute(update(tables.pe).values(state="FAILED", error="boom"))
        advance_units(local.catalog, "app")
    (unit,) = read_status(Catalog(home), "app").units
    assert (unit.state, unit.open_epoch > unit.row.current_epoch) == ("UNHEALTHY" if fails_again else "RESETTING", True)
    cancel_application(Catalog(home), "app", 0.0)
    again = LocalApplication(home, totals(file, fusion="manual", pes=1), 5)
    again.run()
    assert published(again.published("Out")) == expected_totals(rows(COUNT))


def test_deploying_what_runs_changes_nothing(home: Home, file: Path):
    local = LocalApplication(home, totals(file, fusion="manual", pes=1), 5)
    local.step(local.programs[0])
    before = read_status(Catalog(home), "app")
    deploy(home, deployable(totals(file, fusion="manual", pes=1)))
    assert read_status(Catalog(home), "app") == before


def test_a_fresh_start_drops_state_and_results(home: Home, file: Path):
    local = LocalApplication(home, totals(file), 5)
    local.run()
    first = life(home)
    deploy(home, deployable(totals(file)), fresh=True)
    assert life(home) != first
    assert local.published("Out") == []
    assert not home.data("app").exists()
    again = LocalApplication(home, totals(file), 5)
    again.run()
    assert published(again.published("Out")) == expected_totals(rows(COUNT))


def test_a_changed_application_is_refused_with_the_difference(home: Home, file: Path):
    deploy(home, deployable(spec(file)))
    with pytest.raises(ApplicationChangedError, match=r"the parameters of operator Kept changed\).*--fresh"):
        deploy(home, deployable(spec(file, ("n > 3", "n > 4"))))
    assert read_status(Catalog(home), "app").fingerprint == fingerprint(spec(file))
    deploy(home, deployable(spec(file, ("n > 3", "n > 4"))), fresh=True)


def test_results_of_an_earlier_life_are_not_mixed_with_new_ones(home: Home, file: Path):
    local = LocalApplication(home, totals(file), 5)
    local.run()
    remove_catalog(home)
    with pytest.raises(NotDeployableError, match=r"results/app/(Out|Raw) has \d+ files? of an earlier run.*--fresh"):
        deploy(home, deployable(totals(file)))
    deploy(home, deployable(totals(file)), fresh=True)
    assert local.published("Out") == []


def test_a_home_that_cannot_be_is_named(tmp_path: Path, file: Path):
    (tmp_path / "taken").touch()
    with pytest.raises(StateDirectoryError, match="taken"):
        deploy(Home(tmp_path / "taken"), deployable(totals(file)))


def test_comments_and_places_in_the_file_do_not_matter(file: Path):
    plain = spec(file)
    moved = spec(
        file, ("graph:\n", "# a comment\n\ngraph:   # another\n\n"), ("application: app", "application: app  #")
    )
    assert fingerprint(moved) == fingerprint(plain)
    assert moved.logical.operators[0].location != plain.logical.operators[0].location


def test_a_uid_that_is_given_afterwards_is_kept_with_what_is_deployed(home: Home, file: Path):
    deploy(home, deployable(spec(file)))
    deploy(home, deployable(spec(file, ("name: Kept", "name: Kept\n    uid: kept"))))
    assert [each.identity for each in read_compilation(Catalog(home), "app").logical.operators] == [
        "Rows",
        "kept",
        "Out",
    ]


CHANGES: dict[str, tuple[tuple[str, str], str]] = {
    "a parameter": (("n > 3", "n > 4"), "the parameters of operator Kept changed"),
    "a schema": (('"k string, n bigint"', '"k string, n int"'), "the schemas of operator Rows changed"),
    "a width": (("width: 2", "width: 3"), "Kept has width 2, and the new width is 3"),
    "an operator": (("name: Kept", "name: Keep"), "new operator: Keep; removed operator: Kept"),
    "a period": (("period: 1.0", "period: 2.0"), "the consistent regions"),
    "a place": (('{filter: "n > 3"}', '{filter: "n > 3"}\n    config: {placement: {partitionIsolation: true}}'),
                "the fusion into PEs"),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_a_change_of_behaviour_changes_the_fingerprint(file: Path, case: str):
    change, text = CHANGES[case]
    changes = [change, ("inputs: [Kept]", "inputs: [Keep]")] if case == "an operator" else [change]
    before, after = spec(file), spec(file, *changes)
    assert fingerprint(before) != fingerprint(after)
    assert difference(before, after) == text


def test_the_fingerprint_is_the_same_for_the_same_application(file: Path):
    first: Any = copy.deepcopy(spec(file))
    assert fingerprint(first) == fingerprint(spec(file))


QUERY = (
    "{name: Out,",
    """name: Up
    operator: Sql
    inputs: [Kept]
    outputs: [{stream: Up, schema: "k string, n bigint"}]
    parameters: {query: "SELECT upper(k) AS k, n FROM Kept"}
  - {name: Out,""",
)


def test_columns_of_a_query_are_kept_until_spark_analyses_it_again(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch
):
    asked: list[Any] = []

    def analyse(programs: tuple[PeProgram, ...], _: Path) -> QueryAnalysis:
        asked.append(programs)
        up = next(number for each in programs for number, one in each.operators.items() if one.name == "Up")
        return QueryAnalysis(columns={up: OperatorColumns(({"k": ColumnOrigin(((0, f"k{len(asked)}"),))},))})

    def known(compilation: Compilation) -> list[str]:
        (query,) = compilation.query_columns
        assert query.operator == "Up"
        return [name for output in query.outputs for origin in output.values() for _, name in origin.inputs]

    def switch_over(change: PlanChange, _new: object) -> list[str]:
        brought.append(read_back(change.after))
        return []

    monkeypatch.setattr(analysis, "analyse_queries", analyse)
    deploy(home, deployable(spec(file, QUERY)))
    assert known(read_compilation(Catalog(home), "app")) == ["k1"]
    cancel_application(Catalog(home), "app", 0.0)
    deploy(home, deployable(spec(file, QUERY)))
    assert known(read_compilation(Catalog(home), "app")) == ["k1"]

    brought: list[Compilation] = []
    monkeypatch.setattr(redeploying, "drain_changed", lambda *_: None)
    monkeypatch.setattr(redeploying, "switch_over", switch_over)
    monkeypatch.setattr(redeploying, "launch_hosts", lambda *_: ())
    locked.begin_redeploy(home, deployable(spec(file, QUERY, ("width: 2", "width: 3"))))
    assert known(brought[0]) == ["k2"]


def read_back(compilation: PlannedCompilation) -> Compilation:
    return load(Compilation, stored(compilation))


def test_an_application_without_queries_is_stored_as_before(home: Home, file: Path):
    deploy(home, deployable(spec(file)))
    assert read_compilation(Catalog(home), "app").query_columns == ()
