"""Reads a snapshot of all applications of a state directory, with their machines and the disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import NotDeployedError
from streams_orchestration.runtime.machines.register import MachineStatus, read_machines
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
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


def read_snapshot(home: Home, application: str | None = None) -> Snapshot:
    """Read the status and metrics of applications, the machines, and the disk.

    An application that is dropped meanwhile is left out, unless it is the only one to read.

    Args:
        home: the state directory.
        application: the only application to read; None for all.

    Raises:
        NotDeployedError: `application` is not deployed.
    """
    applications = tuple(_all(home)) if application is None else (_observed(home, application),)
    disk = shutil.disk_usage(home.existing)
    return Snapshot(clock.now(), applications, read_machines(home), disk.free, disk.total)


def _all(home: Home) -> list[ObservedApplication]:
    observed: list[ObservedApplication] = []
    for name in list_applications(home):
        try:
            observed.append(_observed(home, name))
        except NotDeployedError:  # the application was dropped after its name had been read
            continue
    return observed


def _observed(home: Home, application: str) -> ObservedApplication:
    status = read_status(home, application)
    now = clock.now()
    return ObservedApplication(status, read_metrics(home, application, now), find_failures(status, now))
