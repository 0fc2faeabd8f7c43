"""Garbage collection: deletes rows that cuts can no longer need, and files that no commit names."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Set
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.cuts import commits_at_shown_cuts
from streams_orchestration.runtime.catalog.holds import end_expired_holds
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.sinks.outputs import unpublished_files
from streams_orchestration.runtime.storage.home import data_of
from streams_orchestration.runtime.storage.pending_files import MERGED, path_of, waiting_of
from streams_orchestration.runtime.storage.store import Store, remove_files
from streams_orchestration.runtime.tasks.stored_states import drop_unneeded_states, state_files
from streams_orchestration.runtime.transport.readers import drop_read_exports, exporters_done, importing_pes

log = logging.getLogger("streams.garbage")


class Swept(NamedTuple):
    """The result of a sweep."""

    removed: int
    """The number of removed files."""
    left: bool
    """True if there may be files that should be gone.

    A file could not be removed, a directory could not be listed, or states were kept since units are held.
    """


KEPT_EPOCHS = 100
"""The number of epochs of each unit that stay in the catalog for the console and `streams status`."""
BATCHES = 64
"""The number of batches of a unit's PEs between two collections, since states between two cuts are garbage, too."""

_h, _p, _s, _f = tables.host, tables.pe, tables.segment, tables.sink_file
_SEGMENTS = select(_s.c.path).where(_s.c.application == bindparam("of"))
_WAITING = select(_f.c.pending).where(_f.c.application == bindparam("of"))
_INCARNATION = select(_h.c.incarnation).where(_h.c.application == bindparam("of"), _h.c.id == bindparam("host"))
_PLACES = select(_p.c.id, _p.c.host).where(_p.c.application == bindparam("of"))


class Garbage:
    """Collects the garbage of units of an application.

    A unit is due when its cut has moved or its PEs have made many batches.

    Args:
        catalog: the catalog of the application.
        application: the name of the application.
        programs: the programs of all its PEs.
        units: the units to check; other hosts check the others.
        plan: the number of the plan that the programs belong to.
    """

    def __init__(
        self, catalog: Catalog, application: str, programs: Collection[PeProgram], units: Collection[str], plan: int
    ) -> None:
        self._catalog = catalog
        self._application = application
        self._programs = programs
        self._plan = plan
        self._names = units
        self._units: dict[str, tuple[int, int, int]] = {}
        self._importers: object = None

    def collect(self) -> bool:
        """Delete the data that readers and cuts no longer need, in units whose cut has moved or with many new batches.

        A unit is checked for its batches each time that their number passes a multiple of `BATCHES`. The first call
        checks all units.

        Returns:
            True if there was such a unit, or the PEs that import the application's streams have changed or moved.
        """
        u = tables.unit
        p = tables.pe
        now = clock.now()
        with self._catalog.read() as connection:
            progress = (
                select(u.c.name, u.c.generation, tables.SHOWN_EPOCH.label("cut"), func.sum(p.c.batch).label("batches"))
                .join(p, (p.c.application == u.c.application) & (p.c.unit == u.c.name))
                .where(u.c.application == self._application, u.c.name.in_(self._names))
                .group_by(u.c.name, u.c.generation, tables.SHOWN_EPOCH)
            )
            units = {
                row.name: (row.cut, row.generation, row.batches // BATCHES) for row in connection.execute(progress)
            }
            importers = importing_pes(connection, self._application, now)
        moved = {name for name, row in units.items() if row != self._units.get(name)}
        if not moved and importers == self._importers:
            return False
        collect_garbage(self._catalog, self._application, self._programs, moved, self._plan)
        self._units, self._importers = units, importers
        return True


def collect_garbage(
    catalog: Catalog,
    application: str,
    programs: Collection[PeProgram],
    units: Collection[str] | None = None,
    plan: int | None = None,
) -> int:
    """Delete commits, segments and states before the cuts of all PEs that could need them, and remove their files.

    Epochs older than `KEPT_EPOCHS` and segments that resets have retracted are deleted as well. Each unit has a
    transaction of its own.

    While a redeploy is on trial, the cut is the one at which it took place.

    Args:
        catalog: the catalog of the application.
        application: the name of the application.
        programs: the programs of all its PEs.
        units: the units whose commits, states and read segments are checked; None for all.
        plan: the number of the plan that the programs belong to; None for the deployed one. Once another plan is
            deployed, nothing more is deleted, since that plan may need segments that this one has read.

    Returns:
        The number of removed files.
    """
    programs = list(programs)
    names = {program.unit for program in programs} if units is None else set(units)
    unit_of = {program.pe: program.unit for program in programs}
    # the segments that a unit has read are among the rows of the unit that has written them
    names |= {unit_of[s.producer] for each in programs if each.unit in names for s in each.inputs}
    removed = 0
    for unit in sorted(names):
        with catalog.write_unit(application, unit) as connection:
            if not _is_deployed(connection, application, plan):
                return removed
            paths = _collect_unit(connection, application, unit, programs)
        removed += remove_files(catalog.store, paths)
    return removed + remove_files(catalog.store, _collect_exports(catalog, application, programs, plan))


def _is_deployed(connection: Connection, application: str, plan: int | None) -> bool:
    """Return True for the deployed plan, which cannot change until the transaction ends, and for None."""
    a = tables.application
    return plan is None or connection.scalar(select(a.c.plan).where(a.c.name == application)) == plan


def _collect_unit(connection: Connection, application: str, unit: str, programs: Collection[PeProgram]) -> list[str]:
    """Delete the data before a unit's cut and its epochs except the last `KEPT_EPOCHS`; return the files to remove.

    Segments of its streams that every reader in the application has read are deleted, too, unless they are exported.
    The cut of a reader in another unit may move meanwhile; that is safe, because a cut only moves forward.
    """
    c, s, p, u, e = tables.commit, tables.segment, tables.pe, tables.unit, tables.epoch
    members = {program.pe: program for program in programs if program.unit == unit}
    exported = {stream for program in members.values() for stream in program.exports}
    streams = {stream for program in members.values() for stream in program.consumers} - exported
    paths: list[str] = []
    for stream, number in _needed(connection, application, programs, streams).items():
        old = (s.c.application == application, s.c.stream == stream, s.c.number < number)
        paths += connection.scalars(delete(s).where(*old).returning(s.c.path))
    cuts = {pe: batch for pe, batch, _ in _cuts(connection, application, members)}
    for pe, batch in cuts.items():
        connection.execute(delete(c).where(c.c.application == application, c.c.pe == pe, c.c.batch < batch))
    mine = select(p.c.id).where(p.c.application == application, p.c.unit == unit)
    paths += drop_unneeded_states(connection, application, mine, cuts)
    completed = select(u.c.completed_epoch).where(u.c.application == application, u.c.name == unit).scalar_subquery()
    connection.execute(
        delete(e).where(e.c.application == application, e.c.unit == unit, e.c.epoch <= completed - KEPT_EPOCHS)
    )
    return paths


def _collect_exports(
    catalog: Catalog, application: str, programs: Collection[PeProgram], plan: int | None
) -> list[str]:
    """Delete exported segments that nobody needs, and segments that resets retracted; return the files to remove.

    Such segments of complete applications from which this one imports are deleted, too. The function opens a write
    transaction only if there may be such segments. If another plan was deployed, nothing is deleted.
    """
    s, x = tables.segment, tables.stream_connection
    exported = {stream for program in programs for stream in program.exports}
    with catalog.read() as connection:
        connected = select(x.c.key).where((x.c.application == application) | (x.c.exporter == application))
        retracted = select(s.c.stream).where(s.c.application == application, s.c.retracted)
        if not exported and not any(connection.execute(rows.limit(1)).first() for rows in (connected, retracted)):
            return []
    paths: list[str] = []
    with catalog.write() as connection:
        if not _is_deployed(connection, application, plan):
            return []
        now = clock.now()
        needed = _needed(connection, application, programs, exported)
        paths += drop_read_exports(connection, application, needed, now)
        for exporter in exporters_done(connection, application):
            paths += drop_read_exports(connection, exporter, {}, now)
            paths += _drop_retracted(connection, exporter, (), now)
        paths += _drop_retracted(connection, application, programs, now)
    return paths


def _needed(
    connection: Connection, application: str, programs: Iterable[PeProgram], streams: Collection[str]
) -> dict[str, int]:
    """Map streams to the first segment that a reader in the application may go back to.

    It is 0 while a reader has no cut. Streams without a reader are left out.
    """
    readers: dict[str, set[int]] = defaultdict(set)
    for program in programs:
        for stream in program.inputs:
            if stream.stream in streams:
                readers[stream.stream].add(program.pe)
    everyone = {pe for pes in readers.values() for pe in pes}
    inputs = {pe: read for pe, _, read in _cuts(connection, application, everyone)}
    return {stream: min(inputs.get(pe, {}).get(stream, 0) for pe in pes) for stream, pes in readers.items()}


def _cuts(connection: Connection, application: str, pes: Iterable[int]) -> list[tuple[int, int, dict[str, int]]]:
    """Return, for each PE with a cut: its number, its batch there, and the next segment to read of every stream."""
    rows = connection.execute(commits_at_shown_cuts(application).where(tables.commit.c.pe.in_(pes)))
    return [(row.pe, row.batch, row.position["inputs"]) for row in rows]


def _drop_retracted(connection: Connection, application: str, programs: Collection[PeProgram], now: float) -> list[str]:
    """Delete the retracted segments that no reader of uncommitted batches can still read; return their files.

    Readers of complete epochs never see retracted segments.

    Args:
        connection: a connection in a write transaction.
        application: the application that wrote them.
        programs: the programs of its PEs; empty if it is complete, and only others read its exports.
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
        paths += connection.scalars(delete(s).where(*old).returning(s.c.path))
    return paths


def sweep(
    catalog: Catalog,
    application: str,
    pes: Iterable[int],
    programs: Iterable[PeProgram] = (),
    owner: tuple[int, str] | None = None,
) -> Swept:
    """Remove files of PEs that no commit names, such as files of killed or failed tasks.

    Call this only while no query of these PEs runs. If the storage cannot be listed at once, this is logged and nothing
    is removed. If there are states, expired holds of units are ended. During a redeploy, states are kept, because the
    redeploy writes the states of its new plan, and only then the switch names them.

    Args:
        catalog: the catalog of the application.
        application: the name of the application.
        pes: the numbers of the PEs whose segments and states are checked.
        programs: the programs whose sinks are checked.
        owner: number and incarnation of the host that asks. Files of PEs that another host, or another incarnation, has
            to run by now stay. None if no other process can run these PEs.

    Raises:
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
    """
    data = data_of(application)
    numbers = list(pes)
    store = catalog.store.hasty()  # the loop of a host waits for this, and tries again
    # The files are listed before the catalog is asked which host runs the PEs. So a host that was paused and replaced
    # meanwhile does not remove files that its successor has written and not committed. A redeploy holds units before
    # it writes.
    is_listed = True
    try:
        found = [(pe, address) for pe in numbers for address in store.below(f"{data}/streams/pe-{pe}")]
        found += [(pe, address) for pe in numbers for address in _unpublished(store, application, pe)]
        states = [(pe, address) for pe in numbers for address in store.below(f"{data}/states/pe-{pe}")]
        found += [(program.pe, str(path)) for program in programs for path in unpublished_files(catalog.home, program)]
    except OSError as error:
        log.warning("files that no commit names are removed later: %s", error)
        found, states, is_listed = [], [], False
    keeps_states = bool(states) and not end_expired_holds(catalog, application)
    if not keeps_states:
        found += states
    with catalog.read() as connection:
        foreign = (
            frozenset[int]() if owner is None else _pes_on_other_hosts(connection, application, {*numbers}, *owner)
        )
        named = set(connection.scalars(_SEGMENTS, {"of": application})) | state_files(connection, application)
        pending = set(connection.scalars(_WAITING, {"of": application}))
    candidates = [address for pe, address in found if pe not in foreign]
    titles = {str(path_of(store, address)) for address in pending}  # files that a publisher of this machine has taken
    titles |= {store.title(address) for address in named | pending}
    nameless = [address for address in candidates if store.title(address) not in titles]
    removed = remove_files(store, nameless)
    return Swept(removed, left=not is_listed or keeps_states or removed < len(nameless))


def _pes_on_other_hosts(
    connection: Connection, application: str, pes: Set[int], host: int, incarnation: str
) -> Set[int]:
    """Return the given PEs that run on another host; all of them if another incarnation of this host runs."""
    actual = connection.scalar(_INCARNATION, {"of": application, "host": host})
    if actual != incarnation:
        return pes
    hosts = connection.execute(_PLACES, {"of": application})
    return {row.id for row in hosts if row.host != host} & pes


def _unpublished(store: Store, application: str, pe: int) -> list[str]:
    """Return the sink files in an object store that tasks have put there, without the merged files of publishers.

    There are none if the store is a directory.
    """
    files = store.below(waiting_of(application, pe)) if store.address else []
    return [address for address in files if not address.rpartition("/")[2].startswith(MERGED)]


def end_holds_and_find_unknown_pes(catalog: Catalog, application: str) -> tuple[int, ...] | None:
    """Return PEs that have files but are not deployed, as after a redeploy that died early; end expired holds before.

    The result is None while units are held, since a redeploy may write files of its new plan, and if the storage cannot
    be listed at once. Without any files of PEs, it is empty, and no holds are ended.
    """
    # the files are listed before the catalog is asked, as in `sweep`
    data, store = data_of(application), catalog.store.hasty()
    try:
        files = [address for kind in ("streams", "states", "waiting") for address in store.below(f"{data}/{kind}")]
    except OSError:
        return None
    numbers = {int(name) for file in files if (name := file.split("/")[3].removeprefix("pe-")).isdecimal()}
    p = tables.pe
    if not numbers:
        return ()
    if not end_expired_holds(catalog, application):
        return None
    with catalog.read() as connection:
        deployed = connection.scalars(select(p.c.id).where(p.c.application == application))
        return tuple(sorted(numbers - set(deployed)))
