"""What a deployed application is doing: its hosts, PEs, units, sinks, and its connections with other applications."""

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
    """Of the Import."""
    pe: int
    """That reads it."""
    waited: bool
    """The exporter waits for it: the Export says so, and the importing PE is there."""
    lag_segments: int
    """That may be read and are not read yet."""
    lag_tuples: int
    lost: int
    """Tuples that were dropped before they were read, because the exporter did not wait."""
    problem: str | None
    """Why nothing flows."""
    uncommitted: bool = False
    """It is read before its epoch is complete: the Export says so, and the Import is in no region."""


@dataclass(frozen=True, slots=True)
class ImportStatus:
    """One Import, or one replica of it, and the exported streams that it reads."""

    name: str
    pe: int
    wants: str
    """What it is about, in words."""
    connections: tuple[ConnectionStatus, ...]


@dataclass(frozen=True, slots=True)
class ExportStatus:
    """One Export, or one replica of it, and who reads its stream."""

    name: str
    pe: int
    stream: str
    offers: str
    """What it is selected by, in words."""
    waits: bool
    """For readers that are behind: the congestion policy."""
    connections: tuple[ConnectionStatus, ...]
    visibility: Visibility = "read_committed"


@dataclass(frozen=True, slots=True)
class ApplicationStatus(UnitsStatus):
    """All of one deployed application."""

    sinks: tuple[SinkStatus, ...]
    imports: tuple[ImportStatus, ...] = ()
    exports: tuple[ExportStatus, ...] = ()
