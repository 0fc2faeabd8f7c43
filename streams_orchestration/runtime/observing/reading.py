"""Reads the status of an application from the catalog."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import lru_cache

from pydantic import ValidationError
from sqlalchemy import Connection, select

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import load
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import NotDeployedError
from streams_orchestration.runtime.observing.links import read_exports, read_imports
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.sinks.sinks import SinkStatus, read_sinks
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import application_row, units_status
from streams_orchestration.runtime.units.unit_status import Cut


def read_cuts(catalog: Catalog, application: str) -> dict[str, tuple[Cut, ...]]:
    """Return the complete epochs that the catalog keeps for every unit, the oldest first.

    Units without any are left out. A PE outside of regions has at most the one with which it began in a new plan.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    e = tables.epoch
    with catalog.read() as connection:
        application_row(connection, catalog.home, application)
        cuts: dict[str, list[Cut]] = {}
        for row in connection.execute(select(e).where(e.c.application == application).order_by(e.c.epoch)):
            cuts.setdefault(row.unit, []).append(Cut(row.epoch, row.completed_at, row.seconds or 0.0))
    return {unit: tuple(each) for unit, each in cuts.items()}


_BOUND = re.compile(rb'"complete_within":[0-9]')
"""Matches a stored compilation that sets `completeWithin`; other compilations need not be parsed."""


@lru_cache(maxsize=8)
def _bounds(compilation: bytes) -> dict[str, float]:
    """Map each sink with a `completeWithin` to its seconds; empty if another version wrote the compilation."""
    try:
        deployed = load(Compilation, compilation)
    except ValidationError:
        return {}
    within = [each.complete_within for each in deployed.logical.operators]
    operators = deployed.physical.operators
    return {each.name: bound for each in operators if (bound := within[each.logical]) is not None}


def _bounded(sinks: tuple[SinkStatus, ...], compilation: bytes) -> tuple[SinkStatus, ...]:
    if not sinks or _BOUND.search(compilation) is None:
        return sinks
    bounds = _bounds(compilation)
    return tuple(replace(each, complete_within=bounds.get(each.operator)) for each in sinks)


def read_status_if_deployed(catalog: Catalog, application: str) -> ApplicationStatus | None:
    """Return the status of an application; None if it is not deployed. The catalog may not exist yet."""
    try:
        return read_status(catalog, application) if catalog.exists else None
    except NotDeployedError:
        return None


def read_status(catalog: Catalog, application: str) -> ApplicationStatus:
    """Return the status of an application, read in one transaction.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    with catalog.read() as connection:
        return application_status(connection, catalog.home, application)


def application_status(connection: Connection, home: Home, application: str) -> ApplicationStatus:
    """Return the status of an application, read in an open transaction.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    row = application_row(connection, home, application)
    units = units_status(connection, home, row)
    return ApplicationStatus(
        **{field.name: getattr(units, field.name) for field in fields(units)},
        sinks=_bounded(read_sinks(connection, application), row.compilation),
        imports=read_imports(connection, application),
        exports=read_exports(connection, application),
        bounded=row.bounded is not None,
        taken_at=row.taken_at,
    )
