"""Reset: a unit goes back to its last complete epoch, over all its PEs, and runs on in a new generation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, select, update

from streams_orchestration.model.names import nearest
from streams_orchestration.runtime import tables
from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.control import launch
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.inspection import read_status
from streams_orchestration.runtime.launcher import LAUNCHER
from streams_orchestration.runtime.retraction import retract, take_back
from streams_orchestration.runtime.states import drop_states_after
from streams_orchestration.runtime.status import HEARTBEAT_LIMIT


def reset(home: Home, application: str, unit: str, *, generation: int | None = None, force: bool = False) -> int:
    """Roll a unit back to its cut and have it run again.

    One transaction raises the generation, which refuses every later commit of the old one, and drops the commits after
    the cut with all that they named. Everything else can be repeated.

    Args:
        home: the state directory.
        application: its name.
        unit: `region-0`, or `pe-3` for a PE in no region.
        generation: of the failure; when the unit is beyond it already, nothing is done.
        force: reset although the attempts are used up: as many as configured are added to the limit (B3).

    Returns:
        The unit's generation.

    Raises:
        StreamsRuntimeError: the application is stopped, there is no such unit, or its attempts are used up.
    """
    status = read_status(home, application)
    if status.state == "STOPPED":
        message = f"{application} is stopped; run or deploy it again, then it goes on where it stood"
        raise StreamsRuntimeError(message)
    names = [known.name for known in status.units]
    if unit not in names:
        message = f"{application}: there is no unit {unit}{nearest(unit, names)}"
        raise StreamsRuntimeError(message)
    catalog = Catalog(home)
    with catalog.write() as connection:
        u = tables.unit
        this = (u.c.application == application, u.c.name == unit)
        row = connection.execute(select(u).where(*this)).one()
        done = (generation is not None and row.generation > generation) or row.state == "COMPLETED"
        used_up = row.attempts >= row.max_attempts
        exhausted = not done and used_up and not force
        garbage: list[str] = []
        if exhausted:
            connection.execute(update(u).where(*this).values(state="MAXIMUM_RESET_ATTEMPTS_REACHED"))
        elif not done:
            garbage = _roll_back(connection, application, row)
            connection.execute(
                update(u)
                .where(*this)
                .values(
                    generation=row.generation + 1,
                    attempts=row.attempts + 1,
                    max_attempts=row.attempts + row.configured_attempts if used_up else row.max_attempts,
                    trigger_epoch=row.completed_epoch,
                    final_epoch=row.final_epoch if row.final_epoch == row.completed_epoch else None,
                    state="PROCESSING",
                )
            )
    if exhausted:
        message = (
            f"{application}: {unit} was reset {row.attempts} times in a row without completing an epoch. Mend what its "
            f"logs say ({home.logs(application)}), then use `streams reset {application} --unit {unit} --force`."
        )
        raise StreamsRuntimeError(message)
    for path in garbage:
        Path(path).unlink(missing_ok=True)
    retract(catalog, application)  # hosts do it, too, whatever becomes of this process
    # also when the unit was reset before: that call may have died before it came this far
    _clear_hosts(home, catalog, application)
    launch(home, application)
    return row.generation if done else row.generation + 1


def _roll_back(connection: Connection, application: str, unit: Any) -> list[str]:
    """Every PE of the unit back to its commit that closed the last complete epoch; returns files nobody names now."""
    p, c = tables.pe, tables.commit
    garbage: list[str] = []
    for pe in connection.execute(select(p).where(p.c.application == application, p.c.unit == unit.name)).all():
        cut = connection.execute(
            select(c).where(
                c.c.application == application, c.c.pe == pe.id, c.c.epoch == unit.completed_epoch, c.c.boundary
            )
        ).one_or_none()
        batch = cut.batch if cut is not None else -1
        garbage += drop_states_after(connection, application, pe.id, batch)
        garbage += take_back(connection, application, pe.id, batch)
        connection.execute(delete(c).where(c.c.application == application, c.c.pe == pe.id, c.c.batch > batch))
        values: dict[str, Any] = {"state": "WANTED", "error": None, "permanent": False, "batch": batch}
        if cut is not None:
            kept = ("exhausted", "final", "position", "rows_in", "rows_out", "busy_seconds", "committed_at")
            values |= {name: getattr(cut, name) for name in kept} | {"epoch": cut.epoch + 1}
            values["state"] = "COMPLETED" if cut.final else "WANTED"
        else:
            values |= {"exhausted": False, "final": False, "position": pe.initial, "epoch": 1, "committed_at": None}
            values |= {"rows_in": 0, "rows_out": 0, "busy_seconds": 0.0}
        # numbers of segments are never used twice: who has read some that are taken back goes on behind them
        values["position"] = values["position"] | {"outputs": pe.position["outputs"]}
        connection.execute(update(p).where(p.c.application == application, p.c.id == pe.id).values(**values))
    return garbage


def _clear_hosts(home: Home, catalog: Catalog, application: str) -> None:
    """Kill what is left of hosts that hang or have failed, so that `launch` may start them."""
    h = tables.host
    with catalog.read() as connection:
        rows = connection.execute(select(h).where(h.c.application == application)).all()
    for row in rows:
        silent = time.time() - max(row.heartbeat_at or 0.0, row.launched_at)
        if row.state == "FAILED" or silent > HEARTBEAT_LIMIT:
            LAUNCHER.kill(row.pid, row.process_started)
