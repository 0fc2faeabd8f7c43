"""The deployed PEs of an application. A host loads them when it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy import Connection, select

from streams_orchestration.compiler.documents import Stage, load
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.model.engines import EngineKind
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import OtherVersionError


@dataclass(frozen=True, slots=True)
class PlacedPe:
    """The program of a PE, and the number of its host."""

    program: PeProgram
    host: int


@dataclass(frozen=True, slots=True)
class _Part:
    """The engine that a PE's program names, read alone, since parsing the programs of a thousand PEs takes long."""

    engine: EngineKind = "tuples"


def deployed_pes(catalog: Catalog, application: str) -> tuple[PlacedPe, ...]:
    """Return all PEs of an application, ordered by number.

    Raises:
        OtherVersionError: another version of the product wrote their programs, in another form.
    """
    p = tables.pe
    with catalog.read() as connection:
        rows = connection.execute(
            select(p.c.id, p.c.host, p.c.program).where(p.c.application == application).order_by(p.c.id)
        ).all()
    return tuple(PlacedPe(read_program(application, row.program), row.host) for row in rows)


def read_program(application: str, content: bytes) -> PeProgram:
    """Return the program of a PE from its row in the catalog.

    Raises:
        OtherVersionError: another version of the product wrote the program, in another form.
    """
    return _read(application, PeProgram, content)


def _read(application: str, kind: type[Stage], content: bytes) -> Stage:
    try:
        return load(kind, content)
    except ValidationError as error:
        raise OtherVersionError(application) from error


def units_on(pes: Iterable[PlacedPe], host: int) -> frozenset[str]:
    """Return the units that have a PE on a host."""
    return frozenset(pe.program.unit for pe in pes if pe.host == host)


def has_queries(connection: Connection, application: str, host: int) -> bool:
    """Return True if a PE of a host runs as a dataframe query of Spark.

    Raises:
        OtherVersionError: another version of the product wrote the program of a PE.
    """
    p = tables.pe
    texts = connection.scalars(select(p.c.program).where(p.c.application == application, p.c.host == host))
    return any(_read(application, _Part, text).engine == "dataframe" for text in texts)


def units_timed_by(pes: Iterable[PlacedPe], host: int) -> tuple[str, ...]:
    """Return the units whose epochs a host triggers: among the hosts of the unit, it has the lowest number."""
    first: dict[str, int] = {}
    for pe in pes:
        first[pe.program.unit] = min(first.get(pe.program.unit, pe.host), pe.host)
    return tuple(unit for unit, lowest in first.items() if lowest == host)
