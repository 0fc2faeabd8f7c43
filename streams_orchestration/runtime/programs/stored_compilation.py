"""The compilation of a deployed application, as the catalog has it."""

from __future__ import annotations

from dataclasses import replace

from pydantic import ValidationError

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.documents import dump, load
from streams_orchestration.runtime.catalog.rows import ApplicationRow
from streams_orchestration.runtime.errors import OtherVersionError


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
