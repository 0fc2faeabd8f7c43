"""The previous plan at the cut of a redeploy: its rows are kept while the redeploy is on trial, to be restored."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Executable, LargeBinary, Table, delete, func, insert, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import StoredPlan, enter_plan
from streams_orchestration.runtime.catalog.chains import files_of
from streams_orchestration.runtime.catalog.kept_rows import PreviousPlan, Row
from streams_orchestration.runtime.catalog.pe_transitions import columns_at_commit
from streams_orchestration.runtime.catalog.rows import ApplicationRow, PeRow, UnitRow
from streams_orchestration.runtime.catalog.sink_transitions import (
    delete_sinks_of_pes,
    forget_unseen,
    pass_outputs_on,
    restore_sink,
)
from streams_orchestration.runtime.catalog.unit_transitions import restore_unit
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.programs.batches import StateFile, StoredState
from streams_orchestration.runtime.tasks.stored_states import newest_states, state_files
from streams_orchestration.runtime.transport.connections import connect
from streams_orchestration.runtime.transport.visibility import visible_end
from streams_orchestration.runtime.trials.boundaries import forget_units, insert_cut, insert_states, place_hosts
from streams_orchestration.runtime.units.host_requirements import read_requirements
from streams_orchestration.runtime.units.region_record import RegionRecord
from streams_orchestration.runtime.units.roll_back import roll_back
from streams_orchestration.runtime.units.unit_store import columns_of

_OF_PES = (tables.pe, tables.sink, tables.pe_metrics)
_OF_APPLICATION = (tables.stream_export, tables.stream_import)


def read_plan(
    connection: Connection, application: str, units: Collection[str], formers: Mapping[str, str]
) -> PreviousPlan:
    """Read the rows of the deployed plan, at a cut of the units that are to change.

    Args:
        connection: the connection of a transaction.
        application: the name of the application.
        units: the names of the units that change.
        formers: operator of the new plan -> its name in the deployed plan.
    """
    a, u, p, h = tables.application, tables.unit, tables.pe, tables.host
    pes = list(connection.scalars(select(p.c.id).where(p.c.application == application, p.c.unit.in_(units))))
    rows = {
        "application": _rows(connection, a, select(a).where(a.c.name == application)),
        "unit": _rows(connection, u, select(u).where(u.c.application == application, u.c.name.in_(units))),
        "host": _rows(connection, h, select(h.c.id, h.c.requirements).where(h.c.application == application)),
    }
    c = tables.stream_connection
    ours = (c.c.application == application) | (c.c.exporter == application)
    rows[c.name] = _rows(connection, c, select(c).where(ours))
    for table in _OF_PES:
        column = table.c.id if table is p else table.c.pe
        mine = (table.c.application == application, column.in_(pes))
        rows[table.name] = _rows(connection, table, select(table).where(*mine))
    for table in _OF_APPLICATION:
        rows[table.name] = _rows(connection, table, select(table).where(table.c.application == application))
    states = [
        {"operator": state.operator, "pe": pe, "files": [asdict(file) for file in state.files]}
        for pe in pes
        for state in newest_states(connection, application, pe).values()
    ]
    return PreviousPlan(rows, states, dict(formers))


def restore_plan(connection: Connection, application: str, before: PreviousPlan) -> list[str]:
    """Replace the plan on trial by the previous plan, whose units begin at the cut of the redeploy.

    The plan on trial has used numbers of epochs, batches, generations and segments; the previous plan continues after
    them. Outputs of the plan on trial that were visible already are marked as retracted, and are removed later. Hosts
    that the previous plan does not have are deleted, and their processes then end.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        before: the previous plan, at its cut.

    Returns:
        Files that the catalog no longer names.

    Raises:
        InvariantError: the rollback breaks a rule of the protocol.
    """
    u, p = tables.unit, tables.pe
    tried = UnitRow.all(connection, select(u).where(u.c.application == application, u.c.shown_epoch.is_not(None)))
    names = [unit.name for unit in tried]
    pes = PeRow.all(connection, select(p).where(p.c.application == application, p.c.unit.in_(names)))
    last = ApplicationRow.one(connection, select(tables.application).where(tables.application.c.name == application))
    epoch = max([last.last_epoch, *(unit.current_epoch for unit in tried), *(pe.epoch for pe in pes)])
    batch = 1 + max([last.last_batch, *(pe.batch for pe in pes)])
    highest = connection.scalar(select(func.max(u.c.generation)).where(u.c.application == application)) or 0
    generation = 1 + max(last.last_generation, highest)
    written = {stream: number for pe in pes for stream, number in pe.position["outputs"].items()}
    garbage = _roll_back_tried(connection, application, tried)
    forget_units(connection, application, names)
    for row in before.rows["unit"]:
        record = columns_of(RegionRecord.first(row["configured_attempts"], clock.now(), epoch))
        restore_unit(connection, row, record, generation, _final_epoch(before, row["name"], epoch))
    _enter(connection, "pe", before, epoch=epoch, batch=batch, written=written)
    _enter(connection, "pe_metrics", before)
    for state in before.states:
        files = tuple(StateFile(**file) for file in state["files"])
        insert_states(connection, application, state["pe"], batch, [StoredState(state["operator"], files)])
    for row in before.rows["unit"]:
        insert_cut(connection, application, row["name"], epoch, generation)
    requirements = {row["id"]: read_requirements(row["id"], row["requirements"]) for row in before.rows["host"]}
    place_hosts(connection, application, requirements)
    _restore_sinks(connection, application, [pe.id for pe in pes], before)
    _restore_application(connection, application, before, epoch, batch, generation)
    _restore_connections(connection, application, before)
    named = state_files(connection, application)
    return [path for path in garbage if path not in named]


def _roll_back_tried(connection: Connection, application: str, units: Collection[UnitRow]) -> list[str]:
    """Roll units back to the beginning of their trial, and return the files to remove.

    They are files of the units' states and segments, and of outputs that are not visible yet; the rows of these outputs
    are deleted.
    """
    s, p = tables.state, tables.pe
    garbage: list[str] = []
    for unit in units:
        garbage += roll_back(connection, unit, to=unit.shown, epoch=unit.current_epoch + 1)
    names = [unit.name for unit in units]
    pes = connection.scalars(select(p.c.id).where(p.c.application == application, p.c.unit.in_(names))).all()
    stored = connection.scalars(select(s.c.files).where(s.c.application == application, s.c.pe.in_(pes)))
    garbage += sorted(files_of(stored))
    return garbage + forget_unseen(connection, application, pes)


def _enter(connection: Connection, name: str, before: PreviousPlan, **at: Any) -> None:
    table = tables.metadata.tables[name]
    for row in before.rows[name]:
        values = row | (_pe_values(row, **at) if name == "pe" else {})
        connection.execute(insert(table).values(**_stored(table, values)))


def _final_epoch(before: PreviousPlan, unit: str, epoch: int) -> int | None:
    """Return the final epoch of a restored unit: its cut or the next epoch; None if its input has not ended."""
    pes = [row for row in before.rows["pe"] if row["unit"] == unit]
    if not all(row["exhausted"] for row in pes):
        return None
    return epoch if all(row["final"] for row in pes) else epoch + 1


def _pe_values(row: Row, epoch: int, batch: int, written: Mapping[str, int]) -> Row:
    """Return the column values of a restored PE.

    Its segment numbers continue after the numbers of the plan on trial, because numbers are never used twice.
    """
    position = row["position"]
    streams = json.loads(row["program"])["consumers"]
    outputs = position["outputs"] | {stream: written[stream] for stream in streams if stream in written}
    return {
        **columns_at_commit(final=row["final"]),
        "failures": None,
        "running": 0,
        "batch": batch,
        "epoch": epoch + 1,
        "position": position | {"outputs": outputs},
    }


def _restore_sinks(connection: Connection, application: str, pes: Collection[int], before: PreviousPlan) -> None:
    """Replace the sinks of the given PEs by the previous ones.

    Outputs of renamed sinks that are still to be removed get the previous operator and PE.
    """
    delete_sinks_of_pes(connection, application, pes)
    for row in before.rows["sink"]:
        restore_sink(connection, row)
        renamed = [new for new, old in before.formers.items() if old == row["operator"]]
        pass_outputs_on(connection, application, renamed, row["operator"], row["pe"])


def _restore_connections(connection: Connection, application: str, before: PreviousPlan) -> None:
    """Restore the rows of Exports, Imports and their connections, delete the rows of the plan on trial, and `connect`.

    A connection of an Import that no longer exists is not restored. Another application that has left a stream reads it
    again from the end of its visible segments.
    """
    c, i = tables.stream_connection, tables.stream_import
    for table in _OF_APPLICATION:
        connection.execute(delete(table).where(table.c.application == application))
        _enter(connection, table.name, before)
    kept = {(row["application"], row["key"]): row for row in before.rows[c.name]}
    now = {
        (row.application, row.key): row
        for row in connection.execute(select(c).where((c.c.application == application) | (c.c.exporter == application)))
    }
    for key in now.keys() - kept.keys():  # connections of the plan on trial
        connection.execute(delete(c).where(c.c.application == key[0], c.c.key == key[1]))
    for key, row in kept.items():
        this = (c.c.application == key[0], c.c.key == key[1])
        mine = (i.c.application == key[0], *(i.c[name] == row[name] for name in ("name", "operator", "port")))
        pe = connection.scalar(select(i.c.pe).where(*mine))
        connection.execute(delete(c).where(*this))
        if pe is not None:
            lost = now[key].lost if key in now else row["lost"]
            first = row["first"]
            if key not in now and key[0] != application:  # another application has read it to its end, and left it
                first = visible_end(connection, application, row["stream"])
            connection.execute(insert(c).values(**row | {"pe": pe, "lost": lost, "first": first}))
    connect(connection)


def _restore_application(
    connection: Connection, application: str, before: PreviousPlan, epoch: int, batch: int, generation: int
) -> None:
    (row,) = (_stored(tables.application, each) for each in before.rows["application"])
    plan = StoredPlan(*(row[name] for name in StoredPlan._fields))
    enter_plan(connection, application, plan, epoch=epoch, batch=batch, generation=generation)


def _rows(connection: Connection, table: Table, statement: Executable) -> list[Row]:
    """Return rows with values that JSON has: columns of bytes, which contain JSON themselves, become texts."""
    texts = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
    return [
        {name: value.decode() if name in texts and value is not None else value for name, value in row.items()}
        for row in connection.execute(statement).mappings()
    ]


def _stored(table: Table, row: Row) -> Row:
    texts = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
    return {name: value.encode() if name in texts and value is not None else value for name, value in row.items()}
