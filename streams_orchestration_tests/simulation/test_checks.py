"""The checks and the faults of a simulation know what the product must heal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.simulation.cases import plans
from streams_orchestration_tests.simulation.checks import Checks
from streams_orchestration_tests.simulation.choices import Choices
from streams_orchestration_tests.simulation.disks import Disk
from streams_orchestration_tests.simulation.fault_kinds import break_down
from streams_orchestration_tests.simulation.faults import Faults
from streams_orchestration_tests.simulation.machines import NAMES, Machines
from streams_orchestration_tests.simulation.redeploys import Redeploys
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedMachine

TABLES = """\
CREATE TABLE segment (path, retracted);
CREATE TABLE operator_state (files);
CREATE TABLE sink_file (pending, final, published);
"""


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_waiting_file_is_not_damaged_once_a_reader_can_see_it(tmp_path: Path, is_linked: bool):
    home, final = Home(tmp_path), tmp_path / "part-0.parquet"
    pending = tmp_path / "000-0.parquet"
    pending.write_bytes(b"content")
    with closing(sqlite3.connect(home.catalog)) as connection, connection:
        connection.executescript(TABLES)
        connection.execute("INSERT INTO sink_file VALUES (?, ?, 0)", (str(pending), str(final)))
    checks = Checks(home, Disk(Scheduler(Choices(None)), tmp_path, tmp_path), None, "app", {}, ())
    if is_linked:
        final.hardlink_to(pending)
    assert checks.kept() == ([] if is_linked else [str(pending)])


@pytest.mark.parametrize(("shape", "variant", "sound"), [("sent", 0, 2), ("event_time", 2, 1)])
def test_as_many_machines_stay_sound_as_hosts_must_be_apart(tmp_path: Path, shape: str, variant: int, sound: int):
    scheduler, home = Scheduler(Choices(7)), Home(tmp_path)
    machines = Machines(scheduler, home, tuple(SimulatedMachine(name) for name in NAMES))
    redeploys = Redeploys(scheduler, home, Disk(scheduler, tmp_path, tmp_path), plans(shape, variant), [])
    checks = SimpleNamespace(store="")
    faults = SimpleNamespace(scheduler=scheduler, machines=machines, redeploys=redeploys, checks=checks)
    while break_down(cast(Faults, faults), "commit"):
        assert machines.sound
    assert len(machines.sound) == sound
