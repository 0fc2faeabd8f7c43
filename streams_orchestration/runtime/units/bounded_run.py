"""A bounded run reads only the input that existed when it began, and stops when all of that is delivered."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import stop_bounded_run
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.trials import is_on_trial
from streams_orchestration.runtime.catalog.unit_transitions import forget_holds, request_drain
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.settings.limits import HOLD_SECONDS
from streams_orchestration.runtime.units.holding import (
    HeldUnits,
    at_cut,
    close_epochs,
    describe_held_work,
    hold_units,
)
from streams_orchestration.runtime.units.watch import advance_units


def end_bounded_run(catalog: Catalog, application: str, programs: Sequence[PeProgram]) -> bool:
    """Bring an application whose sources have read the whole input of a bounded run to its cut, and stop it there.

    Any process calls this again and again. Every call is a step: it holds the units, if their holds end soon, and
    closes their epochs. The application stops, and the holds end, once all units are at cuts, no stream has unread
    tuples, and every output is delivered. The call does nothing if the application has no bounded run or is not wanted
    to run, if a source has more input, if a PE is not deployed, or if a redeploy is on trial.

    Returns:
        True if this call has stopped the application.

    Raises:
        StreamsRuntimeError: a unit was removed meanwhile, or a rule of the protocol is broken.
    """
    a = tables.application
    every_unit = HeldUnits(catalog, application, programs, {program.unit for program in programs})
    with catalog.read() as connection:
        row = connection.execute(select(a.c.bounded, a.c.wanted).where(a.c.name == application)).one_or_none()
        if row is None or row.bounded is None or row.wanted != "RUNNING":
            return False
        if not _all_taken(connection, every_unit, row.bounded) or is_on_trial(connection, application):
            return False
        rest = describe_held_work(connection, every_unit)
        stays_held = _stays_held(connection, every_unit)
    if rest:
        if not stays_held:
            hold_units(every_unit)
        _end_driven_epochs(every_unit)
        close_epochs(every_unit)
        return False
    return _stop(every_unit, row.bounded)


def _all_taken(connection: Connection, held: HeldUnits, run: str) -> bool:
    """Return True if every source has reached the end of the run, or ended; False if a PE is not deployed."""
    p = tables.pe
    rows = connection.execute(select(p.c.id, p.c.position).where(p.c.application == held.application)).all()
    positions = {row.id: row.position for row in rows}
    for program in held.programs:
        position = positions.get(program.pe)
        if position is None:  # another plan has other PEs
            return False
        sources = {program.operators[index].name for index in program.sources} - set(position["exhausted"])
        if any(position["reached"].get(name) != run for name in sources):
            return False
    return True


def _stays_held(connection: Connection, held: HeldUnits) -> bool:
    """Return True if the holds of all units last for at least half of `HOLD_SECONDS` more."""
    u = tables.unit
    mine = (u.c.application == held.application, u.c.name.in_(held.names))
    soon = clock.now() + HOLD_SECONDS / 2
    return all(until is not None and until > soon for until in connection.scalars(select(u.c.held_until).where(*mine)))


def _end_driven_epochs(held: HeldUnits) -> None:
    """Request the end of the open epochs of regions whose trigger operator gets no more input, and advance them.

    Regions at a cut, and regions whose end was requested already, are left out. Raises StreamsRuntimeError if a unit
    was removed meanwhile, or a rule of the protocol is broken.
    """
    u, catalog, application = tables.unit, held.catalog, held.application
    open_epochs = (
        *(u.c.application == application, u.c.name.in_(held.names), u.c.region.is_not(None), u.c.period.is_(None)),
        *(u.c.state == "PROCESSING", u.c.drain_asked.is_(None) | (u.c.drain_asked < u.c.current_epoch)),
    )
    with catalog.read() as connection:
        names = connection.scalars(select(u.c.name).where(*open_epochs)).all()
        names = [name for name in names if not at_cut(connection, application, name)]
    for name in names:
        with catalog.write_unit(application, name) as connection:
            for epoch in connection.scalars(select(u.c.current_epoch).where(*open_epochs, u.c.name == name)).all():
                request_drain(connection, application, name, epoch)
    if names:
        advance_units(catalog, application, names)


def _stop(held: HeldUnits, run: str) -> bool:
    """Stop the application and end its holds if all input is processed; return True if this call has stopped it.

    If the application was stopped meanwhile, or has another bounded run, only the holds are ended.
    """
    application = held.application
    with held.catalog.write() as connection:
        if not _all_taken(connection, held, run):
            return False
        if describe_held_work(connection, held):
            return False
        stopped = stop_bounded_run(connection, application, run)
        forget_holds(connection, application)
    return stopped
