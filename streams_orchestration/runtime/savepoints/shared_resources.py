"""Resources that an application from a savepoint shares with others: targets of sinks, and imported streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, func, select, update

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.implementations.implementation import ImplementationError
from streams_orchestration.operators.storage.port import File, StorageError
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import ConnectionRow
from streams_orchestration.runtime.savepoints.manifest import Manifest, SavepointError
from streams_orchestration.runtime.sinks.directories import enter_directory
from streams_orchestration.runtime.sinks.outputs import operators_of
from streams_orchestration.runtime.storage.home import Home

_k = tables.stream_connection


class SinkTarget(NamedTuple):
    """The place to which a sink publishes files."""

    operator: str
    place: str
    files: tuple[File, ...]
    """The files that the sink has published there."""


def enter_directories(connection: Connection, application: str, unmarked: Mapping[str, Iterable[str]]) -> None:
    """Record in the catalog that directories are to be marked.

    The keys of `unmarked` are targets; targets whose sinks mark nothing are skipped.
    """
    marks = (tables.sink.c.application == application, tables.sink.c.marks)
    for place in sorted({*connection.scalars(select(tables.sink.c.place).where(*marks))} & unmarked.keys()):
        for directory in unmarked[place]:
            enter_directory(connection, application, place, directory)


def sinks(home: Home, programs: Iterable[PeProgram]) -> Iterator[SinkTarget]:
    """Yield the name, target and published files of every sink.

    Raises:
        SavepointError: a target cannot be listed, or an operator cannot be imported.
        ValidationError: the class of a sink has other parameters than at the compilation.
    """
    try:
        operators = [each for program in programs for each in operators_of(home, program)]
    except ImplementationError as error:
        message = f"the published files of the sinks cannot be checked: {error}. Fix the cause, then try again."
        raise SavepointError(message) from error
    for name, implementation, context, parameters in operators:
        if implementation.prepare_commit is not Operator.prepare_commit:
            place = implementation.destination(context, parameters)
            try:
                yield SinkTarget(name, place, implementation.published(context, parameters))
            except StorageError as error:
                message = f"the files of {name} cannot be checked: {error}. Fix the cause, then try again."
                raise SavepointError(message) from error


def go_on_reading(connection: Connection, redeployment: Redeployment, manifest: Manifest) -> tuple[str, ...]:
    """Set Imports to their saved positions, if the segments after them still exist.

    Returns:
        A note for each Import that cannot continue from its saved position.
    """
    a, s, application = tables.application, tables.segment, redeployment.application
    formers = redeployment.formers
    lives = {row.name: row.life for row in connection.execute(select(a.c.name, a.c.life))}
    links = {
        (link.name, formers.get(link.operator), link.port, link.exporter, link.stream): link
        for link in ConnectionRow.all(connection, select(_k).where(_k.c.application == application))
    }
    notes: list[str] = []
    for each in manifest.positions.imports:
        link = links.get((each.name, each.operator, each.port, each.application, each.stream))
        read = f"{each.name} has read {each.stream} of {each.application}"
        if each.application not in lives:
            notes.append(
                f"{read}, which is not deployed here: {each.name} reads the tuples that come after it is deployed"
            )
        elif link is None:
            notes.append(f"{read}, and is no longer connected with it")
        elif lives[each.application] != each.life:
            notes.append(
                f"{read}, which was started over since then: {each.name} reads the tuples that come from now on"
            )
        elif each.position < link.first:
            written = (s.c.application == link.exporter, s.c.stream == link.stream)
            oldest = connection.scalar(select(func.min(s.c.number)).where(*written))
            if oldest is None or oldest > each.position:
                notes.append(
                    f"{read}, which has dropped later tuples: {each.name} reads the tuples that come from now on"
                )
            else:
                mine = (_k.c.application == application, _k.c.key == link.key)
                connection.execute(update(_k).where(*mine).values(first=each.position))
    return tuple(notes)
