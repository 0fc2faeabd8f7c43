"""Watching the units of an application: what has happened to them is written down, by whoever looks first."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.inspection import read_status
from streams_orchestration.runtime.regions.controller import advance, units_with_news
from streams_orchestration.runtime.regions.cut_files import check_cuts
from streams_orchestration.runtime.regions.health import read_health
from streams_orchestration.runtime.regions.unit_facts import ENDED
from streams_orchestration.runtime.status import ApplicationStatus
from streams_orchestration.runtime.transport.files import remove_files

LOOK_SECONDS = 0.25
"""Between two looks while nothing is wrong."""
WATCHERS = 2
"""Applications that are watched at the same time: the threads that `dagster.yaml` gives to sensors."""


def observed_status(home: Home, application: str) -> ApplicationStatus:
    """The status of an application, after what has happened to its units is written down.

    Files that a unit needs and lacks, and that its hosts do not look for while it does not work, are looked for here.

    Raises:
        NotDeployedError: the catalog does not know it.
    """
    read_status(home, application)
    catalog = Catalog(home)
    observe(catalog, application)
    status = read_status(home, application)
    lost = [unit.name for unit in status.units if unit.waits and unit.lost is not None]
    if lost and status.state == "RUNNING" and len(check_cuts(catalog, application, lost)) < len(lost):
        return read_status(home, application)
    return status


def await_trouble(home: Home, application: str, seconds: float) -> bool:
    """Wait until something of an application asks for a reset, at most for so long.

    When several applications run, the wait is shorter, so that watching all of them takes no longer.

    Args:
        home: the state directory.
        application: its name.
        seconds: how long; less when more than `WATCHERS` applications run.

    Returns:
        Whether there is something. It is judged by `failures`, this only sees that there may be.
    """
    a = tables.application
    catalog = Catalog(home)
    began = time.monotonic()
    while True:
        with catalog.read() as connection:
            running = connection.scalars(select(a.c.name).where(a.c.wanted == "RUNNING", a.c.state == "RUNNING")).all()
            if application not in running or _troubled(connection, application):
                return application in running
        left = began + seconds * min(1.0, WATCHERS / len(running)) - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(LOOK_SECONDS, left))


def _troubled(connection: Connection, application: str) -> bool:
    u = tables.unit
    now = time.time()
    health = read_health(connection, application, now)
    for row in connection.execute(select(u).where(u.c.application == application)):
        if row.state in ENDED:
            continue
        late = row.timer in ("drain", "reset") and row.deadline is not None and now >= row.deadline
        waits = (row.state == "UNHEALTHY" or row.dirty) and row.asked != row.generation
        found = health.get(row.name)
        if late or waits or (found is not None and found.trouble is not None):
            return True
    return False


def observe(catalog: Catalog, application: str, units: Iterable[str] | None = None) -> tuple[str, ...]:
    """Bring the state of units up to date. It only writes when there is news.

    Args:
        catalog: of the application.
        application: its name; one that is not wanted to run is left alone.
        units: which ones; all of them when None.

    Returns:
        The units whose state was written.
    """
    a, u = tables.application, tables.unit
    now = time.time()
    with catalog.read() as connection:
        wanted = connection.scalar(select(a.c.wanted).where(a.c.name == application))
        if wanted != "RUNNING":
            return ()
        rows = connection.execute(select(u).where(u.c.application == application)).all()
        asked = [row for row in rows if units is None or row.name in units]
        news = units_with_news(connection, asked, read_health(connection, application, now), now)
    for unit in news:
        with catalog.write() as connection:
            now = time.time()
            health = read_health(connection, application, now).get(unit)
            garbage = advance(connection, application, unit, now, health)
        remove_files(garbage)
    return tuple(news)


def changes_soon(row: Any, now: float) -> bool:
    """Is the state of a PE's unit to change about now: it starts, it is being reset, or its timer has run out.

    Args:
        row: of the PE: `final`; of its unit: `unit_state`, `dirty`, `generation`, `asked`, `timer`, `deadline`.
        now: unix seconds.
    """
    if row.final:
        return False
    taken_up = row.asked == row.generation
    if row.unit_state in ("STARTED", "RESETTING", "UNHEALTHY"):
        return taken_up or row.unit_state == "RESETTING" or (row.unit_state == "STARTED" and not row.dirty)
    return row.deadline is not None and now >= row.deadline and (row.timer == "period" or taken_up)
