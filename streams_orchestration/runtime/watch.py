"""Watching the units of an application: what has happened to them is written down, by whoever looks first."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sqlalchemy import select

from streams_orchestration.runtime import tables
from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.controller import advance, units_with_news
from streams_orchestration.runtime.files import remove_files
from streams_orchestration.runtime.health import read_health
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.inspection import read_status
from streams_orchestration.runtime.status import ApplicationStatus


def observed_status(home: Home, application: str) -> ApplicationStatus:
    """The status of an application, after what has happened to its units is written down.

    Raises:
        NotDeployedError: the catalog does not know it.
    """
    read_status(home, application)
    observe(Catalog(home), application)
    return read_status(home, application)


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
