"""Draining: the units that a new plan changes are held at cuts, with no unread tuples between them.

Their sources stop producing, and they stop reading streams from other units. Tuples in flight between held units are
still processed: each unit closes epochs until the streams from the other held units are empty.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.holds import held_units
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.trials import is_on_trial
from streams_orchestration.runtime.catalog.unit_transitions import move_period_ends
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.settings.limits import HOLD_SECONDS
from streams_orchestration.runtime.sinks.retraction import remove_all_retracted
from streams_orchestration.runtime.units.controller import take_back
from streams_orchestration.runtime.units.holding import (
    HeldUnits,
    at_cut,
    close_epochs,
    describe_held_work,
    hold_units,
    release_units,
)
from streams_orchestration.runtime.units.region_machine import HALTED

POLL_SECONDS = 0.5

OWN_CUT_SECONDS = 10.0
"""Seconds after which a drain rolls back regions whose trigger operator does not end the epoch.

At most half of the drain's own time limit is used.
"""

log = logging.getLogger("streams.redeploy")


@contextmanager
def units_on_hold(held: HeldUnits) -> Generator[None]:
    """Hold units during the block, renewing the hold on a thread, and release all units of the application after it.

    An error of a renewal is logged, unless the catalog is unavailable: then the next renewal is early enough.
    """
    application, over = held.application, world.Event()

    def renew() -> None:
        errors = LoopErrors(log)
        while not over.wait(HOLD_SECONDS / 3):
            with errors.survived(f"a hold of {application} is not renewed"), suppress(CatalogUnavailableError):
                hold_units(held, begins=False)

    hold_units(held)
    renewing = world.Thread(target=renew, name="hold", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()
        release_units(held.catalog, application)


def describe_redeploy_under_way(catalog: Catalog, application: str) -> str | None:
    """Describe a redeploy in progress by its held units or its open trial; return None if there is none.

    Raises:
        CatalogError: the catalog cannot be read.
    """
    with catalog.read() as connection:
        names = held_units(connection, application)
        on_trial = is_on_trial(connection, application)
    if names:
        return f"{', '.join(names)} of {application} are being drained for another plan"
    return f"the last redeploy of {application} is on trial" if on_trial else None


def postpone_if_drained(held: HeldUnits) -> bool:
    """Postpone the next epochs of held regions if all held units are drained, and return True then.

    Units are drained if they are at cuts, with no unread tuples between them.
    """
    return not _postpone_unless_working(held)


def drain(held: HeldUnits, until: float, *, mend: bool = True) -> str:
    """Close the epochs of held units until the units are at cuts, with no unread tuples between them.

    The next epochs of drained regions are postponed by `HOLD_SECONDS`.

    Args:
        held: the held units of an application whose hosts run.
        until: deadline in seconds on the monotonic clock; after it, the units are checked once more.
        mend: roll failed units back to their last cut, instead of waiting for their reset. Also roll back regions
            whose trigger operator does not end the epoch in time (`OWN_CUT_SECONDS`).

    Returns:
        A description of the work still under way at the deadline; empty if the units are drained.

    Raises:
        StreamsRuntimeError: a unit was removed meanwhile, or a rule of the protocol is broken.
    """
    changes = held.catalog.changes
    began = world.monotonic()
    given_up: set[str] = set()
    while True:
        mark = changes.mark()
        rest = _postpone_unless_working(held)
        if not rest or world.monotonic() >= until:
            return rest
        if mend:
            roll_back_failed(held)
            if world.monotonic() - began >= min(OWN_CUT_SECONDS, (until - began) / 2):
                given_up |= give_up_epochs(held, given_up)
        close_epochs(held)
        changes.wait(mark, min(POLL_SECONDS, until - world.monotonic()))


def _postpone_unless_working(held: HeldUnits) -> str:
    """Describe the work under way in held units; if there is none, postpone the next epochs of regions among them."""
    with held.catalog.read() as connection:
        if rest := describe_held_work(connection, held):
            return rest
    with held.catalog.write() as connection:
        rest = describe_held_work(connection, held)
        if not rest:
            move_period_ends(connection, held.application, held.names, clock.now() + HOLD_SECONDS)
    return rest


def roll_back_failed(held: HeldUnits) -> None:
    """Roll failed units, which cannot close an epoch, back to their last cut, and remove their retracted outputs.

    They continue in a new generation. Nothing is written if no unit has failed.

    Raises:
        InvariantError: the rollback breaks a rule of the protocol.
    """
    u = tables.unit
    failed = (u.c.application == held.application, u.c.name.in_(held.names), u.c.state.in_(HALTED))
    with held.catalog.read() as connection:
        if connection.execute(select(u.c.name).where(*failed)).first() is None:
            return
    garbage: list[str] = []
    with held.catalog.write() as connection:
        for unit in UnitRow.all(connection, select(u).where(*failed)):
            garbage += take_back(connection, unit)
    remove_all_retracted(held.catalog, held.application, garbage)


def give_up_epochs(held: HeldUnits, given_up: Collection[str]) -> set[str]:
    """Roll back regions to their last cut if they are within an epoch that only their trigger operator can end.

    Their retracted outputs are removed.

    Args:
        held: the held units.
        given_up: names of the regions that were rolled back before, and are left alone.

    Returns:
        Names of the rolled-back regions.

    Raises:
        InvariantError: the rollback breaks a rule of the protocol.
    """
    u, catalog, application = tables.unit, held.catalog, held.application
    units = set(held.names) - set(given_up)
    mine = (u.c.application == application, u.c.name.in_(units), u.c.region.is_not(None))
    driven = (*mine, u.c.period.is_(None), u.c.state == "PROCESSING")
    with catalog.read() as connection:
        if all(at_cut(connection, application, name) for name in connection.scalars(select(u.c.name).where(*driven))):
            return set()
    names: set[str] = set()
    garbage: list[str] = []
    with catalog.write() as connection:
        for unit in UnitRow.all(connection, select(u).where(*driven)):
            if not at_cut(connection, application, unit.name):
                garbage += take_back(connection, unit)
                names.add(unit.name)
    remove_all_retracted(catalog, application, garbage)
    return names
