"""Connections with other applications, as `streams status` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from streams_orchestration.cli.names import count, plural

if TYPE_CHECKING:
    from streams_orchestration.runtime.status import ApplicationStatus, ConnectionStatus


def connection_lines(status: ApplicationStatus) -> Iterator[Text]:
    """A line for every Import and Export, and one for each stream or reader that it is connected with."""
    for link in status.imports:
        yield Text.assemble((link.name, "bold"), f"  imports {link.wants}{'' if link.connections else ': none yet'}")
        for each in link.connections:
            yield _line(f"{each.exporter}: {each.stream}", each)
    for link in status.exports:
        yield Text.assemble((link.name, "bold"), f"  exports {link.stream} as {link.offers}")
        for each in link.connections:
            waits = "" if each.waited or each.problem else ", not waited for"
            yield _line(f"to {each.importer}, PE {each.pe}{waits}", each)


def _line(name: str, connection: ConnectionStatus) -> Text:
    if connection.problem is not None:
        return Text(f"  {name}: not connected, {connection.problem}", "red")
    behind = f"{count(connection.lag_tuples)} tuples in {plural(connection.lag_segments, 'segment')} to read"
    line = Text(f"  {name}: {behind if connection.lag_segments else 'all read'}")
    if connection.lost:
        line.append(f", {count(connection.lost)} tuples lost", "red")
    return line
