"""The status of a deployed application: its hosts, PEs, units, sinks, and its connections with other applications."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.runtime.sinks.sinks import SinkStatus
from streams_orchestration.runtime.units.status import UnitsStatus


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """The connection of an exported stream with a PE that imports it."""

    exporter: str
    """Name of the exporting application."""
    stream: str
    importer: str
    """Name of the importing application."""
    name: str
    """Name of the Import."""
    pe: int
    """The PE that reads the exported stream."""
    waited: bool
    """True if the exporter waits for the reader: the Export is so configured, and the importing PE exists."""
    lag_segments: int
    """Segments that may be read, but are not read yet."""
    lag_tuples: int
    lost: int
    """Tuples that were dropped before they were read, because the exporter did not wait."""
    problem: str | None
    """The reason why no tuples can flow; None if they can."""
    uncommitted: bool = False
    """True if tuples are read before their epoch is complete: the Export allows it, and the Import is in no region."""


@dataclass(frozen=True, slots=True)
class ImportStatus:
    """One replica of an Import, and the exported streams that it reads."""

    name: str
    pe: int
    wants: str
    """The streams that it subscribes to, in words."""
    connections: tuple[ConnectionStatus, ...]


@dataclass(frozen=True, slots=True)
class ExportStatus:
    """One replica of an Export, and the readers of its stream."""

    name: str
    pe: int
    stream: str
    offers: str
    """The properties by which Imports select it, in words."""
    waits: bool
    """True if it waits for slow readers (the congestion policy)."""
    connections: tuple[ConnectionStatus, ...]
    visibility: Visibility = "read_committed"


@dataclass(frozen=True, slots=True)
class ApplicationStatus(UnitsStatus):
    """The status of one deployed application."""

    sinks: tuple[SinkStatus, ...]
    imports: tuple[ImportStatus, ...] = ()
    exports: tuple[ExportStatus, ...] = ()
    bounded: bool = False
    """True if its last run is bounded: it reads only the input that existed when it began, and then stops."""
    taken_at: float | None = None
    """The time at which the bounded run had read all its input, in unix seconds; None before that."""
