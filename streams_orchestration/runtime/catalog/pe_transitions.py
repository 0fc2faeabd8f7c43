"""The acts that change rows of PEs, a function for each; no other module updates these rows.

A row is inserted by `insert_pe` of the deployment, or restored with the previous plan.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from sqlalchemy import ColumnElement, Connection, bindparam, case, select, update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import CauseKind, PeKind
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import PeRow, StoredFailures, StoredPosition
from streams_orchestration.runtime.catalog.states import PeState

_c, _p, _u = tables.commit, tables.pe, tables.unit
_PE = update(_p).where(_p.c.application == bindparam("of"), _p.c.id == bindparam("at"))
_of_its_unit = (_u.c.application == _p.c.application, _u.c.name == _p.c.unit)
_OPEN_PE = _PE.where(
    ~_p.c.final, select(_u.c.generation).where(*_of_its_unit).scalar_subquery() == bindparam("in_generation")
)
_RUNS = _OPEN_PE.where(_p.c.state != "FAILED").values(state="RUNNING", error=None, permanent=False)
_NO_ERROR: dict[str, Any] = {"error": None, "permanent": False}


def columns_at_commit(*, final: bool) -> dict[str, Any]:
    """Return the state columns of a PE that continues after a commit: nothing of its last failure is left in them.

    Args:
        final: True if the commit is the last one of the PE, which is complete then.
    """
    return {"state": "COMPLETED" if final else "WANTED", **_NO_ERROR}


def begin_pes_again(connection: Connection, application: str, units: Collection[str]) -> None:
    """Mark the PEs of units as WANTED after their last commits, or as COMPLETED; their failures are forgotten."""
    state = case((_p.c.final, "COMPLETED"), else_="WANTED")
    mine = (_p.c.application == application, _p.c.unit.in_(units))
    connection.execute(update(_p).where(*mine).values(state=state, **_NO_ERROR))


def set_pes_to_cut(connection: Connection, application: str, pes: Mapping[int, Mapping[str, Any]]) -> None:
    """Set PEs to a cut by one statement.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        pes: the number of a PE -> its columns at the cut, the same columns for all PEs; there is at least one PE.
    """
    connection.execute(_PE, [{"of": application, "at": pe, **columns} for pe, columns in pes.items()])


def advance_pe(connection: Connection, application: str, pe: int, batch: int, progress: Mapping[str, Any]) -> None:
    """Write the progress that a commit makes: its number, and the columns that the batch changes."""
    connection.execute(_PE, {"of": application, "at": pe, "batch": batch, **progress})


def set_pes_of_host(connection: Connection, application: str, host: int, state: Literal["STARTING", "WANTED"]) -> None:
    """Mark the PEs of a host as STARTING, or as WANTED while no machine takes the host.

    PEs that have ended or failed keep their state: only a reset mends a failed one.
    """
    mine = (_p.c.application == application, _p.c.host == host, ~_p.c.final, _p.c.state != "FAILED")
    connection.execute(update(_p).where(*mine).values(state=state, **_NO_ERROR))


@dataclass(frozen=True, slots=True)
class PeBeforeStart(CatalogRow):
    """The columns of a PE that the start of its host changes, as they were before."""

    id: int
    state: PeState
    error: str | None
    permanent: bool


def read_before_start(connection: Connection, application: str, host: int) -> Sequence[PeBeforeStart]:
    """Return the columns of a host's PEs that its start will change, for `restore_before_start`."""
    mine = (_p.c.application == application, _p.c.host == host)
    return PeBeforeStart.all(connection, select(_p.c.id, _p.c.state, _p.c.error, _p.c.permanent).where(*mine))


def restore_before_start(connection: Connection, application: str, pes: Sequence[PeBeforeStart]) -> None:
    """Restore the columns of PEs whose host could not be started, except for PEs whose state has changed since."""
    for pe in pes:
        mine = (_p.c.application == application, _p.c.id == pe.id, _p.c.state == "STARTING")
        values = {"state": pe.state, "error": pe.error, "permanent": pe.permanent}
        connection.execute(update(_p).where(*mine).values(**values))


def report_running(connection: Connection, application: str, pe: int, generation: int) -> None:
    """Record that the query of a PE runs in a generation.

    Nothing is written if its unit has another generation, or the PE has ended or failed: a sink may fail while the
    query of its PE runs.
    """
    connection.execute(_RUNS, {"of": application, "at": pe, "in_generation": generation, "running": generation})


class FailedColumns(TypedDict):
    """The columns of a PE whose query has failed."""

    error: str
    permanent: bool
    kind: CauseKind
    outside: bool
    failed_at: float
    failures: StoredFailures | None


def report_failure(connection: Connection, application: str, pe: int, generation: int, columns: FailedColumns) -> None:
    """Record that the query of a PE has failed, unless its unit has another generation or the PE has ended.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        pe: the number of the PE.
        generation: the generation in which the query ran.
        columns: the columns of the PE; see `judge_failure`.
    """
    connection.execute(
        _OPEN_PE, {"of": application, "at": pe, "in_generation": generation, "state": "FAILED", **columns}
    )


def fail_pe_of_sink(connection: Connection, application: str, pe: int, at: float, error: str) -> None:
    """Record that a PE has failed for good since an output of its sink is lost or refused, also if the PE has ended."""
    cause = {"error": error, "permanent": True, "kind": PeKind(pe), "outside": False}
    connection.execute(_PE, {"of": application, "at": pe, "state": "FAILED", "failed_at": at, **cause})


def stop_pes(connection: Connection, application: str) -> None:
    """Mark all PEs of an application as STOPPED, except for complete ones. The error of a failed PE stays."""
    mine = (_p.c.application == application, _p.c.state != "COMPLETED")
    connection.execute(update(_p).where(*mine).values(state="STOPPED"))


def reopen_pe(connection: Connection, pe: PeRow, position: StoredPosition) -> None:
    """Change the last commit of a PE, in its row and in the row of the commit, so that the PE has not ended there.

    Args:
        connection: a connection in a write transaction.
        pe: the row of the PE, which is stopped then.
        position: the position from which it continues.
    """
    values: dict[str, Any] = {"position": position, "exhausted": False, "final": False}
    connection.execute(update(_p).where(*_is(pe.application, pe.id)).values(**values, state="STOPPED"))
    last = (_c.c.application == pe.application, _c.c.pe == pe.id, _c.c.batch == pe.batch)
    connection.execute(update(_c).where(*last).values(**values))


def carry_counts(connection: Connection, application: str, pe: int, former: PeRow) -> None:
    """Copy the counts of a former PE into the row and the only commit of the PE of a new plan that has its number."""
    counts = {"rows_in": former.rows_in, "rows_out": former.rows_out, "busy_seconds": former.busy_seconds}
    connection.execute(update(_p).where(*_is(application, pe)).values(**counts))
    connection.execute(update(_c).where(_c.c.application == application, _c.c.pe == pe).values(**counts))


def replace_program(connection: Connection, application: str, pe: int, program: bytes) -> None:
    """Replace the stored program of a PE, which another version of the product may have written."""
    connection.execute(update(_p).where(*_is(application, pe)).values(program=program))


def note_running_unit(connection: Connection, application: str, unit: str, generation: int) -> None:
    """Record the generation in which the PEs of a unit are stepped without a host. Their states do not change."""
    mine = (_p.c.application == application, _p.c.unit == unit)
    connection.execute(update(_p).where(*mine).values(running=generation))


def _is(application: str, pe: int) -> tuple[ColumnElement[bool], ...]:
    return _p.c.application == application, _p.c.id == pe
