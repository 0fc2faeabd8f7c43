"""Reads the deployed compilation from the catalog. It is separate from `reading`, which needs no compiler."""

from __future__ import annotations

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.runtime.errors import CatalogError, NotDeployedError, OtherVersionError
from streams_orchestration.runtime.programs.stored_compilation import read_stored
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import application_row, opened_catalog


def deployed_compilation(home: Home, application: str) -> Compilation:
    """Return the compiled application as it was deployed.

    Raises:
        NotDeployedError: the application is not deployed.
        OtherVersionError: another version of the product wrote the compilation.
    """
    with opened_catalog(home, application).read() as connection:
        return read_stored(application_row(connection, home, application))


def deployed_if_any(home: Home, application: str) -> Compilation | None:
    """Return the deployed compilation; None if the application is not deployed or its compilation cannot be read."""
    try:
        return deployed_compilation(home, application)
    except (NotDeployedError, OtherVersionError, CatalogError):
        return None
