"""The acts that change rows of sinks and of their outputs, a function for each; no other module updates these rows.

The commit of a batch inserts the rows of its outputs. Dropping an application deletes its rows of all tables.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cuts import after_cut
from streams_orchestration.runtime.catalog.kept_rows import Row
from streams_orchestration.runtime.catalog.sink_rows import SinkFileRow, SinkRow
from streams_orchestration.runtime.clocks import clock

_CARRIED = ("outputs", "rows", "undeliverable", "pending", "delivered_at")
"""The columns that a sink keeps when a redeploy replaces its row."""

_f, _s = tables.sink_file, tables.sink
_OUTPUT = tuple(each.name for each in fields(SinkFileRow))


class NewSink(NamedTuple):
    """The columns of a sink that has no outputs yet; see `SinkRow`."""

    operator: str
    pe: int
    kind: str
    place: str
    format: str | None
    read_with: dict[str, Any] | None
    visibility: Visibility
    marks: bool


def insert_sink(connection: Connection, application: str, sink: NewSink) -> None:
    """Insert a sink."""
    connection.execute(insert(_s).values(application=application, **sink._asdict()))


def restore_sink(connection: Connection, row: Row) -> None:
    """Insert a sink of a previous plan, with its kept row."""
    connection.execute(insert(_s).values(**row))


def carry_sink_counts(connection: Connection, application: str, operator: str, former: SinkRow) -> None:
    """Copy the counts of a former sink, and the directory of its pending files, into the row that continues it."""
    counts = {name: getattr(former, name) for name in _CARRIED}
    connection.execute(update(_s).where(*_is(application, operator)).values(**counts))


def delete_other_sinks(connection: Connection, application: str, staying: Collection[str]) -> None:
    """Delete the sinks of an application, except for the operators that stay."""
    connection.execute(delete(_s).where(_s.c.application == application, _s.c.operator.not_in(staying)))


def delete_sinks_of_pes(connection: Connection, application: str, pes: Collection[int]) -> None:
    """Delete the sinks of PEs."""
    connection.execute(delete(_s).where(_s.c.application == application, _s.c.pe.in_(pes)))


def count_failed_attempt(connection: Connection, application: str, operator: str, reason: str) -> None:
    """Record why the outputs of a sink cannot become visible, and count one more failed attempt."""
    failed = {"error": reason, "failures": _s.c.failures + 1, "failed_at": clock.now()}
    connection.execute(update(_s).where(*_is(application, operator)).values(**failed))


def clear_failed_attempts(connection: Connection, application: str, operator: str) -> None:
    """Clear the failure of a sink."""
    works = {"error": None, "failures": 0, "failed_at": None}
    connection.execute(update(_s).where(*_is(application, operator)).values(**works))


def route_epochs(connection: Connection, application: str, operator: str, epoch: int) -> None:
    """Let a sink set undeliverable rows of the epochs up to this one aside."""
    connection.execute(update(_s).where(*_is(application, operator)).values(routed=epoch))


def enter_gatherer(connection: Connection, application: str, operator: str, token: str) -> None:
    """Make the gatherer with this token the only one that may name merged files of a sink."""
    connection.execute(update(_s).where(*_is(application, operator)).values(gatherer=token))


def count_output(
    connection: Connection, application: str, row: SinkFileRow, outputs: int = 1, undeliverable: int = 0
) -> bool:
    """Count a visible output that no reset can retract, and delete its row. Return False if that was done before.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        row: the row of the output.
        outputs: the number to add to the sink's outputs; 0 for a further file of one delivery.
        undeliverable: how many of its rows were set aside, and so do not count as visible.
    """
    seen = {} if row.published else {"delivered_at": clock.now()}
    gone = connection.execute(delete(_f).where(_f.c.application == application, _f.c.pending == row.pending))
    if gone.rowcount == 1:
        connection.execute(
            update(_s)
            .where(*_is(application, row.operator))
            .values(
                outputs=_s.c.outputs + outputs,
                rows=_s.c.rows + row.rows - undeliverable,
                undeliverable=_s.c.undeliverable + undeliverable,
                pending=row.pending.rpartition("/")[0],
                **seen,
            )
        )
    return gone.rowcount == 1


def show_early(connection: Connection, application: str, row: SinkFileRow) -> None:
    """Record that an output is visible although a reset can take it back, and that its sink has delivered now."""
    mine = (_f.c.application == application, _f.c.pending == row.pending)
    connection.execute(update(_f).where(*mine).values(published=True))
    connection.execute(update(_s).where(*_is(application, row.operator)).values(delivered_at=clock.now()))


def name_output(connection: Connection, application: str, pending: str, final: str | None) -> None:
    """Record the place at which an output becomes visible."""
    mine = (_f.c.application == application, _f.c.pending == pending)
    connection.execute(update(_f).where(*mine).values(final=final))


def merge_outputs(connection: Connection, application: str, parts: Collection[str], merged: SinkFileRow) -> None:
    """Insert a merged output in place of its parts, given by their pending names; they are marked as retracted."""
    mine = (_f.c.application == application, _f.c.pending.in_(parts))
    connection.execute(update(_f).where(*mine).values(retracted=True))
    connection.execute(insert(_f).values({name: getattr(merged, name) for name in _OUTPUT}))


def retract_outputs(connection: Connection, application: str, unit: str, epoch: int) -> None:
    """Mark the outputs that a unit has made after its cut, which closed this epoch, as retracted."""
    connection.execute(update(_f).where(after_cut(_f, application, unit, epoch)).values(retracted=True))


def forget_retracted(connection: Connection, application: str, pending: Collection[str]) -> None:
    """Delete retracted outputs, given by their pending names, after their files were removed."""
    gone = (_f.c.application == application, _f.c.pending.in_(pending), _f.c.retracted)
    connection.execute(delete(_f).where(*gone))


def forget_unseen(connection: Connection, application: str, pes: Collection[int]) -> list[str]:
    """Delete the retracted outputs of PEs that nobody has seen, since their sinks show complete epochs only.

    Return their pending files.
    """
    unseen = select(_s.c.operator).where(_s.c.application == application, _s.c.visibility == "read_committed")
    mine = (_f.c.application == application, _f.c.pe.in_(pes), _f.c.retracted, _f.c.operator.in_(unseen))
    return list(connection.scalars(delete(_f).where(*mine).returning(_f.c.pending)).all())


def pass_outputs_on(connection: Connection, application: str, formers: Collection[str], operator: str, pe: int) -> None:
    """Let a sink, in its PE, have the outputs of former sinks, which it continues."""
    mine = (_f.c.application == application, _f.c.operator.in_(formers))
    connection.execute(update(_f).where(*mine).values(operator=operator, pe=pe))


def _is(application: str, operator: str) -> tuple[ColumnElement[bool], ...]:
    return _s.c.application == application, _s.c.operator == operator
