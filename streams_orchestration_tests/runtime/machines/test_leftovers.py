"""Hosts that were killed leave nothing on a machine to which they do not come back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.machines import agent
from streams_orchestration.runtime.machines.leftovers import note_machine, remove_leftovers
from streams_orchestration.runtime.storage.in_use import MARK, is_left, use
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.machines.places import Place
from streams_orchestration_tests.runtime.running import FakeHosts

USES = """
import sys
from pathlib import Path
from streams_orchestration.runtime.storage.in_use import use
mark = use(Path(sys.argv[1]))
print("used", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, hosts: FakeHosts) -> Place:
    file = write_rows(tmp_path / "rows.parquet", 5)
    return Place(tmp_path, hosts, totals(file, fusion="manual", pes=2))


def scratch(place: Place, name: str) -> Path:
    path = place.home.data(place.name) / "spark" / name
    path.mkdir(parents=True)
    return path


@pytest.mark.slow
def test_scratch_of_a_process_that_was_killed_is_removed(place: Place):
    theirs, ours, unmarked = (scratch(place, name) for name in ("python-0-a", "pe-1-g1-2", "other"))
    mark = use(ours)
    with subprocess.Popen(
        [sys.executable, "-c", USES, str(theirs)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "used\n"
        assert remove_leftovers(place.catalog, place.home, "m") == []
        process.kill()
    assert remove_leftovers(place.catalog, place.home, "m") == [str(theirs)]
    assert (theirs.exists(), ours.exists(), unmarked.exists()) == (False, True, True)
    mark.close()
    assert remove_leftovers(place.catalog, place.home, "m") == [str(ours)]


def test_nothing_is_left_without_a_mark(tmp_path: Path):
    assert not is_left(tmp_path)
    assert not is_left(tmp_path / "none")
    use(tmp_path).close()
    assert is_left(tmp_path)
    assert (tmp_path / MARK).exists()


@pytest.mark.parametrize(("on", "shared", "kept"), [("m", False, True), ("n", False, False), ("n", True, True)])
def test_segments_of_hosts_that_are_elsewhere_are_removed(
    place: Place, monkeypatch: pytest.MonkeyPatch, on: str, *, shared: bool, kept: bool
):
    place.registered("n")
    control.launch_hosts(place.catalog, place.name)
    place.set(tables.host, machine=on)
    note_machine(place.home, "m")
    if shared:
        note_machine(place.home, "n")
    segment = place.home.root / "data" / place.name / "streams" / "pe-0" / "1.arrow"
    segment.parent.mkdir(parents=True, exist_ok=True)
    segment.touch()
    monkeypatch.setattr(type(place.catalog.store), "address", property(lambda _: "s3://bucket"))
    remove_leftovers(place.catalog, place.home, "m")
    assert segment.exists() is kept


def test_an_agent_clears_in_its_turn(place: Place, monkeypatch: pytest.MonkeyPatch):
    one = place.registered("m")
    left = scratch(place, "python-0-a")
    use(left).close()
    monkeypatch.setattr(agent, "LEFTOVERS_SECONDS", 0.0)
    one.turn()
    assert not left.exists()
