"""The stored compilation of a deployed application in the catalog."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy import Connection, select

from streams_orchestration.compiler.checking.deployable import Identified
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import dump, load, prepare
from streams_orchestration.compiler.fingerprint import difference
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import StoredPlan
from streams_orchestration.runtime.catalog.rows import ApplicationRow
from streams_orchestration.runtime.catalog.states import WantedState
from streams_orchestration.runtime.errors.errors import ApplicationChangedError, NotDeployableError, OtherVersionError


def prepare_stored() -> None:
    """Load the modules that `stored` and `read_stored` need, since both are called under the write lock."""
    prepare(Compilation)


def stored(compilation: Compilation) -> bytes:
    """Serialize a compilation without the deployment plan, whose parts are stored in rows of their own."""
    return dump(compilation, Compilation)


def stored_plan(compilation: Compilation, fingerprint: str) -> StoredPlan:
    """Return the columns of an application that name a plan."""
    return StoredPlan(fingerprint, stored(compilation), str(base_directory(compilation)))


def read_stored(row: ApplicationRow) -> Compilation:
    """Read the compilation that `stored` wrote.

    Raises:
        OtherVersionError: another version of the product has written it, in another form.
    """
    try:
        return load(Compilation, row.compilation)
    except ValidationError as error:
        raise OtherVersionError(row.name) from error


def require_same(row: ApplicationRow, wanted: Identified) -> None:
    """Check that the wanted application is the deployed one, to which the kept state belongs.

    Raises:
        ApplicationChangedError: it differs.
        OtherVersionError: it differs, and another version of the product wrote the deployed one.
    """
    if row.fingerprint != wanted.fingerprint:
        changes = difference(read_stored(row), wanted.compilation)
        raise ApplicationChangedError(wanted.name, changes, complete=row.state == "COMPLETED")


def require_not_removed(application: str, wanted: WantedState) -> None:
    """Check that an application is not partly removed, by the column `wanted` of its row.

    Raises:
        NotDeployableError: it is, so it cannot run from its state.
    """
    if wanted == "REMOVED":
        message = (
            f"{application} is partly removed, since its removal was interrupted: `streams remove {application}` "
            "removes the rest, and --fresh starts over"
        )
        raise NotDeployableError(message)


def places_of(
    connection: Connection, application: str, operators: Collection[str], parameters: Sequence[str]
) -> dict[str, str]:
    """Return the places of operators of a deployed application in the spec, as `FILE:LINE`, where they are known.

    The result is empty if the application is not deployed, or another version of the product wrote it.

    Args:
        connection: the connection of a transaction.
        application: the name of the application.
        operators: the physical names of the operators.
        parameters: names of parameters; the place is where the operator has the first of them, else the operator's.
    """
    a = tables.application
    row = ApplicationRow.one_or_none(connection, select(a).where(a.c.name == application))
    if row is None:
        return {}
    try:
        compilation = read_stored(row)
    except OtherVersionError:
        return {}
    logical = compilation.logical.operators
    places: dict[str, str] = {}
    for each in compilation.physical.operators:
        if each.name in operators:
            operator = logical[each.logical]
            place = next((name for name in parameters if name in operator.parameters), "")
            if (location := operator.location_of(place)) is not None:
                places[each.name] = str(location)
    return places


def base_directory(compilation: Compilation) -> Path:
    """Return the directory of the spec, or the working directory for an application that was built in Python."""
    file = compilation.logical.file
    return Path(file).absolute().parent if file else Path.cwd()
