"""A cut that cannot be restored any more is an error at the time when it is lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy import update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status_summaries import advance_and_read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.tasks import state_files
from streams_orchestration.runtime.tasks.state_files import SMALL_STATE
from streams_orchestration.runtime.trials.boundaries import forget_units
from streams_orchestration.runtime.units import cut_files
from streams_orchestration.runtime.units.cut_files import CutFile, check_and_record_cuts, check_cut_files
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration.runtime.units.unit_status import UnitStatus
from streams_orchestration_tests.runtime.applications import network, totals, write_rows
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = [pytest.mark.usefixtures("database", "states_in_files"), POSTGRESQL_IS_DEEP]

COUNT = 40


def application(directory: Path) -> LocalApplication:
    """Return a region over three PEs, the middle one with a state; one epoch is complete."""
    file = write_rows(directory / "rows.parquet", COUNT)
    local = LocalApplication(Home(directory / "home"), totals(file, fusion="manual", pes=3), 5)
    epoch(local)
    return local


def epoch(local: LocalApplication) -> None:
    before = [unit.completed_epoch for unit in units(local)]
    while any(unit.completed_epoch == was for unit, was in zip(units(local), before, strict=True)):
        local.trigger()
        for program in local.programs:
            local.step(program)


def units(local: LocalApplication) -> tuple[UnitStatus, ...]:
    return read_status(local.catalog, local.name).units


def files(local: LocalApplication) -> list[CutFile]:
    with local.catalog.read() as connection:
        return cut_files.cut_files(connection, local.name)


def kinds(local: LocalApplication) -> list[str]:
    return [event.kind for unit in units(local) for event in unit.events if "cut" in event.kind]


def place(local: LocalApplication, address: str) -> Path:
    return Path(local.home.store.title(address))


def test_a_cut_needs_its_states_and_no_segments_of_its_own_region(tmp_path: Path):
    local = application(tmp_path)
    assert {file.what for file in files(local)} == {f"the state of PerKey[{channel}].Totals," for channel in (0, 1)}
    assert check_and_record_cuts(local.catalog, local.name) == {}
    assert kinds(local) == []


def test_a_cut_needs_no_file_for_a_state_that_is_in_the_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_files, "SMALL_STATE", SMALL_STATE)
    local = application(tmp_path)
    assert files(local) == []
    assert check_and_record_cuts(local.catalog, local.name) == {}


@pytest.mark.parametrize(
    ("damage", "message"),
    [(Path.unlink, "cannot be read: No such file"), (lambda path: os.truncate(path, 3), "has 3 of ")],
    ids=["removed", "truncated"],
)
def test_a_file_that_is_lost_is_named_once_with_what_to_do(tmp_path: Path, damage, message: str):
    local = application(tmp_path)
    lost = files(local)[-1]
    damage(place(local, lost.path))
    for _ in range(2):
        assert check_and_record_cuts(local.catalog, local.name).keys() == {"region-0"}
    assert kinds(local) == ["cut lost"]
    (unit,) = units(local)
    for part in (f"epoch {unit.completed_epoch}, its last complete one", lost.path, message):
        assert part in (unit.lost or "")


def test_a_file_that_comes_back_mends_it(tmp_path: Path):
    local = application(tmp_path)
    path = place(local, files(local)[-1].path)
    kept = path.rename(tmp_path / "kept")
    check_and_record_cuts(local.catalog, local.name)
    kept.rename(path)
    assert check_and_record_cuts(local.catalog, local.name) == {}
    assert kinds(local) == ["cut lost", "cut restored"]
    assert units(local)[0].lost is None


def test_nothing_is_recorded_for_a_unit_that_a_redeploy_removes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    local = application(tmp_path)
    place(local, files(local)[-1].path).unlink()
    problem = CutFile.problem

    def removed_meanwhile(file: CutFile, store: Store, sizes: Mapping[str, int] | None = None) -> str | None:
        if sizes is None:  # the files of the unit are checked again, one by one
            with local.catalog.write() as connection:
                forget_units(connection, local.name, ["region-0"])
        return problem(file, store, sizes)

    monkeypatch.setattr(CutFile, "problem", removed_meanwhile)
    assert check_and_record_cuts(local.catalog, local.name) == {}


def test_files_that_the_next_cut_does_not_need_are_not_missed(tmp_path: Path):
    local = application(tmp_path)
    before = {file.path for file in files(local)}
    epoch(local)
    collect_garbage(local.catalog, local.name, local.programs)
    assert before - {file.path for file in files(local)}, "a new whole state took the place of the old one"
    assert check_and_record_cuts(local.catalog, local.name) == {}


def test_a_region_needs_what_it_will_read_again_of_another_one(tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), network(tmp_path, COUNT, fusion="legacy"), 5)
    while not any(unit.row.region is not None and unit.completed_epoch for unit in units(local)):
        local.trigger()
        for program in local.programs:
            if not program.autonomous:
                local.step(program)
    segments = [file for file in files(local) if file.what.startswith("a segment")]
    assert segments
    place(local, segments[0].path).unlink()
    lost = check_and_record_cuts(local.catalog, local.name)
    assert segments[0].unit in lost
    assert segments[0].path in lost[segments[0].unit]


def test_a_look_takes_up_so_many_files_and_the_next_one_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    local = application(tmp_path)
    needed = files(local)
    monkeypatch.setattr(cut_files, "MOST_FILES", 1)
    place(local, needed[-1].path).unlink()
    checks = [check_and_record_cuts(local.catalog, local.name, turn=turn) for turn in range(len(needed))]
    assert "region-0" in checks[-1]


def test_an_explicit_check_looks_at_all_files_of_the_cuts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    local = application(tmp_path)
    monkeypatch.setattr(cut_files, "MOST_FILES", 1)
    place(local, files(local)[-1].path).unlink()
    assert check_cut_files(local.catalog, local.name).keys() == {"region-0"}
    assert kinds(local) == ["cut lost"]


@pytest.mark.usefixtures("no_hosts")
def test_a_reset_is_refused_while_the_cut_is_lost_and_done_when_the_file_is_back(tmp_path: Path):
    local = application(tmp_path)
    path = place(local, files(local)[-1].path)
    kept = path.rename(tmp_path / "kept")
    with pytest.raises(StreamsRuntimeError, match=rf"app: region-0 cannot be reset to .*{path.name}.*--fresh"):
        reset_unit(local.catalog, local.name, "region-0")
    assert [(unit.generation, unit.state) for unit in units(local)] == [(1, "PROCESSING")], "what works is left at work"
    kept.rename(path)
    assert reset_unit(local.catalog, local.name, "region-0").generation == 2


def test_the_status_shows_that_a_lost_file_of_a_failed_unit_is_back(tmp_path: Path):
    local = application(tmp_path)
    path = place(local, files(local)[-1].path)
    kept = path.rename(tmp_path / "kept")
    check_and_record_cuts(local.catalog, local.name)
    with local.catalog.write() as connection:
        connection.execute(update(tables.unit).values(state="UNHEALTHY"))
    assert advance_and_read_status(local.catalog, local.name).units[0].lost is not None
    kept.rename(path)
    assert advance_and_read_status(local.catalog, local.name).units[0].lost is None
