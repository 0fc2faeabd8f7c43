"""Connections with other applications, as `streams status` shows them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from streams_orchestration.compiler.brief import count, plural
from streams_orchestration.runtime import api


def connection_lines(status: api.ApplicationStatus) -> Iterator[Text]:
    """Yield a line for every Import and Export, and one for each stream or reader that it is connected with."""
    for link in status.imports:
        yield Text.assemble((link.name, "bold"), f"  imports {link.wants}{'' if link.connections else ': none yet'}")
        for each in link.connections:
            early = ", uncommitted" if each.uncommitted and not each.problem else ""
            yield _line(f"{each.exporter}: {each.stream}{early}", each)
    for link in status.exports:
        early = link.visibility == "read_uncommitted"
        yield Text.assemble(
            (link.name, "bold"), f"  exports {link.stream} as {link.offers}{', uncommitted' if early else ''}"
        )
        for each in link.connections:
            notes = [] if each.waited or each.problem else ["not waited for"]
            if early and not each.uncommitted and not each.problem:
                notes.append("complete epochs only, as it is in a region")
            yield _line(", ".join([f"to {each.importer}, PE {each.pe}", *notes]), each)


def _line(name: str, connection: api.ConnectionStatus) -> Text:
    if connection.problem is not None:
        return Text(f"  {name}: not connected, {connection.problem}", "red")
    behind = f"{count(connection.lag_tuples)} tuples in {plural(connection.lag_segments, 'segment')} to read"
    line = Text(f"  {name}: {behind if connection.lag_segments else 'all read'}")
    if connection.lost:
        line.append(f", {count(connection.lost)} tuples lost", "red")
    return line
