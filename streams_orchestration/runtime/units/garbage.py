"""Garbage collection: what no cut can need any more, and files that no commit names."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, delete, func, select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.sinks.outputs import unpublished_files
from streams_orchestration.runtime.storage.files import remove_files
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.stored_states import drop_unneeded_states, state_files
from streams_orchestration.runtime.transport.readers import drop_read_exports, exporters_done, importing_pes

KEPT_EPOCHS = 100
"""Epochs that stay in the catalog for people to look at."""
BATCHES = 64
"""Of the PEs of a unit together: states of batches between two cuts are garbage, too."""


class Garbage:
    """Collects the garbage of an application, of each unit when its cut has moved, or it has made many batches.

    Args:
        catalog: of the application.
        application: its name.
        programs: of all its PEs.
    """

    def __init__(self, catalog: Catalog, application: str, programs: Collection[PeProgram]) -> None:
        self._catalog = catalog
        self._application = application
        self._programs = programs
        self._units: dict[str, tuple[int, int, int]] = {}
        self._importers: object = None

    def collect(self) -> bool:
        """Forget what can no longer be needed, since cuts have moved and other applications have read on.

        Returns:
            Whether there was anything to look at.
        """
        u, p, now = tables.unit, tables.pe, clock.now()
        with self._catalog.read() as connection:
            progress = (
                select(u.c.name, u.c.generation, tables.SHOWN_EPOCH.label("cut"), func.sum(p.c.batch).label("batches"))
                .join(p, (p.c.application == u.c.application) & (p.c.unit == u.c.name))
                .where(u.c.application == self._application)
                .group_by(u.c.name, u.c.generation, tables.SHOWN_EPOCH)
            )
            units = {
                row.name: (row.cut, row.generation, row.batches // BATCHES) for row in connection.execute(progress)
            }
            importers = importing_pes(connection, self._application, now)
        moved = {name for name, row in units.items() if row != self._units.get(name)}
        if not moved and importers == self._importers:
            return False
        collect_garbage(self._catalog, self._application, self._programs, moved)
        self._units, self._importers = units, importers
        return True


def collect_garbage(
    catalog: Catalog, application: str, programs: Collection[PeProgram], units: Collection[str] | None = None
) -> int:
    """Forget commits, segments and states that lie before the cuts of all PEs that could need them.

    While a redeploy is on trial this is the cut at which it took place.

    Args:
        catalog: of the application.
        application: its name.
        programs: of all its PEs.
        units: whose commits, states and read segments to look at; all when None.

    Returns:
        How many files were removed.
    """
    c, s, u, p, e = tables.commit, tables.segment, tables.unit, tables.pe, tables.epoch
    paths: list[str] = []
    mine = u.c.application == application if units is None else (u.c.application == application) & u.c.name.in_(units)
    streams = {
        stream.stream for program in programs if units is None or program.unit in units for stream in program.inputs
    }
    with catalog.write() as connection:
        cuts = {
            row.pe: row
            for row in connection.execute(
                select(c, p.c.unit)
                .join(p, (p.c.application == c.c.application) & (p.c.id == c.c.pe))
                .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
                .where(c.c.application == application, c.c.boundary, c.c.epoch == tables.SHOWN_EPOCH)
            )
        }
        needed: dict[str, int] = {}
        for program in programs:
            for stream in program.inputs:
                if stream.stream in streams:
                    read = cuts[program.pe].position["inputs"].get(stream.stream, 0) if program.pe in cuts else 0
                    needed[stream.stream] = min(needed.get(stream.stream, read), read)
        now = clock.now()
        paths += drop_read_exports(connection, application, needed, now)
        for exporter in exporters_done(connection, application):
            paths += drop_read_exports(connection, exporter, {}, now)
            paths += _drop_retracted(connection, exporter, (), now)
        exported = {stream for program in programs for stream in program.exports}
        for stream, number in needed.items():
            if stream in exported:
                continue
            old = (s.c.application == application, s.c.stream == stream, s.c.number < number)
            paths += connection.scalars(select(s.c.path).where(*old))
            connection.execute(delete(s).where(*old))
        paths += _drop_retracted(connection, application, programs, now)
        of_units = {pe: row for pe, row in cuts.items() if units is None or row.unit in units}
        for pe, row in of_units.items():
            connection.execute(delete(c).where(c.c.application == application, c.c.pe == pe, c.c.batch < row.batch))
        paths += drop_unneeded_states(connection, application, {pe: row.batch for pe, row in of_units.items()})
        for unit in connection.execute(select(u.c.name, u.c.completed_epoch).where(mine)):
            connection.execute(
                delete(e).where(
                    e.c.application == application,
                    e.c.unit == unit.name,
                    e.c.epoch <= unit.completed_epoch - KEPT_EPOCHS,
                )
            )
    return remove_files(paths)


def _drop_retracted(connection: Connection, application: str, programs: Collection[PeProgram], now: float) -> list[str]:
    """Forget segments that resets took back once every reader has gone past them, so that no batch names them.

    Args:
        connection: in a transaction that writes.
        application: that wrote them.
        programs: of its PEs; none when it is complete, and only others read what it has exported.
        now: unix seconds.
    """
    s, p = tables.segment, tables.pe
    taken_back = select(s.c.stream).where(s.c.application == application, s.c.retracted).distinct()
    streams = connection.scalars(taken_back).all()
    if not streams:
        return []
    positions = {
        row.id: row.position["inputs"]
        for row in connection.execute(select(p.c.id, p.c.position).where(p.c.application == application))
    }
    importing = importing_pes(connection, application, now)
    paths: list[str] = []
    for stream in streams:
        readers = [x.pe for x in programs for read in x.inputs if read.stream == stream and read.uncommitted]
        reached = [positions[pe].get(stream, 0) for pe in readers]
        reached += [each.position for each in importing.get(stream, ()) if each.uncommitted and each.present]
        passed = (s.c.number < min(reached),) if reached else ()
        old = (s.c.application == application, s.c.stream == stream, s.c.retracted, *passed)
        paths += connection.scalars(select(s.c.path).where(*old))
        connection.execute(delete(s).where(*old))
    return paths


def sweep(
    catalog: Catalog, home: Home, application: str, pes: Iterable[int], programs: Iterable[PeProgram] = ()
) -> int:
    """Remove files of these PEs that no commit names: what killed or failed tasks left.

    Call only while no query of these PEs runs. States stay while a redeploy is under way: it writes those of its plan
    before the switch names them.

    Args:
        catalog: of the application.
        home: the state directory.
        application: its name.
        pes: whose segments and states to look at.
        programs: whose sinks to look at.

    Returns:
        How many files were removed.
    """
    data, numbers = home.data(application), list(pes)
    # Looked for before the catalog is asked: a host that was paused in between, and that another one has
    # taken the place of, does not see the files of the other one; a redeploy holds units before it writes.
    candidates = [path for pe in numbers for path in (data / "streams" / f"pe-{pe}").glob("*")]
    candidates += [path for program in programs for path in unpublished_files(home, program)]
    states = [path for pe in numbers for path in (data / "states" / f"pe-{pe}").glob("*")]
    with catalog.read() as connection:
        s = tables.segment
        named = set(connection.scalars(select(s.c.path).where(s.c.application == application)))
        named |= state_files(connection, application)
        f = tables.sink_file
        named |= set(connection.scalars(select(f.c.pending).where(f.c.application == application)))
        if not _is_redeployed(connection, application):
            candidates += states
    return remove_files(path for path in candidates if str(path) not in named)


def unknown_pes(catalog: Catalog, home: Home, application: str) -> tuple[int, ...]:
    """PEs with files that are not deployed, of a redeploy that died before it switched; none while one is under way.

    Args:
        catalog: of the application.
        home: the state directory.
        application: its name.
    """
    # looked for before the catalog is asked, as in `sweep`
    directories = [path for kind in ("streams", "states") for path in (home.data(application) / kind).glob("pe-*")]
    numbers = {int(path.name.removeprefix("pe-")) for path in directories}
    p = tables.pe
    with catalog.read() as connection:
        if _is_redeployed(connection, application):
            return ()
        deployed = connection.scalars(select(p.c.id).where(p.c.application == application))
        return tuple(sorted(numbers - set(deployed)))


def _is_redeployed(connection: Connection, application: str) -> bool:
    """Whether units are held for another plan."""
    u = tables.unit
    held = select(u.c.name).where(u.c.application == application, u.c.held_until > clock.now())
    return connection.execute(held.limit(1)).first() is not None
