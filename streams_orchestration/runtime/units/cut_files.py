"""The files that the last complete cut of a unit needs, and checks that they still exist.

A reset would also find that a file is gone, but too late. Until something fails, the application may run for long, and
meanwhile the file can be restored, or the next cut may not need it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import ConnectionRow, StateRow, StoredPosition, UnitEventRow, UnitRow
from streams_orchestration.runtime.catalog.states import ENDED
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.storage.home import data_of
from streams_orchestration.runtime.storage.store import Store, StoreError
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.unit_store import log_event, record_of

MOST_FILES = 4096
"""The most files that one check covers, beside the files of units whose cut is lost.

If there are more, successive checks cover different ones.
"""

_c, _e, _k = tables.commit, tables.unit_event, tables.stream_connection
_p, _s, _t, _u = tables.pe, tables.segment, tables.state, tables.unit
_closes = (_c.c.application == _p.c.application) & (_c.c.pe == _p.c.id) & (_c.c.epoch == _u.c.completed_epoch)
_MEMBERS = (
    select(_p.c.id, _p.c.unit, _p.c.initial, _c.c.batch, _c.c.position)
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .outerjoin(_c, _closes & _c.c.boundary)
    .where(_p.c.application == bindparam("of"), _u.c.state.not_in(ENDED))
    .order_by(_p.c.id)
)
_STATES = select(_t).where(_t.c.application == bindparam("of")).order_by(_t.c.batch)
_CONNECTIONS = select(_k).where(_k.c.application == bindparam("of"))
_SEGMENTS = (
    select(_s.c.stream, _s.c.number, _s.c.path, _s.c.size, _p.c.unit)
    .join(_p, (_p.c.application == _s.c.application) & (_p.c.id == _s.c.pe))
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .where(_s.c.application == bindparam("of"), ~_s.c.retracted, _s.c.epoch <= _u.c.completed_epoch)
    .order_by(_s.c.stream, _s.c.number)
)
_CUT_EVENTS = (
    select(_e)
    .where(_e.c.application == bindparam("of"), _e.c.kind.in_(("cut lost", "cut restored")))
    .order_by(_e.c.number)
)


@dataclass(frozen=True, slots=True)
class CutFile:
    """A file that is read when a unit goes back to a cut."""

    unit: str
    what: str
    """Description of the file for messages."""
    path: str
    size: int
    """The size in bytes."""

    def problem(self, store: Store, sizes: Mapping[str, int] | None = None) -> str | None:
        """Return why the file cannot be read, by its existence and size alone; None if it seems to be intact.

        A file in an unavailable storage counts as intact.

        Args:
            store: the store of the file.
            sizes: address -> size of files that exist; None if they are not known. The store is asked for other files.
        """
        try:
            known = None if sizes is None else sizes.get(self.path)
            size = store.size(self.path) if known is None else known
        except StoreError:
            return None
        except OSError as error:
            return f"{self.what} {store.title(self.path)} cannot be read: {error.strerror}"
        if size != self.size:
            return f"{self.what} {store.title(self.path)} has {size} of {self.size} bytes"
        return None


@dataclass(frozen=True, slots=True)
class _Member(CatalogRow):
    """A PE of a unit that has not ended, and its commit that closed the last complete epoch, if there is one."""

    id: int
    unit: str
    initial: StoredPosition
    batch: int | None
    position: StoredPosition | None


def cut_files(connection: Connection, application: str, units: Collection[str] | None = None) -> list[CutFile]:
    """Return the files that a reset of units to their cuts would read: states, and segments of other units' streams.

    Segments of a unit's own streams are left out, because a reset makes them again. Units that have ended need none.

    Args:
        connection: the connection of a transaction.
        application: the name of the application.
        units: the names of the units; None for all.
    """
    rows = _Member.all(connection, _MEMBERS, {"of": application})
    members = [row for row in rows if units is None or row.unit in units]
    if not members:
        return []
    return [*_states(connection, application, members), *_segments(connection, application, members)]


def _states(connection: Connection, application: str, members: Sequence[_Member]) -> Iterable[CutFile]:
    cuts = {row.id: (row.unit, row.batch) for row in members if row.batch is not None}
    newest: dict[str, StateRow] = {}
    for row in StateRow.all(connection, _STATES, {"of": application}):
        if row.pe in cuts and row.batch <= cuts[row.pe][1]:
            newest[row.operator] = row
    for operator, row in newest.items():
        for file in row.files:
            if file["path"]:
                yield CutFile(cuts[row.pe][0], f"the state of {operator},", file["path"], file["size"])


def _segments(connection: Connection, application: str, members: Sequence[_Member]) -> Iterable[CutFile]:
    imported = {(row.pe, row.key): row for row in ConnectionRow.all(connection, _CONNECTIONS, {"of": application})}
    needed: list[tuple[str, str, str, int]] = []
    for row in members:
        position = row.initial if row.position is None else row.position
        inputs = position["inputs"] | {
            key: position["inputs"].get(key, link.first) for (pe, key), link in imported.items() if pe == row.id
        }
        for key, number in inputs.items():
            link = imported.get((row.id, key))
            exporter, stream = (application, key) if link is None else (link.exporter, link.stream)
            needed.append((row.unit, exporter, stream, number))
    for exporter in sorted({exporter for _, exporter, _, _ in needed}):
        segments = connection.execute(_SEGMENTS, {"of": exporter})
        written = {stream: list(rows) for stream, rows in itertools.groupby(segments, key=lambda row: row.stream)}
        for unit, source, stream, number in needed:
            for row in written.get(stream, ()) if source == exporter else ():
                own = exporter == application and row.unit == unit
                if row.number >= number and not own:
                    yield CutFile(unit, f"a segment of stream {stream},", row.path, row.size)


def check_and_record_cuts(
    catalog: Catalog, application: str, units: Collection[str] | None = None, *, turn: int = 0
) -> dict[str, str]:
    """Look for missing or truncated files of the last cuts, and record the changes since the last check as unit events.

    Units that were known to lack a file are checked in every turn.

    Args:
        catalog: the catalog of the application.
        application: the name of the application.
        units: the names of the units; None for all.
        turn: a number that grows with each call and selects which `MOST_FILES` files are checked.

    Returns:
        Unit -> the reason why it could not be reset; intact units are left out. If the storage is unavailable, these
            are the recorded reasons.
    """
    with catalog.read() as connection:
        files = cut_files(connection, application, units)
        known = _lost_cuts(connection, application)
    begin = turn * MOST_FILES % len(files) if len(files) > MOST_FILES else 0
    looked_at = {*(files + files)[begin : begin + MOST_FILES], *(file for file in files if file.unit in known)}
    store = catalog.store.hasty()
    try:
        sizes = store.sizes(data_of(application)) if looked_at else None
    except StoreError:  # the existing files are unknown
        return known if units is None else {unit: known[unit] for unit in units if unit in known}
    broken = {file.unit for file in looked_at if file.problem(store, sizes) is not None}
    for unit in sorted(broken ^ (known.keys() & {file.unit for file in files})):
        if message := _record(catalog, application, unit):
            known[unit] = message
        else:
            known.pop(unit, None)
    return known if units is None else {unit: message for unit, message in known.items() if unit in units}


def check_cut_files(catalog: Catalog, application: str) -> dict[str, str]:
    """Check all files that the last cuts need, record the changes, and return why units could not be reset, by unit.

    This does not need live hosts. Nothing is checked, and the result is empty, unless the application is RUNNING or
    WAITING.

    Raises:
        NotDeployedError: the catalog does not know the application.
    """
    if read_units(catalog, application).state not in ("RUNNING", "WAITING"):
        return {}
    with catalog.read() as connection:
        turns = -(-len(cut_files(connection, application)) // MOST_FILES)
    for turn in range(turns):
        check_and_record_cuts(catalog, application, turn=turn)
    with catalog.read() as connection:
        return _lost_cuts(connection, application)


def _record(catalog: Catalog, application: str, unit: str) -> str | None:
    """Record whether a unit can still be reset, after checking its files again, because its cut may have moved.

    Return the reason why it cannot be reset, or None. If the cut moves meanwhile, or a redeploy removes the unit,
    nothing is recorded, and the last recorded reason is returned; the next check covers the new cut.
    """
    u = tables.unit
    its_row = select(u).where(u.c.application == application, u.c.name == unit)
    with catalog.read() as connection:
        files = cut_files(connection, application, [unit])
        before = UnitRow.one_or_none(connection, its_row)
    problem = next((problem for file in files if (problem := file.problem(catalog.store.hasty())) is not None), None)
    with catalog.write_unit(application, unit) as connection:
        known = (lost := _lost_cuts(connection, application).get(unit)) is not None
        row = UnitRow.one_or_none(connection, its_row)
        if row is None or before is None:
            return lost
        if (row.completed_epoch, row.generation) != (before.completed_epoch, before.generation):
            return lost
        where = f"epoch {row.completed_epoch}, its last complete one" if row.completed_epoch else "its start"
        message = None if problem is None else f"{unit} cannot be reset to {where}: {problem}"
        if known != (message is not None):
            kind = "cut restored" if message is None else "cut lost"
            log_event(connection, row, record_of(row), kind, clock.now(), generation=row.generation, cause=message)
    return message


def _lost_cuts(connection: Connection, application: str) -> dict[str, str]:
    """Return the last recorded reason why a unit can no longer be reset, by unit."""
    newest = {row.unit: row for row in UnitEventRow.all(connection, _CUT_EVENTS, {"of": application})}
    return {unit: row.cause or "" for unit, row in newest.items() if row.kind == "cut lost"}
