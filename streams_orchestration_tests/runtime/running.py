"""An application that runs with a fake for its host, for tests of who watches and resets it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog, has_turn
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.hosts.presence import Presence
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.processes.processes import ProcessIdentity
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.advancing import advance_units_and_trial
from streams_orchestration.runtime.units.failures import UnitFailure, find_failures
from streams_orchestration.runtime.units.unit_status import UnitStatus
from streams_orchestration_tests.runtime.applications import (
    expected_totals,
    published,
    rows,
    totals,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication

COUNT = 25
"""Rows of its source."""


def joined(home: Home) -> Presence:
    """This process says that it is host 0."""
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(incarnation="mine"))
    presence = Presence(Catalog(home), "app", 0, "mine")
    presence.join(0.0)
    return presence


class FakeHosts:
    """Hosts that are numbers in a set; what the launcher is to the rest of the product."""

    def __init__(self) -> None:
        self.alive_pids: set[int] = set()
        self.launched: list[int] = []
        self.interruption: Callable[[HostStart], object] | None = None
        """Happens before each start of a host."""
        self.next = 100

    def launch(self, start: HostStart) -> ProcessIdentity:
        if self.interruption is not None:
            assert not has_turn(), "a process is started outside of transactions that write"
            self.interruption(start)
        self.next += 1
        self.alive_pids.add(self.next)
        self.launched.append(start.host)
        return ProcessIdentity(self.next, 1.0, "host")

    def alive(self, pid: int | None, started: float | None) -> bool:
        return pid in self.alive_pids

    def kill(self, pid: int | None, started: float | None) -> None:
        self.alive_pids.discard(pid or 0)


class Running:
    """An application whose host is a fake and whose PEs are stepped by hand."""

    def __init__(self, directory: Path, hosts: FakeHosts, unit: str = "region-0") -> None:
        self.home = Home(directory / "home")
        file = write_rows(directory / "rows.parquet", COUNT)
        self.local = LocalApplication(self.home, totals(file, fusion="manual", pes=3), 5)
        self.catalog, self.name, self.unit_name = self.local.catalog, self.local.name, unit
        self.hosts = hosts
        control.launch_hosts(self.catalog, self.name)
        self.come_up()

    @property
    def unit(self) -> UnitStatus:
        return next(u for u in read_status(Catalog(self.home), self.name).units if u.name == self.unit_name)

    @property
    def failure(self) -> UnitFailure | None:
        reported = find_failures(read_status(Catalog(self.home), self.name), time.time())
        return next((failure for failure in reported if failure.unit == self.unit_name), None)

    @property
    def events(self) -> list[str]:
        e = tables.unit_event
        with self.catalog.read() as connection:
            return list(connection.scalars(select(e.c.kind).where(e.c.unit == self.unit_name).order_by(e.c.number)))

    def come_up(self) -> None:
        """Let every launched host report and drive the controller as its main loop does."""
        self.set(tables.host, state="RUNNING", heartbeat_at=time.time(), launches=0)
        advance_units_and_trial(self.catalog, self.name)
        self.local.report_running()

    def set(self, table: Any, **values: Any) -> None:
        with self.catalog.write() as connection:
            connection.execute(update(table).where(table.c.application == self.name).values(**values))

    def work(self) -> None:
        """Commit some batches, with one complete epoch and something after it."""
        for program in self.local.programs:
            self.local.step(program)
        self.local.trigger()
        for _ in range(3):
            for program in self.local.programs:
                self.local.step(program)
        assert self.unit.completed_epoch > 0

    def kill_host(self) -> None:
        self.hosts.alive_pids.clear()

    def watch(self) -> None:
        """Look once, and reset what fails."""
        advance_units_and_trial(self.catalog, self.name)
        if (failure := self.failure) is not None and not failure.exhausted:
            reset_unit(Catalog(self.home), self.name, self.unit_name, generation=failure.generation)

    def expire(self) -> None:
        """Let the running timer expire."""
        u = tables.unit
        with self.catalog.write() as connection:
            connection.execute(update(u).where(u.c.name == self.unit_name).values(deadline=time.time() - 1.0))

    def finish(self) -> None:
        self.local.report_running()
        self.local.run()
        assert published(self.local.published("Out")) == expected_totals(rows(COUNT))
