"""Connections between applications of one home: which exported stream goes to which Import (rule 34).

They are matched when either of the two is deployed, in the transaction that deploys it, and last until one of them is
dropped. An Import sees what becomes visible after it was connected: complete epochs of the exporting region, or batches
where the Export is `read_uncommitted` and the Import is in no region. What enters a region is part of its state for
good, so only what no reset can take back may enter one.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, insert, select

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.pe_streams import shows_uncommitted, stream_name
from streams_orchestration.compiler.pe_program import InputStream
from streams_orchestration.compiler.stage_results import PeOutputPort
from streams_orchestration.model.subscription import is_about
from streams_orchestration.operators.arrow_types import arrow_schema
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import ConnectionRow, ExportRow, ImportRow
from streams_orchestration.runtime.transport.visibility import visible_end, written_end

_e, _i, _c = tables.stream_export, tables.stream_import, tables.stream_connection


def declare(connection: Connection, compilation: Compilation) -> None:
    """Write down the Exports and Imports of an application that is deployed, one of every replica; may be repeated."""
    application, pe_of = compilation.logical.application, compilation.fusion.pe_of
    for table in (_e, _i):
        connection.execute(delete(table).where(table.c.application == application))
    exports: dict[tuple[str, str], dict[str, Any]] = {}
    for link in compilation.physical.exports:
        stream = stream_name(compilation, PeOutputPort(link.operator, link.port, -1, -1))
        exports[link.name, stream] = {
            "pe": pe_of[link.operator],
            "properties": dict(link.parameters.get("properties", {})),
            "stream_id": _text(link.parameters.get("streamId")),
            "waits": link.parameters.get("congestionPolicy", "wait") == "wait",
            "schema": link.schema,
            "uncommitted": shows_uncommitted(link),
        }
    for (name, stream), values in exports.items():
        connection.execute(insert(_e).values(application=application, name=name, stream=stream, **values))
    for link in compilation.physical.imports:
        parameters = link.parameters
        connection.execute(
            insert(_i).values(
                application=application,
                name=link.name,
                operator=link.operator,
                port=link.port,
                pe=pe_of[link.operator],
                subscription=_text(parameters.get("subscription")),
                exporter=str(parameters.get("application", application)) if "streamId" in parameters else None,
                stream_id=_text(parameters.get("streamId")),
                filter=_text(parameters.get("filter")),
                schema=link.schema,
                consistent=compilation.regions.region_of[link.operator] >= 0,
            )
        )


def connect(connection: Connection) -> None:
    """Connect every Import with all exported streams that it is about; those that are connected stay as they are."""
    a = tables.application
    lives = {row.name: row.life for row in connection.execute(select(a.c.name, a.c.life))}
    exports = ExportRow.all(connection, select(_e).order_by(_e.c.application, _e.c.stream, _e.c.name))
    known = {(row.application, row.key) for row in connection.execute(select(_c.c.application, _c.c.key))}
    for wanted in ImportRow.all(connection, select(_i)) if exports else ():
        for export in exports:
            place = f"{wanted.name}.{wanted.operator}.{wanted.port}"
            key = f"{export.application}:{export.stream}@{place}#{lives[export.application][:8]}"
            if not _matches(wanted, export) or (wanted.application, key) in known:
                continue
            known.add((wanted.application, key))
            uncommitted = export.uncommitted and not wanted.consistent
            end = written_end if uncommitted else visible_end
            connection.execute(
                insert(_c).values(
                    application=wanted.application,
                    key=key,
                    pe=wanted.pe,
                    name=wanted.name,
                    operator=wanted.operator,
                    port=wanted.port,
                    filter=wanted.filter,
                    exporter=export.application,
                    exporter_pe=export.pe,
                    stream=export.stream,
                    waits=export.waits,
                    first=end(connection, export.application, export.stream),
                    problem=_problem(wanted, export),
                    uncommitted=uncommitted,
                )
            )


def disconnect(connection: Connection, exporter: str) -> None:
    """The exporting application is dropped; deployed anew it begins anew."""
    connection.execute(delete(_c).where(_c.c.exporter == exporter))


def imported_streams(connection: Connection, application: str, pe: int) -> tuple[InputStream, ...]:
    """The streams of other applications that a PE reads now."""
    rows = ConnectionRow.all(
        connection,
        select(_c)
        .where(_c.c.application == application, _c.c.pe == pe, _c.c.problem.is_(None))
        .order_by(_c.c.operator, _c.c.port, _c.c.key),
    )
    return tuple(
        InputStream(
            row.key, row.exporter_pe, row.operator, row.port, foreign=True, uncommitted=row.uncommitted,
            exporter=row.exporter, source=row.stream, first=row.first, filter=row.filter,
        )
        for row in rows
    )  # fmt: skip


def _matches(wanted: ImportRow, export: ExportRow) -> bool:
    parameters = {"subscription": wanted.subscription, "application": wanted.exporter, "streamId": wanted.stream_id}
    offered = {"properties": export.properties, "streamId": export.stream_id}
    return is_about(_present(parameters), wanted.application, _present(offered), export.application)


def _present(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def _problem(wanted: ImportRow, export: ExportRow) -> str | None:
    if arrow_schema(wanted.schema) == arrow_schema(export.schema):
        return None
    return f"its tuples are ({export.schema}), the Import takes ({wanted.schema})"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
