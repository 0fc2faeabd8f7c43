"""Upgrading a catalog of an older version of the product, while nothing runs on it."""

from __future__ import annotations

from sqlalchemy import Connection, column, select, table

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.versions import check_version, find_product_revision, is_upgradable_revision
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import CatalogMissingError, CatalogVersionError
from streams_orchestration.runtime.processes.processes import is_alive
from streams_orchestration.runtime.settings.limits import HEARTBEAT_LIMIT

_COLUMNS = ("application", "id", "pid", "process_started", "heartbeat_at", "state")
_host = table("host", *map(column, _COLUMNS))
"""The columns of the table of hosts that every revision has."""


def upgrade_catalog(catalog: Catalog) -> str:
    """Upgrade a catalog to this version of the product, all or nothing; its content is kept.

    Do nothing if it has this version.

    Returns:
        The revision that the catalog had.

    Raises:
        CatalogVersionError: a host lives, whose version of the product needs the tables as they are; or this version
            does not know the version of the catalog, as of a newer one.
        CatalogMissingError: there is no catalog.
    """
    from streams_orchestration.runtime.catalog.migrations import migrate

    revision = catalog.version()
    if revision is None:
        message = f"{catalog.name}: there is no catalog to upgrade; the first deployment creates one"
        raise CatalogMissingError(message)
    if not is_upgradable_revision(revision):
        check_version(catalog.name, revision)
        return revision
    with catalog.write() as connection:
        _refuse_living(connection, catalog)
        migrate(connection)
    return revision


def upgrade_older_catalog(catalog: Catalog) -> str | None:
    """Upgrade the catalog if it exists and is of an older version.

    Returns:
        The revision that it had; None if nothing was to be done.

    Raises:
        CatalogError: a live host needs the tables as they are, or the catalog is unknown or cannot be written.
    """
    return upgrade_catalog(catalog) if is_upgradable_revision(catalog.version()) else None


def _refuse_living(connection: Connection, catalog: Catalog) -> None:
    now = clock.now()
    living: list[str] = []
    for host in connection.execute(select(_host)):
        name = f"host {host.id} of {host.application}"
        if is_alive(host.pid, host.process_started):
            living.append(f"{name} (pid {host.pid})")
        elif host.state in ("STARTING", "RUNNING") and now - (host.heartbeat_at or 0.0) < HEARTBEAT_LIMIT:
            living.append(f"{name} (heartbeat {now - host.heartbeat_at:.0f} s ago)")
    if living:
        message = (
            f"{catalog.name}: the catalog is not upgraded to {find_product_revision()} while {', '.join(living)} runs "
            "with the former version of the product. Stop it with that version (`streams cancel`), or end the process "
            "with `kill`."
        )
        raise CatalogVersionError(message)
