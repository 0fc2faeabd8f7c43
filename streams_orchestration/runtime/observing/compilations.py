"""Reads the deployed compilation from the catalog. It is separate from `reading`, which needs no compiler."""

from __future__ import annotations

from streams_orchestration.compiler.checking.deployable import Identified
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.kept_options import options_of
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import UNREADABLE, NotDeployedError, OtherVersionError
from streams_orchestration.runtime.observing.reading import application_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.programs.stored_compilation import read_stored, require_not_removed, require_same
from streams_orchestration.runtime.units.reading import application_row


def read_compilation(catalog: Catalog, application: str) -> Compilation:
    """Return the compiled application as it was deployed.

    Raises:
        NotDeployedError: the application is not deployed.
        OtherVersionError: another version of the product wrote the compilation.
    """
    with catalog.read() as connection:
        return read_stored(application_row(connection, catalog.home, application))


def read_status_to_continue(catalog: Catalog, wanted: Identified) -> ApplicationStatus | None:
    """Return the status of the deployed application from which a wanted one would continue.

    None if no application of its name is deployed. The catalog may not exist yet.

    Raises:
        NotDeployableError: the deployed application is partly removed.
        ApplicationChangedError: the wanted application differs.
        OtherVersionError: it differs, and another version of the product wrote the deployed one.
    """
    if not catalog.exists:
        return None
    try:
        with catalog.read() as connection:
            row = application_row(connection, catalog.home, wanted.name)
            require_not_removed(row.name, row.wanted)
            require_same(row, wanted)
            return application_status(connection, catalog.home, wanted.name)
    except NotDeployedError:
        return None


def read_compilation_if_any(catalog: Catalog, application: str) -> Compilation | None:
    """Return the deployed compilation; None if there is none that this version of the product can read.

    The catalog may not exist yet.
    """
    try:
        return read_compilation(catalog, application) if catalog.exists else None
    except (NotDeployedError, OtherVersionError):
        return None


def read_compilation_if_readable(catalog: Catalog, application: str) -> Compilation | None:
    """Return the deployed compilation for a display; None if it or the catalog cannot be read."""
    try:
        return read_compilation_if_any(catalog, application)
    except UNREADABLE:
        return None


def read_deployed_options(catalog: Catalog, application: str) -> Options | None:
    """Return the options of the deployed compilation; None if there is none that this version can read."""
    deployed = read_compilation_if_any(catalog, application)
    return None if deployed is None else options_of(deployed)
