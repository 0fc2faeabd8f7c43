"""Opens the catalog for a deployment: a missing catalog is created, and an older one is upgraded."""

from __future__ import annotations

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.place_of_files import claim, installation_of, is_kept, keep_place
from streams_orchestration.runtime.catalog.upgrading import upgrade_older_catalog
from streams_orchestration.runtime.errors.errors import StorageSettingError
from streams_orchestration.runtime.storage.home import Home


def create_catalog(home: Home) -> Catalog:
    """Return the catalog of a home, and make it usable. For errors see `prepare_catalog`."""
    catalog = Catalog(home)
    prepare_catalog(catalog)
    return catalog


def prepare_catalog(catalog: Catalog) -> None:
    """Create a catalog if it is missing, and upgrade it if it is older and no host runs.

    Raises:
        StateDirectoryError: the home cannot be written.
        CatalogError: the database is not a catalog, is damaged or cannot be written; or it is a catalog of a newer
            version, or of an older one on which a host runs.
        StorageSettingError: the storage cannot be used, or the deployed applications use another storage.
    """
    catalog.home.prepare()
    catalog.check()
    upgrade_older_catalog(catalog)
    if not (catalog.exists and catalog.is_recorded):
        catalog.make()
    _claim_storage(catalog)


def _claim_storage(catalog: Catalog) -> None:
    """Check that the storage of the catalog's files can be used; mark it as this catalog's, and record its address."""
    store = catalog.store
    with catalog.read() as connection:
        kept, installation = is_kept(connection, store), installation_of(connection)
    try:
        store.check()
        if not kept:
            claim(store, installation)
    except OSError as error:
        message = f"STREAMS_STORAGE: {store.address} cannot be used: {error.strerror or error}"
        raise StorageSettingError(message, "Name a place that can be written. Nothing was changed.") from error
    if not kept:
        with catalog.write() as connection:
            keep_place(connection, store)
