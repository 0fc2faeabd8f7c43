"""The catalog that deployments are written to: made where there is none, upgraded where there is an older one."""

from __future__ import annotations

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.upgrading import upgrade_older
from streams_orchestration.runtime.storage.home import Home


def create_catalog(home: Home) -> Catalog:
    """The catalog of a home, made if there is none; one of an older version is upgraded while no host runs.

    Raises:
        StateDirectoryError: the home cannot be written.
        CatalogError: the database is no catalog, or one of another version, or cannot be written.
    """
    home.prepare()
    catalog = Catalog(home)
    upgrade_older(catalog)
    if not catalog.exists:
        catalog.make()
    return catalog
