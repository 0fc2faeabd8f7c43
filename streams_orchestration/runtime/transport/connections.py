"""Connections between applications of one home: which exported stream goes to which Import (rule 34).

They are matched when either application is deployed, in the transaction that deploys it, and last until one of them is
dropped. An Import sees tuples that become visible after it was connected: complete epochs of the exporting region, or
batches if the Export is `read_uncommitted` and the Import is in no region. Tuples that enter a region become part of
its state permanently, so a region imports only tuples that no reset can retract.

An operator in no region may change its Imports and Exports while it runs. The change is in the commit of its batch, and
in the position of its PE, from which `declare` repeats it when the application is started again.

A redeploy of either side keeps the connections that also exist in the new plan, with their read positions. A connection
that the exporter's new plan ends is read to the end of its exported tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.pe_streams import shows_uncommitted, stream_name
from streams_orchestration.compiler.event_time.roles import exported_times, imported_times
from streams_orchestration.compiler.pe_program import InputStream, PeProgram
from streams_orchestration.compiler.stage_results import PeOutputPort
from streams_orchestration.model.subscription import is_about
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import count_connections
from streams_orchestration.runtime.catalog.rows import ConnectionRow, ExportRow, ImportRow
from streams_orchestration.runtime.programs.batches import LinkChange
from streams_orchestration.runtime.transport.visibility import completed_of, visible_end, written_end

_e, _i, _c = tables.stream_export, tables.stream_import, tables.stream_connection


class _Link(NamedTuple):
    """The key of a connection; at most one open connection has this key."""

    application: str
    name: str
    operator: str
    port: int
    exporter: str
    stream: str


def declare(connection: Connection, compilation: Compilation) -> None:
    """Replace the recorded Exports and Imports of a deployed application, one for every replica; may be repeated.

    The changes that its operators have committed while they ran are made again. `connect` has to follow in the same
    write transaction.

    If the tuple type of an exported stream has changed, its connections are ended: their readers get only the tuples
    that are visible now. If only its event time has changed, the connections that take its watermarks are ended.
    """
    application, pe_of = compilation.logical.application, compilation.fusion.pe_of
    former = ExportRow.all(connection, select(_e).where(_e.c.application == application))
    for table in (_e, _i):
        connection.execute(delete(table).where(table.c.application == application))
    exports: dict[tuple[str, str], dict[str, Any]] = {}
    written, read = exported_times(compilation), imported_times(compilation)
    for link in compilation.physical.exports:
        stream = stream_name(compilation, PeOutputPort(link.operator, link.port))
        exports[link.name, stream] = {
            "pe": pe_of[link.operator],
            "properties": dict(link.parameters.get("properties", {})),
            "stream_id": _text(link.parameters.get("streamId")),
            "waits": link.parameters.get("congestionPolicy", "wait") == "wait",
            "schema": link.schema,
            "uncommitted": shows_uncommitted(link),
            "event_time": _text(written.get((link.operator, link.port))),
        }
    for (name, stream), values in exports.items():
        connection.execute(insert(_e).values(application=application, name=name, stream=stream, **values))
    offered = {stream: values for (_, stream), values in exports.items()}
    for row in former:
        now = offered.get(row.stream)
        if now is not None and arrow_schema(row.schema) != arrow_schema(now["schema"]):
            _end_all(connection, application, row.stream)
        elif now is not None and _differ(row.event_time, now["event_time"]):
            _end_all(connection, application, row.stream, timed=True)
    for number, link in enumerate(compilation.physical.imports):
        parameters = link.parameters
        connection.execute(
            insert(_i).values(
                application=application,
                name=link.name,
                operator=compilation.physical.operators[link.operator].name,
                port=link.port,
                pe=pe_of[link.operator],
                subscription=_text(parameters.get("subscription")),
                exporter=str(parameters.get("application", application)) if "streamId" in parameters else None,
                stream_id=_text(parameters.get("streamId")),
                filter=_text(parameters.get("filter")),
                schema=link.schema,
                consistent=compilation.regions.region_of[link.operator] >= 0,
                event_time=_text(read.get(number)),
            )
        )
    _repeat_changes(connection, application)


def change_links(connection: Connection, application: str, changes: Mapping[str, Iterable[LinkChange]]) -> None:
    """Record changed properties of Exports, and changed subscriptions and filters of Imports; `connect` has to follow.

    A change of an Import or Export that is not recorded has no effect. `changes` maps an operator to the changed
    Imports and Exports at its ports. The connection is in a write transaction.
    """
    for operator, links in changes.items():
        for link in links:
            if link.stream:
                mine = (_e.c.application == application, _e.c.name == link.name, _e.c.stream == link.stream)
                connection.execute(update(_e).where(*mine).values(properties=link.properties))
            else:
                mine = (_i.c.application == application, _i.c.name == link.name)
                mine += (_i.c.operator == operator, _i.c.port == link.port)
                values = {"subscription": link.subscription, "filter": link.filter}
                connection.execute(update(_i).where(*mine).values(**values))


def _repeat_changes(connection: Connection, application: str) -> None:
    """Change declared Imports and Exports as the PEs of the application have committed it."""
    p = tables.pe
    for position in connection.scalars(select(p.c.position).where(p.c.application == application)):
        changed: dict[str, list[dict[str, Any]]] = position.get("links", {})
        changes = {operator: [LinkChange(**each) for each in links] for operator, links in changed.items()}
        change_links(connection, application, changes)


def connect(connection: Connection, cause: str = "") -> None:
    """Connect every Import with all exported streams that it matches, and end the connections that no longer match.

    A new connection begins after the tuples that are visible now. If its tuple types or event times differ, it is
    recorded with the problem, and nothing flows. Existing connections keep their position, and get the present facts of
    both sides. Ended ones that are not read to their end go to the PE that has the Import now. Connections of an Import
    that is gone are removed. The exporters of new or changed connections that take watermarks send again which of their
    streams are idle. `cause` is a text for the keys of new connections that no other change of an Import or Export has;
    it is empty for the Imports and Exports of a plan. The connection is in a write transaction.
    """
    imports = {
        (row.application, row.name, row.operator, row.port): row for row in ImportRow.all(connection, select(_i))
    }
    exports = ExportRow.all(connection, select(_e).order_by(_e.c.application, _e.c.stream, _e.c.name))
    wanted: dict[_Link, tuple[ImportRow, ExportRow]] = {}
    for row in imports.values() if exports else ():
        for export in exports:
            if _matches(row, export):
                link = _Link(row.application, row.name, row.operator, row.port, export.application, export.stream)
                wanted.setdefault(link, (row, export))
    known = {
        _Link(row.application, row.name, row.operator, row.port, row.exporter, row.stream): row
        for row in ConnectionRow.all(connection, select(_c).where(_c.c.last.is_(None)))
    }
    for link, row in known.items():
        if link[:4] not in imports:  # its tuples are no longer taken
            connection.execute(delete(_c).where(_c.c.application == row.application, _c.c.key == row.key))
        elif link not in wanted:
            _end(connection, row)
    gone = select(_i.c.name).where(
        _i.c.application == _c.c.application,
        _i.c.name == _c.c.name,
        _i.c.operator == _c.c.operator,
        _i.c.port == _c.c.port,
    )
    connection.execute(delete(_c).where(_c.c.last.is_not(None), ~gone.exists()))
    told: set[str] = set()
    for link, (row, export) in wanted.items():
        if _connect(connection, link, row, export, known.get(link), cause) and row.event_time is not None:
            told.add(link.exporter)
    if told:
        count_connections(connection, told)
    _follow(connection, imports)


def _connect(
    connection: Connection, link: _Link, row: ImportRow, export: ExportRow, former: ConnectionRow | None, cause: str
) -> bool:
    """Insert a connection, or update its facts; return True if it is new or has changed."""
    uncommitted = export.uncommitted and not row.consistent
    facts = {
        "pe": row.pe,
        "filter": row.filter,
        "exporter_pe": export.pe,
        "waits": export.waits,
        "problem": _problem(row, export),
        "uncommitted": uncommitted,
        "event_time": row.event_time is not None,
    }
    if former is None:
        end = written_end if uncommitted else visible_end
        first = end(connection, export.application, export.stream)
        key = _free_key(connection, link) + (cause and f"#{cause}")
        connection.execute(insert(_c).values(**link._asdict(), **facts, key=key, first=first))
        return True
    if facts == {name: getattr(former, name) for name in facts}:
        return False
    mine = (_c.c.application == former.application, _c.c.key == former.key)
    connection.execute(update(_c).where(*mine).values(**facts))
    return True


def _follow(connection: Connection, imports: Mapping[tuple[str, str, str, int], ImportRow]) -> None:
    """Assign ended connections that are not read to their end to the PE that has the Import now."""
    for row in ConnectionRow.all(connection, select(_c).where(_c.c.last.is_not(None))):
        pe = imports[row.application, row.name, row.operator, row.port].pe
        if pe != row.pe:
            mine = (_c.c.application == row.application, _c.c.key == row.key)
            connection.execute(update(_c).where(*mine).values(pe=pe))


def _free_key(connection: Connection, link: _Link) -> str:
    """Return a key for a connection among the positions of the importing PE that no other connection has or had."""
    a = tables.application
    life = connection.scalar(select(a.c.life).where(a.c.name == link.exporter)) or ""
    plans = connection.scalar(select(func.sum(a.c.plan)).where(a.c.name.in_((link.application, link.exporter))))
    return f"{link.exporter}:{link.stream}@{link.name}.{link.operator}.{link.port}#{life[:8]}.{plans}"


def _end_all(connection: Connection, exporter: str, stream: str, *, timed: bool = False) -> None:
    """End all open connections of a stream, or with `timed` only the connections that take its watermarks."""
    open_ = [_c.c.exporter == exporter, _c.c.stream == stream, _c.c.last.is_(None)]
    open_ += [_c.c.event_time] if timed else []
    for row in ConnectionRow.all(connection, select(_c).where(*open_)):
        _end(connection, row)


def _end(connection: Connection, row: ConnectionRow) -> None:
    """End a connection. Its reader may still read the tuples that are visible now, but gets no later ones.

    The exporter no longer waits for the reader. If no tuples are visible, or nothing flows because of a problem, the
    connection is removed.
    """
    s = tables.segment
    visible = [s.c.application == row.exporter, s.c.stream == row.stream, ~s.c.retracted]
    if not row.uncommitted:
        completed = completed_of(connection, row.exporter, row.exporter_pe)
        visible += [] if completed is None else [s.c.epoch <= completed]
    newest = connection.scalar(select(func.max(s.c.number)).where(*visible))
    mine = (_c.c.application == row.application, _c.c.key == row.key)
    if newest is None or row.problem is not None:
        connection.execute(delete(_c).where(*mine))
    else:
        connection.execute(update(_c).where(*mine).values(last=newest + 1, waits=False, uncommitted=False))


def carry_connections(
    connection: Connection, application: str, formers: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """Move connections to the operators that continue under other names, in the transaction of a redeploy.

    Connections of operators that do not continue are removed. `formers` maps an operator of the new plan to its name in
    the old plan, if the operator continues.

    Returns:
        Operator of the new plan -> the keys of its connections, each with the PE of the old plan that reads it.
    """
    carried: dict[str, dict[str, int]] = {}
    after = {former: operator for operator, former in formers.items()}
    for row in ConnectionRow.all(connection, select(_c).where(_c.c.application == application)):
        operator = after.get(row.operator)
        mine = (_c.c.application == application, _c.c.key == row.key)
        if operator is None:
            connection.execute(delete(_c).where(*mine))
            continue
        carried.setdefault(operator, {})[row.key] = row.pe
        if operator != row.operator:
            connection.execute(update(_c).where(*mine).values(operator=operator))
    return carried


def next_number(connection: Connection, application: str, stream: str) -> int:
    """Return the next segment number of a stream that an earlier plan wrote.

    It is above every segment written, and not below the end that readers still wait for; 0 without either.
    """
    last = connection.scalar(select(func.max(_c.c.last)).where(_c.c.exporter == application, _c.c.stream == stream))
    return max(end_of_segments(connection, application, stream), last or 0)


def end_of_segments(connection: Connection, application: str, stream: str) -> int:
    """Return the number after the last existing segment of a stream; 0 without segments."""
    s = tables.segment
    newest = connection.scalar(select(func.max(s.c.number)).where(s.c.application == application, s.c.stream == stream))
    return 0 if newest is None else newest + 1


def disconnect(connection: Connection, exporter: str) -> None:
    """Remove the connections from a dropped application.

    If it is deployed again, its streams start from the beginning.
    """
    connection.execute(delete(_c).where(_c.c.exporter == exporter))


def imported_streams(connection: Connection, program: PeProgram) -> tuple[InputStream, ...]:
    """Return the exported streams to which the Imports of a PE are connected now, without those with a problem.

    An ended connection is among them until it is removed.
    """
    numbers = {operator.name: index for index, operator in program.operators.items()}
    rows = ConnectionRow.all(
        connection,
        select(_c)
        .where(_c.c.application == program.application, _c.c.pe == program.pe, _c.c.problem.is_(None))
        .order_by(_c.c.operator, _c.c.port, _c.c.key),
    )
    return tuple(
        InputStream(
            row.key,
            row.exporter_pe,
            numbers[row.operator],
            row.port,
            foreign=True,
            uncommitted=row.uncommitted,
            exporter=row.exporter,
            source=row.stream,
            first=row.first,
            last=row.last,
            filter=row.filter,
            event_time=row.event_time,
        )
        for row in rows
        if row.operator in numbers
    )


def _matches(wanted: ImportRow, export: ExportRow) -> bool:
    parameters = {"subscription": wanted.subscription, "application": wanted.exporter, "streamId": wanted.stream_id}
    offered = {"properties": export.properties, "streamId": export.stream_id}
    return is_about(_present(parameters), wanted.application, _present(offered), export.application)


def _present(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def _problem(wanted: ImportRow, export: ExportRow) -> str | None:
    if arrow_schema(wanted.schema) != arrow_schema(export.schema):
        return f"its tuples are ({export.schema}), the Import takes ({wanted.schema})"
    if _differ(wanted.event_time, export.event_time):
        return f"its event time is {export.event_time}, the Import takes {wanted.event_time}"
    return None


def _differ(one: str | None, other: str | None) -> bool:
    """Return True if two event times conflict. A stream without watermarks fits any Import."""
    return one is not None and other is not None and one != other


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
