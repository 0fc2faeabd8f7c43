"""Reads what was deployed from the catalog; apart from what runs of it, which needs no compiler."""

from __future__ import annotations

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.runtime.errors import CatalogError, NotDeployedError, OtherVersionError
from streams_orchestration.runtime.programs.stored_compilation import read_stored
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import application_row, opened_catalog


def deployed_compilation(home: Home, application: str) -> Compilation:
    """The compiled application as it was deployed.

    Raises:
        NotDeployedError: the catalog does not know it.
        OtherVersionError: see there.
    """
    with opened_catalog(home, application).read() as connection:
        return read_stored(application_row(connection, home, application))


def deployed_if_any(home: Home, application: str) -> Compilation | None:
    """Return the deployed compilation; None when nothing of this name is deployed, or it cannot be read now."""
    try:
        return deployed_compilation(home, application)
    except (NotDeployedError, OtherVersionError, CatalogError):
        return None
