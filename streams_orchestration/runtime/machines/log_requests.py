"""The last lines of logs on other machines. They are requested in the catalog; the machine's agent answers there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import bindparam, delete, insert, select, update

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import LogRequestRow, MachineRow
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import MachineError
from streams_orchestration.runtime.logs.logs import LogEnd, read_log_ends
from streams_orchestration.runtime.storage.home import Home

ANSWER_SECONDS = 10.0
"""Seconds that an agent has to answer."""
KEPT_SECONDS = 120.0
"""Seconds after which a request is dropped, since its asker must have died."""
ANSWER_BYTES = 1 << 20
"""The most bytes of all logs in one answer together."""
POLL_SECONDS = 0.25

_r = tables.log_request
_WAITING = select(_r).where(_r.c.machine == bindparam("at"), _r.c.answer.is_(None))
_OLD = select(_r.c.id).where(_r.c.asked_at < bindparam("before")).limit(1)


def ask_for_logs(
    catalog: Catalog, machine: str, application: str, names: Sequence[str], lines: int, after: Mapping[str, int]
) -> list[LogEnd]:
    """Ask the agent of a machine for the last lines of logs of an application, and wait for its answer.

    The answer has at most `ANSWER_BYTES` of all logs, of which each log has an equal part. Logs that do not exist are
    left out. The request is deleted afterwards. The last three arguments are as of `read_log_ends`.

    Raises:
        MachineError: the machine is not up, or its agent does not answer in `ANSWER_SECONDS`. The message names the
            directory of the logs if the machine is registered.
    """
    r, request = tables.log_request, world.new_id()
    mark = catalog.changes.mark()
    with catalog.write() as connection:
        named = select(tables.machine).where(tables.machine.c.name == machine)
        row = MachineRow.one_or_none(connection, named)
        if (reason := _refusal(row, clock.now())) is not None:
            raise MachineError(_unavailable(machine, application, row, reason))
        connection.execute(
            insert(r).values(
                id=request,
                machine=machine,
                application=application,
                names=list(names),
                lines=lines,
                after=dict(after),
                asked_at=clock.now(),
            )
        )
    try:
        until = world.monotonic() + ANSWER_SECONDS
        while world.monotonic() < until:
            catalog.changes.wait(mark, POLL_SECONDS)
            mark = catalog.changes.mark()
            with catalog.read() as connection:
                answer = connection.scalar(select(r.c.answer).where(r.c.id == request))
            if answer is not None:
                return [LogEnd(**end) for end in answer]
    finally:
        with catalog.write() as connection:
            connection.execute(delete(r).where(r.c.id == request))
    raise MachineError(_unavailable(machine, application, row, f"its agent did not answer in {ANSWER_SECONDS:.0f} s"))


def _refusal(machine: MachineRow | None, now: float) -> str | None:
    """Return why a machine cannot answer; None if its agent is up. A machine of None is no longer registered."""
    if machine is None:
        return "the machine is no longer registered"
    if machine.state == "DOWN":
        return "its agent has ended"
    return "its lease has ended, so it is lost" if now > machine.lease_until else None


def _unavailable(machine: str, application: str, row: MachineRow | None, reason: str) -> str:
    where = "" if row is None else f" They are in {Home(Path(row.home)).logs(application)} on that machine."
    return f"the logs of {application} on {machine} cannot be read: {reason}.{where}"


def answer_log_requests(catalog: Catalog, home: Home, machine: str) -> int:
    """Answer the open requests to a machine, with at most `ANSWER_BYTES` each; return their number."""
    with catalog.read() as connection:
        requests = LogRequestRow.all(connection, _WAITING, {"at": machine})
    for request in requests:
        most = ANSWER_BYTES // max(1, len(request.names))
        directory = home.logs(request.application)
        ends = read_log_ends(directory, request.names, request.lines, request.after, most=most)
        with catalog.write() as connection:
            answer = [asdict(end) for end in ends]
            connection.execute(update(_r).where(_r.c.id == request.id).values(answer=answer))
    return len(requests)


def drop_old_log_requests(catalog: Catalog) -> None:
    """Drop requests to any machine that are older than `KEPT_SECONDS`."""
    before = clock.now() - KEPT_SECONDS
    with catalog.read() as connection:
        if connection.execute(_OLD, {"before": before}).first() is None:
            return
    with catalog.write() as connection:
        connection.execute(delete(_r).where(_r.c.asked_at < before))
