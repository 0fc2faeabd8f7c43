"""Draining: units that another plan changes stand still at cuts, and nothing lies unread between them.

Their sources produce nothing more and streams from other units are read no further. What is under way between them
flows on: each unit closes epochs until the streams that it reads from the others are empty.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from sqlalchemy import Connection, select, update

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.holds import held_units
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.recurring import RecurringErrors
from streams_orchestration.runtime.sinks.retraction import retract
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import remove_files
from streams_orchestration.runtime.units.reading import opened_catalog
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration.runtime.units.roll_back import roll_back
from streams_orchestration.runtime.units.trial import is_on_trial
from streams_orchestration.runtime.units.unit_store import count_unclosed
from streams_orchestration.runtime.units.watch import observe

HOLD_SECONDS = 30.0
"""A hold ends by itself after this time, unless it is renewed: the process that drains may die."""

LOOK_SECONDS = 0.5

OWN_CUT_SECONDS = 10.0
"""How long a region that its trigger operator drives may take to its own next cut, or half the time there is."""

log = logging.getLogger("streams.redeploy")


@contextmanager
def held(catalog: Catalog, application: str, units: Collection[str]) -> Iterator[None]:
    """Hold units, however long the block takes; then let all go on.

    Args:
        catalog: of the application.
        application: its name.
        units: that are held.
    """
    over = threading.Event()

    def renew() -> None:
        errors = RecurringErrors(log)
        while not over.wait(HOLD_SECONDS / 3):
            # of the catalog: the next time is early enough
            with errors.survived(f"the units of {application} are not held on"), suppress(StreamsRuntimeError):
                hold(catalog, application, units)

    hold(catalog, application, units)
    renewing = threading.Thread(target=renew, name="hold", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()
        release(catalog, application)


def hold(catalog: Catalog, application: str, units: Collection[str]) -> None:
    """Hold units for `HOLD_SECONDS`: their sources and foreign inputs deliver nothing new.

    Units that are at a cut stay there. A temporary run of the application is prolonged for as long.

    What runs only until it is at its cut runs on for as long.
    """
    u, a = tables.unit, tables.application
    until = clock.now() + HOLD_SECONDS
    with catalog.write() as connection:
        for_a_while = (a.c.name == application, a.c.runs_until.is_not(None))
        connection.execute(update(a).where(*for_a_while).values(runs_until=until))
        there = connection.scalars(select(u.c.name).where(u.c.application == application, u.c.name.in_(units))).all()
        still = [name for name in there if _at_cut(connection, application, name)]
        mine = (u.c.application == application, u.c.name.in_(units))
        connection.execute(update(u).where(*mine).values(held_until=until))
        periods = (u.c.application == application, u.c.name.in_(still), u.c.timer == "period")
        connection.execute(update(u).where(*periods).values(deadline=until))


def release(catalog: Catalog, application: str) -> None:
    """Release all held units of an application."""
    u = tables.unit
    held = (u.c.application == application, u.c.held_until.is_not(None))
    with catalog.write() as connection:
        connection.execute(update(u).where(*held, u.c.timer == "period").values(deadline=clock.now()))
        connection.execute(update(u).where(*held).values(held_until=None))


def redeploy_under_way(home: Home, application: str) -> str | None:
    """Describe a redeploy under way: held units or an open trial; None when there is none.

    Raises:
        CatalogError: it cannot be read.
    """
    with opened_catalog(home, application).read() as connection:
        names = held_units(connection, application)
        on_trial = is_on_trial(connection, application)
    if names:
        return f"{', '.join(names)} of {application} stand still for another plan"
    return f"the last redeploy of {application} is on trial" if on_trial else None


def drain(
    catalog: Catalog, application: str, programs: Sequence[PeProgram], units: Collection[str], until: float,
    *, mend: bool = True,
) -> str:  # fmt: skip
    """Wait until units that are held stand at cuts, with nothing unread between them.

    Args:
        catalog: of the application, whose hosts run.
        application: its name.
        programs: of all its PEs.
        units: that are held.
        until: seconds of the monotonic clock.
        mend: take units that have failed back to their last cut, instead of waiting until they are reset.

    Returns:
        What is still under way when the time is over; empty when nothing is.
    """
    began = time.monotonic()
    given_up: set[str] = set()
    while True:
        mark = catalog.changes.mark()
        with catalog.read() as connection:
            rest = under_way(connection, application, programs, units)
        if not rest:
            rest = _stay(catalog, application, programs, units)
        if not rest or time.monotonic() >= until:
            return rest
        if mend:
            fall_back(catalog, application, units)
            if time.monotonic() - began >= min(OWN_CUT_SECONDS, (until - began) / 2):
                given_up |= give_up_epochs(catalog, application, set(units) - given_up)
        close_epochs(catalog, application, units)
        catalog.changes.wait(mark, min(LOOK_SECONDS, until - time.monotonic()))


def _stay(catalog: Catalog, application: str, programs: Sequence[PeProgram], units: Collection[str]) -> str:
    """Keep held regions that are at their cuts from starting an epoch; returns what is still under way, if any."""
    u = tables.unit
    periods = (u.c.application == application, u.c.name.in_(units), u.c.timer == "period")
    with catalog.write() as connection:
        rest = under_way(connection, application, programs, units)
        if not rest:
            connection.execute(update(u).where(*periods).values(deadline=clock.now() + HOLD_SECONDS))
    return rest


def fall_back(catalog: Catalog, application: str, units: Collection[str]) -> None:
    """Take units that have failed, and can close no epoch, back to their last cut."""
    u = tables.unit
    failed = (u.c.application == application, u.c.name.in_(units), u.c.state.in_(("UNHEALTHY", LIMIT)))
    with catalog.read() as connection:
        if connection.execute(select(u.c.name).where(*failed)).first() is None:
            return
    garbage: list[str] = []
    with catalog.write() as connection:
        for unit in UnitRow.all(connection, select(u).where(*failed)):
            garbage += _go_back(connection, unit)
    remove_files(catalog.store, garbage)
    retract(catalog, application)


def give_up_epochs(catalog: Catalog, application: str, units: Collection[str]) -> set[str]:
    """Take regions that an operator drives, and that are in the middle of an epoch, back to their last cut.

    Returns:
        Their names.
    """
    u = tables.unit
    mine = (u.c.application == application, u.c.name.in_(units), u.c.region.is_not(None))
    driven = (*mine, u.c.period.is_(None), u.c.state == "PROCESSING")
    with catalog.read() as connection:
        if all(_at_cut(connection, application, name) for name in connection.scalars(select(u.c.name).where(*driven))):
            return set()
    names: set[str] = set()
    garbage: list[str] = []
    with catalog.write() as connection:
        for unit in UnitRow.all(connection, select(u).where(*driven)):
            if not _at_cut(connection, application, unit.name):
                garbage += _go_back(connection, unit)
                names.add(unit.name)
    remove_files(catalog.store, garbage)
    retract(catalog, application)
    return names


def _go_back(connection: Connection, unit: UnitRow) -> list[str]:
    """Take a unit back to its cut; the files that are no longer named."""
    u = tables.unit
    garbage = roll_back(connection, unit, unit.completed_epoch + 1)
    connection.execute(
        update(u)
        .where(u.c.application == unit.application, u.c.name == unit.name)
        .values(
            generation=unit.generation + 1, state="STARTED", dirty=False, timer=None, deadline=None, cause=None,
            trigger_epoch=unit.completed_epoch, current_epoch=unit.completed_epoch + 1, drain_asked=None,
            unclosed=count_unclosed(unit, unit.completed_epoch + 1),
        )
    )  # fmt: skip
    return garbage


def close_epochs(catalog: Catalog, application: str, units: Collection[str]) -> None:
    """Close the epoch of held regions that are not at a cut now, instead of at the end of their period."""
    u = tables.unit
    now = clock.now()
    early = (u.c.application == application, u.c.name.in_(units), u.c.timer == "period", u.c.deadline > now)
    with catalog.read() as connection:
        waiting = connection.scalars(select(u.c.name).where(*early)).all()
        if all(_at_cut(connection, application, name) for name in waiting):
            return
    with catalog.write() as connection:
        # looked at again: a region that has come to its cut meanwhile is to stay there
        open_units = [
            name
            for name in connection.scalars(select(u.c.name).where(*early)).all()
            if not _at_cut(connection, application, name)
        ]
        connection.execute(update(u).where(*early, u.c.name.in_(open_units)).values(deadline=now))
    observe(catalog, application, open_units)


def under_way(connection: Connection, application: str, programs: Iterable[PeProgram], units: Collection[str]) -> str:
    """Describe what is not at rest in held units; empty when all is.

    Args:
        connection: of a transaction.
        application: its name.
        programs: of all its PEs.
        units: the held ones.
    """
    for name in sorted(units):
        if not _at_cut(connection, application, name):
            return f"{name} has not closed its epoch"
    members = [program for program in programs if program.unit in units]
    of_unit = {program.pe: program.unit for program in members}
    p, s, f = tables.pe, tables.segment, tables.sink_file
    positions = {
        row.id: row.position
        for row in connection.execute(select(p.c.id, p.c.position).where(p.c.application == application))
    }
    for program in members:
        for stream in program.inputs:
            producer = of_unit.get(stream.producer)
            if producer is None or producer == program.unit:
                continue
            # not by the number that the producer writes next: what a reset has taken back leaves a gap before it
            unread = (s.c.stream == stream.stream, s.c.number >= positions[program.pe]["inputs"].get(stream.stream, 0))
            left = select(s.c.number).where(s.c.application == application, *unread, ~s.c.retracted)
            if connection.execute(left.limit(1)).first() is not None:
                return f"PE {program.pe} has not read all that PE {stream.producer} has given to {stream.stream}"
    waiting = select(f.c.operator).where(f.c.application == application, f.c.pe.in_(of_unit), ~f.c.retracted)
    operator = connection.scalar(waiting.order_by(f.c.operator).limit(1))
    return f"outputs of {operator} are not visible yet" if operator is not None else ""


def _at_cut(connection: Connection, application: str, unit: str) -> bool:
    """Whether a unit is at its cut: no PE has committed since the last complete epoch, and no epoch is being closed."""
    u, p, c = tables.unit, tables.pe, tables.commit
    row = UnitRow.one(connection, select(u).where(u.c.application == application, u.c.name == unit))
    if row.state not in ("PROCESSING", "STARTED", "COMPLETED", "STOPPED"):
        return False
    closing = (c.c.application == p.c.application) & (c.c.pe == p.c.id) & (c.c.batch == p.c.batch) & c.c.boundary
    open_pes = (
        select(p.c.id)
        .outerjoin(c, closing & (c.c.epoch == row.completed_epoch))
        .where(p.c.application == application, p.c.unit == unit, p.c.batch >= 0, c.c.pe.is_(None))
    )
    return connection.execute(open_pes).first() is None
