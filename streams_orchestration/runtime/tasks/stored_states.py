"""Stored states of operators in the catalog: which state a commit names, and which files are no longer needed.

A commit names the whole chain of files of every state that it wrote, so going back to the commit means reading that
chain. Chains share files; a file is garbage when no chain that is kept has it. Small files of a chain are in the row
itself, and go with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, Select, bindparam, delete, func, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.chains import files_of
from streams_orchestration.runtime.catalog.cuts import after_cut, members
from streams_orchestration.runtime.catalog.rows import StateRow
from streams_orchestration.runtime.programs.batches import StateFile, StoredState

_s, _t = tables.state, tables.trial
_DROP = delete(_s).where(
    _s.c.application == bindparam("of"),
    _s.c.operator == bindparam("by"),
    _s.c.batch.in_(bindparam("batches", expanding=True)),
)
_newest = (
    select(_s.c.operator, func.max(_s.c.batch).label("batch"))
    .where(_s.c.application == bindparam("of"), _s.c.pe == bindparam("at"))
    .group_by(_s.c.operator)
    .subquery()
)
_NEWEST_FILES = (
    select(_s.c.operator, _s.c.files)
    .join(_newest, (_newest.c.operator == _s.c.operator) & (_newest.c.batch == _s.c.batch))
    .where(_s.c.application == bindparam("of"))
)
_FILES = select(_s.c.files).where(_s.c.application == bindparam("of"))
_KEPT = select(_t.c.files).where(_t.c.application == bindparam("of"))


def newest_states(connection: Connection, application: str, pe: int) -> dict[str, StoredState]:
    """Return the newest stored state of every operator of a PE that has one."""
    rows = connection.execute(_NEWEST_FILES, {"of": application, "at": pe})
    return {row.operator: StoredState(row.operator, tuple(StateFile(**file) for file in row.files)) for row in rows}


def newest_batch(connection: Connection, application: str, operator: str) -> int | None:
    """Return the number of the batch that committed the newest state of an operator; None without a state."""
    mine = (_s.c.application == application, _s.c.operator == operator)
    return connection.scalar(select(func.max(_s.c.batch)).where(*mine))


def at_boundary(connection: Connection, application: str, pe: int) -> bool:
    """Return True if the last commit of a PE ended an epoch, or if the PE has no commit yet."""
    c = tables.commit
    last = select(c.c.boundary).where(c.c.application == application, c.c.pe == pe).order_by(c.c.batch.desc()).limit(1)
    return connection.scalar(last) is not False


def state_files(connection: Connection, application: str) -> set[str]:
    """Return the addresses of all files of stored states, including files that are kept for the trial of a redeploy."""
    stored = connection.scalars(_FILES, {"of": application})
    return files_of(stored) | kept_files(connection, application)


def kept_files(connection: Connection, application: str) -> set[str]:
    """Return the addresses of the state files that are kept so that the trial of a redeploy can be reverted."""
    kept = connection.scalars(_KEPT, {"of": application})
    return {path for paths in kept for path in paths}


def drop_states_after(connection: Connection, application: str, unit: str, epoch: int) -> list[str]:
    """Delete the states that the PEs of a unit stored after its cut.

    The cut closed `epoch`. The connection is in a write transaction.

    Returns:
        The files that are no longer needed, which the caller removes after the commit.
    """
    gone = connection.scalars(delete(_s).where(after_cut(_s, application, unit, epoch)).returning(_s.c.files)).all()
    if not gone:
        return []
    mine = (_s.c.application == application, _s.c.pe.in_(members(application, unit)))
    left = connection.scalars(select(_s.c.files).where(*mine))
    return sorted(files_of(gone) - files_of(left) - kept_files(connection, application))


def drop_unneeded_states(
    connection: Connection, application: str, pes: Select[tuple[int]], cuts: Mapping[int, int]
) -> list[str]:
    """Delete all states of some PEs that neither a cut nor the next batch can need.

    The needed states are of the last cut and of later boundaries, which may still become cuts, and the newest ones.
    `pes` selects all PEs of some units. `cuts` maps a PE to its batch in the cut of the last complete epoch, if there
    is one. The connection is in a write transaction.

    Returns:
        The files that are no longer needed, which the caller removes after the commit.
    """
    c, p = tables.commit, tables.pe
    needed: dict[int, list[int]] = defaultdict(list)
    boundaries = select(c.c.pe, c.c.batch).where(c.c.application == application, c.c.pe.in_(pes), c.c.boundary)
    for pe, batch in (*cuts.items(), *connection.execute(boundaries)):
        if batch >= cuts.get(pe, 0):
            needed[pe].append(batch)
    for pe, batch in connection.execute(
        select(p.c.id, p.c.batch).where(p.c.application == application, p.c.id.in_(pes))
    ):
        needed[pe].append(batch)
    mine = (_s.c.application == application, _s.c.pe.in_(pes))
    rows = StateRow.all(connection, select(_s).where(*mine).order_by(_s.c.batch))
    newest: dict[tuple[str, int], int] = {}
    for row in rows:
        newest |= {(row.operator, batch): row.batch for batch in needed[row.pe] if row.batch <= batch}
    return _drop(connection, rows, {(operator, stored) for (operator, _), stored in newest.items()})


def _drop(connection: Connection, rows: Iterable[StateRow], keep: set[tuple[str, int]]) -> list[str]:
    """Delete rows except those in `keep`; return the files that neither the other rows nor an open trial need."""
    rows = list(rows)
    kept = [row for row in rows if (row.operator, row.batch) in keep]
    dropped = [row for row in rows if (row.operator, row.batch) not in keep]
    if not dropped:
        return []
    batches: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in dropped:
        batches[row.application, row.operator].append(row.batch)
    for (application, operator), numbers in batches.items():
        connection.execute(_DROP, {"of": application, "by": operator, "batches": numbers})
    needed = files_of(row.files for row in kept) | kept_files(connection, dropped[0].application)
    return sorted(files_of(row.files for row in dropped) - needed)
