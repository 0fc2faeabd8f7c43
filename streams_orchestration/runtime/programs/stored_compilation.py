"""The compilation of a deployed application, as the catalog has it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from pydantic import ValidationError
from sqlalchemy import Connection, select

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import dump, load, prepare
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import ApplicationRow
from streams_orchestration.runtime.errors import OtherVersionError


def prepare_stored() -> None:
    """Have `stored` and `read_stored` load no modules when they are called: they are called under the write lock."""
    prepare(Compilation)


def stored(compilation: Compilation) -> bytes:
    """Serialize a compilation without the deployment plan, whose parts have rows of their own."""
    return dump(replace(compilation, deployment=None))


def read_stored(row: ApplicationRow) -> Compilation:
    """Read the compilation that `stored` wrote.

    Raises:
        OtherVersionError: another version of the product has written it, in another form.
    """
    try:
        return load(Compilation, row.compilation)
    except ValidationError as error:
        raise OtherVersionError(row.name) from error


def places_of(
    connection: Connection, application: str, operators: Collection[str], parameters: Sequence[str]
) -> dict[str, str]:
    """Return where operators of a deployed application stand in the spec, as `FILE:LINE`; those for which it is known.

    Args:
        connection: of a transaction.
        application: its name.
        operators: their physical names.
        parameters: the first of these that an operator has is pointed to.
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
