"""The status of a deployed application: its hosts, PEs, units, sinks, and its connections with other applications."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.runtime.sinks.sinks import SinkStatus
from streams_orchestration.runtime.units.status import UnitsStatus


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """An exported stream and a PE that imports it."""

    exporter: str
    """Application."""
    stream: str
    importer: str
    """Application."""
    name: str
    """Name of the Import."""
    pe: int
    """PE that reads it."""
    waited: bool
    """Whether the exporter waits for it: the Export is so configured, and the importing PE is there."""
    lag_segments: int
    """Segments that may be read and are not read yet."""
    lag_tuples: int
    lost: int
    """Tuples that were dropped before they were read, because the exporter did not wait."""
    problem: str | None
    """Why nothing flows; None when it can."""
    uncommitted: bool = False
    """Whether it is read before its epoch is complete: the Export is so configured, and the Import is in no region."""


@dataclass(frozen=True, slots=True)
class ImportStatus:
    """One Import, or one replica of it, and the exported streams that it reads."""

    name: str
    pe: int
    wants: str
    """The streams that it wants, in words."""
    connections: tuple[ConnectionStatus, ...]


@dataclass(frozen=True, slots=True)
class ExportStatus:
    """One Export, or one replica of it, and the readers of its stream."""

    name: str
    pe: int
    stream: str
    offers: str
    """The properties by which Imports select it, in words."""
    waits: bool
    """Whether it waits for readers that are behind: the congestion policy."""
    connections: tuple[ConnectionStatus, ...]
    visibility: Visibility = "read_committed"


@dataclass(frozen=True, slots=True)
class ApplicationStatus(UnitsStatus):
    """The status of one deployed application."""

    sinks: tuple[SinkStatus, ...]
    imports: tuple[ImportStatus, ...] = ()
    exports: tuple[ExportStatus, ...] = ()
    bounded: bool = False
    """Whether its last run takes only what was there when it began, and then stops."""
    taken_at: float | None = None
    """When that run had taken all, and stopped, in unix seconds; None before, and in any other run."""
