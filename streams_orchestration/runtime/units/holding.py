"""Holding units: they take no new input and process what they have read, until all units are at cuts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import move_run_end
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.states import ENDED
from streams_orchestration.runtime.catalog.unit_transitions import end_holds, hold, move_period_ends
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.settings.limits import HOLD_SECONDS
from streams_orchestration.runtime.units.watch import advance_units

_c, _p, _u = tables.commit, tables.pe, tables.unit
_UNIT = select(_u).where(_u.c.application == bindparam("of"), _u.c.name == bindparam("by"))
_closing = (_c.c.application == _p.c.application) & (_c.c.pe == _p.c.id) & (_c.c.batch == _p.c.batch) & _c.c.boundary
_OPEN_PES = (
    select(_p.c.id)
    .outerjoin(_c, _closing & (_c.c.epoch == bindparam("closed")))
    .where(_p.c.application == bindparam("of"), _p.c.unit == bindparam("by"), _p.c.batch >= 0, _c.c.pe.is_(None))
)


@dataclass(frozen=True, slots=True)
class HeldUnits:
    """The units of an application that are held, until all of them are at cuts."""

    catalog: Catalog
    application: str
    programs: Sequence[PeProgram]
    """The programs of all PEs of the application."""
    names: Collection[str]
    """The names of the units."""


def hold_units(held: HeldUnits, *, begins: bool = True) -> None:
    """Hold units for `HOLD_SECONDS`: their sources and the streams of units that run on deliver nothing new to them.

    Regions that are at a cut stay there, since their periods are prolonged. A region whose trigger operator ends its
    epochs first continues to its next cut. A temporary run of the application then ends at the same time as the holds.

    Args:
        held: the units.
        begins: False only to prolong holds; a hold that was removed meanwhile stays removed.
    """
    u, application = tables.unit, held.application
    until = clock.now() + HOLD_SECONDS
    with held.catalog.write() as connection:
        move_run_end(connection, application, until)
        mine = (u.c.application == application, u.c.name.in_(held.names))
        there = connection.scalars(select(u.c.name).where(*mine)).all()
        still = [name for name in there if at_cut(connection, application, name)]
        hold(connection, application, there, until, begins=begins)
        move_period_ends(connection, application, still, until)


def release_units(catalog: Catalog, application: str) -> None:
    """End the hold of all held units of an application, and let their current periods end now."""
    with catalog.write() as connection:
        end_holds(connection, application)


def close_epochs(held: HeldUnits) -> None:
    """Let the periods of held units that are not at a cut end now, and advance these units with `advance_units`.

    Units whose trigger operator ends their epochs have no period and stay as they are. If all other units are at cuts,
    nothing is done. Raises StreamsRuntimeError if a unit was removed meanwhile, or a rule of the protocol is broken.
    """
    u, catalog, application = tables.unit, held.catalog, held.application
    now = clock.now()
    early = (u.c.application == application, u.c.name.in_(held.names), u.c.timer == "period", u.c.deadline > now)
    with catalog.read() as connection:
        waiting = connection.scalars(select(u.c.name).where(*early)).all()
        if all(at_cut(connection, application, name) for name in waiting):
            return
    with catalog.write() as connection:
        # checked again: a region that has come to its cut meanwhile is to stay there
        open_units = [
            name
            for name in connection.scalars(select(u.c.name).where(*early)).all()
            if not at_cut(connection, application, name)
        ]
        move_period_ends(connection, application, open_units, now)
    advance_units(catalog, application, open_units)


def describe_held_work(connection: Connection, held: HeldUnits) -> str:
    """Return a description of the first work under way that is found in held units; empty if there is none.

    Work is under way in a unit that is not at a cut, in a stream between two of the units with unread tuples, and in
    outputs that are not visible yet.
    """
    application = held.application
    for name in sorted(held.names):
        if not at_cut(connection, application, name):
            return f"{name} has not closed its epoch"
    members = [program for program in held.programs if program.unit in held.names]
    of_unit = {program.pe: program.unit for program in members}
    p, s, f = tables.pe, tables.segment, tables.sink_file
    positions = {
        row.id: row.position
        for row in connection.execute(select(p.c.id, p.c.position).where(p.c.application == application))
    }
    for program in members:
        for stream in program.inputs:
            producer = of_unit.get(stream.producer)
            if producer is None or not stream.foreign:
                continue
            # not by the number that the producer writes next: what a reset has taken back leaves a gap before it
            unread = (s.c.stream == stream.stream, s.c.number >= positions[program.pe]["inputs"].get(stream.stream, 0))
            left = select(s.c.number).where(s.c.application == application, *unread, ~s.c.retracted)
            if connection.execute(left.limit(1)).first() is not None:
                return (
                    f"PE {program.pe} has not yet read all tuples that PE {stream.producer} has written to "
                    f"{stream.stream}"
                )
    waiting = select(f.c.operator).where(f.c.application == application, f.c.pe.in_(of_unit), ~f.c.retracted)
    operator = connection.scalar(waiting.order_by(f.c.operator).limit(1))
    return f"outputs of {operator} are not visible yet" if operator is not None else ""


def at_cut(connection: Connection, application: str, unit: str) -> bool:
    """Return True if a unit is at its cut: no PE has committed a batch since, and no epoch is being closed.

    False for a unit that is unhealthy, is being reset, or was given up.
    """
    this = {"of": application, "by": unit}
    row = UnitRow.one(connection, _UNIT, this)
    if row.state not in ("PROCESSING", "STARTED", *ENDED):
        return False
    return connection.execute(_OPEN_PES, this | {"closed": row.completed_epoch}).first() is None
