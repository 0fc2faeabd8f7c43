"""Resources that an application from a savepoint shares with others: targets of sinks, and imported streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy import Connection, func, select, update

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.implementation import ImplementationError
from streams_orchestration.operators.storage.port import File, StorageError
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import ConnectionRow
from streams_orchestration.runtime.savepoints.manifest import Manifest, SavedSink, SavepointError
from streams_orchestration.runtime.sinks.directories import enter_directory
from streams_orchestration.runtime.sinks.outputs import newest_name, operators_of
from streams_orchestration.runtime.storage.home import Home

_k = tables.stream_connection


def refuse_shared_targets(home: Home, catalog: Catalog, after: Compilation, manifest: Manifest) -> None:
    """Raise SavepointError if a sink's target belongs to another application, such as the one that was cloned."""
    application, s = after.logical.application, tables.sink
    taken: dict[str, str] = {}
    if manifest.application != application:  # elsewhere a reference to the environment may mean another place
        taken = {sink.place: manifest.application for sink in manifest.sinks if "{env:" not in sink.place}
    with catalog.read() as connection:
        rows = connection.execute(select(s.c.place, s.c.application).where(s.c.application != application)).all()
    taken |= {row.place: row.application for row in rows}
    for operator, place, _ in sinks(home, after.plan.programs):
        if place and place in taken:
            message = (
                f"{operator} of {application} would write to {place}, as {taken[place]} does, so results would be "
                f"doubled. Give {application} a place of its own, for example by a submission-time value of the spec "
                "(--set)."
            )
            raise SavepointError(message)


def refuse_other_files(home: Home, after: Compilation, manifest: Manifest) -> None:
    """Raise SavepointError if a sink's target has other files than at the time of the savepoint."""
    for place, files, before in _saved_sinks(home, after, manifest):
        if files and (before is None or (before.files, before.newest) != (len(files), newest_name(files))):
            there = "none" if before is None or not before.files else f"{before.files} up to {before.newest}"
            message = (
                f"{place} has {len(files)} files, up to {newest_name(files)}; at the savepoint it had {there}. "
                "Results after the savepoint would be doubled: move the newer files away."
            )
            raise SavepointError(message)


def unmarked_directories_there(home: Home, after: Compilation, manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Return for each sink's target the directories that were not yet marked as complete when the savepoint was taken.

    Targets without files are left out.
    """
    return {
        place: before.unmarked
        for place, files, before in _saved_sinks(home, after, manifest)
        if files and before is not None and before.unmarked
    }


def enter_directories(connection: Connection, application: str, unmarked: Mapping[str, Iterable[str]]) -> None:
    """Record in the catalog that directories are to be marked.

    The keys of `unmarked` are targets; targets whose sinks mark nothing are skipped.
    """
    marks = (tables.sink.c.application == application, tables.sink.c.marks)
    for place in sorted({*connection.scalars(select(tables.sink.c.place).where(*marks))} & unmarked.keys()):
        for directory in unmarked[place]:
            enter_directory(connection, application, place, directory)


def _saved_sinks(
    home: Home, after: Compilation, manifest: Manifest
) -> Iterator[tuple[str, tuple[File, ...], SavedSink | None]]:
    """Yield the target and published files of every sink, with the saved sink, or None if it was not saved."""
    known: dict[str, SavedSink] = {}
    if manifest.application == after.logical.application:
        known = {sink.operator: sink for sink in manifest.sinks} | {sink.place: sink for sink in manifest.sinks}
    for operator, place, files in sinks(home, after.plan.programs):
        yield place, files, known.get(place) or known.get(operator)


def sinks(home: Home, programs: Iterable[PeProgram]) -> Iterator[tuple[str, str, tuple[File, ...]]]:
    """Yield the name, target and published files of every sink.

    Raises:
        SavepointError: a target cannot be listed, or an operator cannot be imported.
    """
    try:
        operators = [each for program in programs for each in operators_of(home, program)]
    except ImplementationError as error:
        message = f"the published files of the sinks cannot be checked: {error}"
        raise SavepointError(message) from error
    for name, implementation, context, parameters in operators:
        if implementation.prepare_commit is not Operator.prepare_commit:
            place = implementation.destination(context, parameters)
            try:
                yield name, place, implementation.published(context, parameters)
            except StorageError as error:
                message = f"the files of {name} cannot be checked: {error}. Fix the cause, then try again."
                raise SavepointError(message) from error


def refuse_doubled_exports(connection: Connection, application: str, manifest: Manifest) -> None:
    """Raise SavepointError if an Import would read both the clone's streams and the streams of the original."""
    readers = {
        (row.application, row.name, row.exporter)
        for row in ConnectionRow.all(connection, select(_k).where(_k.c.application != application))
    }
    for reader, name, exporter in sorted(readers):
        if exporter == application and (reader, name, manifest.application) in readers:
            message = (
                f"{application} would send {name} of {reader} the same tuples as {manifest.application} does. Give "
                f"the Exports of {application} other properties, or leave them out."
            )
            raise SavepointError(message)


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
