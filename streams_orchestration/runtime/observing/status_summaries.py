"""Watches all applications of a home for units that need a reset, as Dagster's sensor and `streams run` do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import state_in_effect
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.advancing import advance_units_and_trial
from streams_orchestration.runtime.units.cut_files import check_and_record_cuts
from streams_orchestration.runtime.units.failures import may_need_reset
from streams_orchestration.runtime.units.health import read_healths

POLL_SECONDS = 0.25
"""Seconds between two checks while nothing is wrong."""

_a = tables.application
_APPLICATIONS = select(_a.c.name, _a.c.wanted, _a.c.state, _a.c.life)
_UNITS = select(tables.unit).order_by(tables.unit.c.name)


def advance_and_read_status(catalog: Catalog, application: str) -> ApplicationStatus:
    """Record the changes of an application's units, and return its status.

    If a unit that waits for a reset lacks a file of its cut, this function checks if the file is back, and records
    that: the unit's hosts do not check it while the unit does not work.

    Raises:
        NotDeployedError: the application is not deployed.
        StreamsRuntimeError: a unit was removed meanwhile, or a rule of the protocol is broken.
    """
    advance_units_and_trial(catalog, application)
    status = read_status(catalog, application)
    lost = [unit.name for unit in status.units if unit.row.waits and unit.lost is not None]
    if (
        lost
        and status.state in ("RUNNING", "WAITING")
        and len(check_and_record_cuts(catalog, application, lost)) < len(lost)
    ):
        return read_status(catalog, application)
    return status


@dataclass(frozen=True, slots=True)
class StatusSummary:
    """The few facts about an application that change with every event; one transaction reads them for all."""

    state: str
    life: str
    """The life of the application."""
    units: tuple[tuple[str, str, int, int], ...]
    """Name, condition (`works`, or the state if it does not work), generation and number of resets of every unit."""
    suspected: tuple[str, ...] = ()
    """Names of units that may need a reset. `find_failures` decides if they do."""

    @property
    def mark(self) -> str:
        """A short text that changes when something happens."""
        units = (f"{name}:{':'.join(map(str, facts))}" for name, *facts in self.units)
        return " ".join([self.state, self.life, *units, *(f"!{unit}" for unit in self.suspected)])


def read_summaries(catalog: Catalog) -> dict[str, StatusSummary]:
    """Read the summary of every deployed application, by name; there are none without a catalog.

    Only applications that are wanted to run and do run have `suspected` units. Callers keep the catalog open, since
    opening one takes longer than reading.
    """
    if not catalog.exists:
        return {}
    now = clock.now()
    with catalog.read() as connection:
        applications = connection.execute(_APPLICATIONS).all()
        running = [row.name for row in applications if row.wanted == row.state == "RUNNING"]
        health = read_healths(connection, running, now)
        units: dict[str, list[UnitRow]] = {}
        for row in UnitRow.all(connection, _UNITS):
            units.setdefault(row.application, []).append(row)
    return {
        row.name: StatusSummary(
            state_in_effect(row.wanted, row.state),
            row.life,
            tuple((unit.name, _condition(unit), unit.generation, unit.reset_count) for unit in units.get(row.name, ())),
            tuple(
                unit.name
                for unit in units.get(row.name, ())
                if row.name in running and may_need_reset(unit, health[row.name, unit.name], now)
            ),
        )
        for row in applications
    }


def watch_applications(home: Home, seconds: float) -> Iterator[dict[str, StatusSummary]]:
    """Yield the summaries of all applications at once, and then every `POLL_SECONDS` until the given seconds are over.

    If another catalog takes the place of this one, that catalog is read.
    """
    until = world.monotonic() + seconds
    while True:
        catalog = Catalog(home)
        identity = catalog.identity()
        with closing(catalog):
            while catalog.identity() == identity:  # until another catalog takes its place
                yield read_summaries(catalog)
                left = until - world.monotonic()
                if left <= 0:
                    return
                world.sleep(min(POLL_SECONDS, left))


def _condition(row: UnitRow) -> str:
    """Return a text that changes with the condition of a unit, but not when an epoch ends and the next begins."""
    if row.state in ("PROCESSING", "DRAINING"):
        return "works"
    return f"{row.state} dirty" if row.dirty else row.state
