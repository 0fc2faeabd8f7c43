"""The deployed PEs of an application. A host loads them when it starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy import Connection, select

from streams_orchestration.compiler.documents import Stage, load
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.model.engines import EngineKind
from streams_orchestration.model.secrets import REFERENCE
from streams_orchestration.operators.references import unresolved
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import HostLaunchError, OtherVersionError
from streams_orchestration.runtime.hosts.launcher import HostStart

STANDARD = "streams_orchestration.operators."
"""Prefix of the import paths of implementations that come with the product."""


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


def require_references(connection: Connection, start: HostStart) -> None:
    """Check that a child of this process could resolve the references of a host's operators.

    On a Spark cluster, operators have the environment and the files of executors, which this process does not know.

    Raises:
        HostLaunchError: a reference could not be resolved.
        OtherVersionError: another version of the product wrote the program of a PE.
    """
    if start.engine.cluster:
        return
    p = tables.pe
    of_host = (p.c.application == start.application, p.c.host == start.host)
    texts = connection.scalars(select(p.c.program).where(*of_host).order_by(p.c.id))
    found = (text for text in texts if text is not None and REFERENCE.search(text.decode()))
    programs = (read_program(start.application, text) for text in found)
    if reason := unresolved_references(programs):
        message = f"host {start.host} of {start.application} is not started: {reason}"
        raise HostLaunchError(message)


def unresolved_references(programs: Iterable[PeProgram]) -> str | None:
    """Return a message about references of standard operators that a child of this process cannot resolve.

    The message ends with the remedy. Return None if all references resolve.
    """
    errors = [
        (operator.name, error)
        for program in programs
        for operator in program.operators.values()
        if operator.implementation.startswith(STANDARD)
        for error in unresolved(operator.parameters)
    ]
    if not errors:
        return None
    reasons = "; ".join(dict.fromkeys(f"operator {name}: {error.reason}" for name, error in errors))
    remedies = "; ".join(dict.fromkeys(error.remedy for _, error in errors))
    return f"{reasons}. {remedies[:1].upper()}{remedies[1:]}"


def units_timed_by(pes: Iterable[PlacedPe], host: int) -> tuple[str, ...]:
    """Return the units whose epochs a host triggers: among the hosts of the unit, it has the lowest number."""
    first: dict[str, int] = {}
    for pe in pes:
        first[pe.program.unit] = min(first.get(pe.program.unit, pe.host), pe.host)
    return tuple(unit for unit, lowest in first.items() if lowest == host)
