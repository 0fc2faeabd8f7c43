"""Reads a snapshot of all applications of a state directory, with their machines and the disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import NotDeployedError
from streams_orchestration.runtime.machines.register import MachineStatus, read_machines
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.units.failures import UnitFailure, find_failures
from streams_orchestration.runtime.units.reading import list_applications


@dataclass(frozen=True, slots=True)
class ObservedApplication:
    """One application: its status, its metrics, and the units that need a reset."""

    status: ApplicationStatus
    metrics: ApplicationMetrics
    failures: tuple[UnitFailure, ...]

    @property
    def name(self) -> str:
        """The name of the application."""
        return self.status.application


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All applications and machines of a state directory, each read in transactions of its own."""

    at: float
    """The time of the snapshot in unix seconds."""
    applications: tuple[ObservedApplication, ...]
    """The applications, ordered by name."""
    machines: tuple[MachineStatus, ...]
    """Machines, by name; empty if hosts are processes of the machine that deploys."""
    disk_free: int
    """Free bytes on the file system of the state directory."""
    disk_size: int
    """Size in bytes of the file system of the state directory."""


def read_snapshot(catalog: Catalog, application: str | None = None) -> Snapshot:
    """Read the status and metrics of applications, the machines, and the disk.

    An application that is dropped meanwhile is left out, unless it is the only one to read.

    Args:
        catalog: the catalog, which may not exist.
        application: the only application to read; None for all.

    Raises:
        NotDeployedError: `application` is not deployed.
    """
    applications = tuple(_all(catalog)) if application is None else (_observed(catalog, application),)
    disk = shutil.disk_usage(catalog.home.existing)
    return Snapshot(clock.now(), applications, read_machines(catalog), disk.free, disk.total)


def _all(catalog: Catalog) -> list[ObservedApplication]:
    observed: list[ObservedApplication] = []
    for name in list_applications(catalog):
        try:
            observed.append(_observed(catalog, name))
        except NotDeployedError:  # the application was dropped after its name had been read
            continue
    return observed


def _observed(catalog: Catalog, application: str) -> ObservedApplication:
    status = read_status(catalog, application)
    now = clock.now()
    return ObservedApplication(status, read_metrics(catalog, application, now), find_failures(status, now))
