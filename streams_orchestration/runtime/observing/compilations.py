"""Reads what was deployed from the catalog; apart from what runs of it, which needs no compiler."""

from __future__ import annotations

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import load
from streams_orchestration.runtime.errors import CatalogError, NotDeployedError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import application_row, opened_catalog


def deployed_compilation(home: Home, application: str) -> Compilation:
    """The compiled application as it was deployed.

    Raises:
        NotDeployedError: the catalog does not know it.
    """
    with opened_catalog(home, application).read() as connection:
        return load(Compilation, application_row(connection, home, application).compilation)


def deployed_if_any(home: Home, application: str) -> Compilation | None:
    """The same; None when nothing of this name is deployed, or when that cannot be known now."""
    try:
        return deployed_compilation(home, application)
    except (NotDeployedError, CatalogError):
        return None
