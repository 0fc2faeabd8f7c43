"""The end of a run: what a complete application must not leave, and where one stands that does not end."""

from __future__ import annotations

from collections.abc import Iterator, Set

from sqlalchemy import select

from streams_orchestration.operators.journal.source import JOURNAL
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.holds import held_units
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.stored_states import state_files
from streams_orchestration_tests.simulation.redeploys import NAMES
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedMachine, SimulatedProcess

SETTLED_SECONDS = 90.0
"""Simulated seconds from the end of an application to the check of the leftovers."""
KINDS = ("host", "engine", "query", *NAMES)


def left(
    home: Home, application: str, scheduler: Scheduler, sound: tuple[SimulatedMachine, ...], late: Set[str]
) -> Iterator[str]:
    """Yield what is left, one sentence for each thing.

    Args:
        home: the state directory.
        application: name of the application.
        scheduler: of the simulation.
        sound: the machines that are not broken for good.
        late: addresses of objects that arrived after their writers had ended, perhaps behind the last sweep.
    """
    # a command on a broken machine may hold the start lock, for which other commands wait up to ten minutes
    commands = [process for process in scheduler.processes if process.alive and process.name in NAMES]
    waiting = commands if any(process.machine not in sound for process in commands) else []
    for process in scheduler.processes:
        if process.alive and process.machine in sound and _is_of_application(process) and process not in waiting:
            yield f"process {process.pid} {process.name} is left on {process.machine.name}"
    s, f, t = tables.segment, tables.sink_file, tables.trial
    with Catalog(home).read() as connection:
        yield from (f"unit {name} is held at the end" for name in held_units(connection, application))
        open_trials = connection.scalars(select(t.c.application).where(t.c.state == "OPEN"))
        yield from (f"the trial of {name} is open at the end" for name in open_trials)
        named = set(connection.scalars(select(s.c.path).where(s.c.application == application)))
        named |= state_files(connection, application)
        named |= set(connection.scalars(select(f.c.pending).where(f.c.application == application, ~f.c.published)))
    kinds = ("streams", "states", "waiting")
    there = {path for kind in kinds for path in home.store.below(f"data/{application}/{kind}")}
    there |= {str(path) for path in home.results(application).glob("*/_pending/*")}
    there = {path for path in there if f"/{JOURNAL}/" not in path}
    if gone := named - there:
        yield f"{len(gone)} files that a commit names are gone, as {min(gone)}"
    if garbage := there - named - late:
        yield f"{len(garbage)} files are left that no commit names, as {min(garbage)}"


def where(home: Home, name: str) -> str:
    """Say where an application stands that does not end."""
    u, p, h = tables.unit, tables.pe, tables.host
    with Catalog(home).read() as connection:
        units = connection.execute(select(u.c.name, u.c.state, u.c.generation).where(u.c.application == name)).all()
        pes = connection.execute(select(p.c.id, p.c.state, p.c.batch, p.c.error).where(p.c.application == name)).all()
        hosts = connection.execute(select(h.c.id, h.c.state, h.c.error).where(h.c.application == name)).all()
    return "; ".join(str(tuple(row)) for row in (*units, *pes, *hosts))


def _is_of_application(process: SimulatedProcess) -> bool:
    kind, _, which = process.name.partition(" ")
    if kind == "engine":
        return process.parent is not None and _is_of_application(process.parent)
    return kind in KINDS and which != "on standby"
