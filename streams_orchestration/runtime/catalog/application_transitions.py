"""The acts that change rows of applications, a function for each; no other module inserts or updates these rows.

Dropping an application deletes its rows of all tables.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, CursorResult, insert, update

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.states import WantedState
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.settings.settings import Settings

_a = tables.application


class StoredPlan(NamedTuple):
    """The columns of an application that name its deployed plan."""

    fingerprint: str
    compilation: bytes
    """The compilation as `stored` makes it."""
    base: str
    """The directory of the spec."""


def insert_application(connection: Connection, application: str, plan: StoredPlan, settings: Settings) -> None:
    """Insert an application that is wanted to run, with a new life id, but no units or PEs."""
    now = clock.now()
    values = {
        "name": application,
        "life": world.new_id(),
        "settings": asdict(settings),
        "wanted": "RUNNING",
        "state": "RUNNING",
        "deployed_at": now,
        "started_at": now,
        **plan._asdict(),
    }
    connection.execute(insert(_a).values(**values))


def enter_plan(
    connection: Connection, application: str, plan: StoredPlan, *, epoch: int, batch: int, generation: int
) -> None:
    """Replace the plan of an application by one whose units begin with these numbers."""
    last = {"last_epoch": epoch, "last_batch": batch, "last_generation": generation}
    _update(connection, application, **plan._asdict(), **last, plan=_a.c.plan + 1)


def replace_compilation(connection: Connection, application: str, compilation: bytes) -> None:
    """Replace the stored compilation of the same plan."""
    _update(connection, application, compilation=compilation)


def begin_bounded_run(connection: Connection, application: str, run: str | None) -> None:
    """Set the id of the bounded run, None for an endless run; clear the time at which a former one had all input."""
    _update(connection, application, bounded=run, taken_at=None)


def want_running(connection: Connection, application: str, until: float | None) -> None:
    """Mark an application as wanted to run; `until` is the end of a temporary run in unix seconds, None without one."""
    _update(connection, application, wanted="RUNNING", runs_until=until)


def continue_application(connection: Connection, application: str, settings: Settings) -> None:
    """Mark an application that had stopped as RUNNING from now on; its hosts start with these settings."""
    _update(connection, application, state="RUNNING", settings=asdict(settings), started_at=clock.now())


def move_run_end(connection: Connection, application: str, until: float) -> None:
    """Move the end of the temporary run of an application, if it has one."""
    _update(connection, application, _a.c.runs_until.is_not(None), runs_until=until)


def want_stopped(connection: Connection, application: str) -> None:
    """Mark an application as wanted to stop, unless it is being removed."""
    _update(connection, application, _a.c.wanted != "REMOVED", **_unwanted("STOPPED"))


def end_temporary_run(connection: Connection, application: str, now: float) -> None:
    """Mark an application as wanted to stop if its temporary run has ended at this time, in unix seconds."""
    _update(connection, application, _a.c.runs_until <= now, **_unwanted("STOPPED"))


def stop_bounded_run(connection: Connection, application: str, run: str) -> bool:
    """Mark an application as wanted to stop, since its bounded run has read all its input.

    Return False if it was stopped meanwhile, or has another run.
    """
    under_way = (_a.c.bounded == run, _a.c.wanted == "RUNNING")
    return _update(connection, application, *under_way, taken_at=clock.now(), **_unwanted("STOPPED"))


def want_removed(connection: Connection, application: str) -> None:
    """Mark an application as being removed, so that it cannot continue without the files that are gone."""
    _update(connection, application, **_unwanted("REMOVED"))


def complete_application(connection: Connection, application: str) -> None:
    """Mark an application as COMPLETED."""
    _update(connection, application, state="COMPLETED")


def stop_application(connection: Connection, application: str) -> None:
    """Mark an application as STOPPED, unless it is complete."""
    _update(connection, application, _a.c.state != "COMPLETED", state="STOPPED")


def reopen_application(connection: Connection, application: str) -> None:
    """Mark an application as STOPPED if it is complete."""
    _update(connection, application, _a.c.state == "COMPLETED", state="STOPPED")


def count_connections(connection: Connection, applications: Collection[str]) -> None:
    """Count one more connection that brings watermarks of these applications to Imports."""
    told = update(_a).where(_a.c.name.in_(sorted(applications)))
    connection.execute(told.values(connections=_a.c.connections + 1))


def _unwanted(wanted: WantedState) -> dict[str, Any]:
    """Return the columns of an application that is no longer wanted to run; its temporary run has ended."""
    return {"wanted": wanted, "runs_until": None}


def _update(connection: Connection, application: str, *where: ColumnElement[bool], **values: Any) -> bool:
    """Update the row of an application if it meets conditions; return True if it does."""
    mine = (_a.c.name == application, *where)
    updated: CursorResult[tuple[()]] = connection.execute(update(_a).where(*mine).values(**values))
    return updated.rowcount > 0
