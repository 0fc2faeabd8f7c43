"""Waits until the hosts and PEs of an application have a wanted state."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, HostLaunchError, WaitingForMachineError
from streams_orchestration.runtime.units.failures import FailedAgainError, explain_pe_failure, find_failures
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.status import UnitsStatus
from streams_orchestration.runtime.units.watch import observe

POLL_SECONDS = 0.1
FAILING_SECONDS = 3.0
"""Seconds for which a unit may be in need of a reset while its application starts. After that, the start has failed."""
HEALING_SECONDS = 12.0
"""Seconds for which a unit may be in need of a reset while others reset it: two looks of Dagster's sensor."""


def await_engines(catalog: Catalog, application: str, timeout: float) -> None:
    """Wait until no live host is still starting its engine, but at most `timeout` seconds.

    Raises:
        NotDeployedError: the application is not deployed.
        CatalogUnavailableError: the catalog cannot be used at the end.
    """

    def up(status: UnitsStatus) -> bool:
        return not any(host.alive and host.state == "STARTING" for host in status.hosts)

    await_status(catalog, application, timeout, up)


def await_running_pes(
    catalog: Catalog, application: str, timeout: float, unit: str | None = None, failed: int | None = None
) -> UnitsStatus:
    """Wait until every PE runs or is complete, and update the states of units meanwhile.

    A bounded run that has read all its input, and has stopped, counts as running.

    Args:
        catalog: the catalog.
        application: name of the application.
        timeout: most seconds to wait.
        unit: wait for this unit's PEs only, while another process resets it whenever it fails; None for all units.
        failed: the failed generation of the unit. Return as soon as the unit has recovered from it. None to wait until
            the PEs run.

    Raises:
        HostLaunchError: a host or a PE failed, a unit needs a reset (again), the application was stopped, or the time
            ran out; the message names the log. If no machine takes a host, it is a WaitingForMachineError. A failure
            counts once it has lasted for `FAILING_SECONDS`, or `HEALING_SECONDS` with `unit`; one of `unit` that is
            not reset automatically counts at once.
        StreamsRuntimeError: a unit was removed meanwhile, or a rule of the protocol is broken.
        NotDeployedError: the application is not deployed.
        CatalogUnavailableError: the catalog cannot be used at the end.
    """
    patience = FAILING_SECONDS if unit is None else HEALING_SECONDS
    failing: dict[str, float] = {}  # unit -> the time at which its present failure was first seen

    def running(status: UnitsStatus) -> bool:
        units = {each.name: each for each in status.units if unit in (None, each.name)}
        if failed is not None and all(each.came_back_from(failed) for each in units.values()):
            return True
        if status.state == "STOPPED":
            if _has_taken_all(catalog, application):
                return True
            message = f"{application} was stopped"
            raise HostLaunchError(message)
        observe(catalog, application)
        pes = [pe for pe in status.pes if pe.unit in units]
        if unit is None:
            _require_working(status)
        now = clock.now()
        failures_now = {failure.unit: failure for failure in find_failures(status, now) if failure.unit in units}
        for name in units.keys() - failures_now.keys():
            failing.pop(name, None)
        for name, failure in failures_now.items():
            hopeless = unit is not None and failure.exhausted
            if hopeless or now - failing.setdefault(name, now) > patience:
                raise FailedAgainError(failure)
        if any(each.waits or each.state == "RESETTING" for each in units.values()):
            return False
        return status.state == "COMPLETED" or all(pe.state in ("RUNNING", "COMPLETED") for pe in pes)

    status = await_status(catalog, application, timeout, running)
    if status is None:
        late = read_units(catalog, application)
        require_machines(late)
        message = f"the PEs of {unit or application} did not all run after {timeout:.0f} s (logs: {late.log_places})"
        raise HostLaunchError(message)
    return status


def _has_taken_all(catalog: Catalog, application: str) -> bool:
    """Return True if the application's bounded run has read all its input."""
    a = tables.application
    with catalog.read() as connection:
        return connection.scalar(select(a.c.taken_at).where(a.c.name == application)) is not None


def _require_working(status: UnitsStatus) -> None:
    """Raise HostLaunchError if a host or a PE of a starting application has failed, or a host waits for a machine.

    A failed PE passes if the reset of its unit was taken up.
    """
    require_machines(status)
    for host in status.hosts:
        if host.state == "FAILED" or (not host.alive and host.state in ("STARTING", "RUNNING")):
            reason = host.error or f"its process is gone ({host.process})"
            message = f"host {host.id} of {status.application} failed: {reason} (log: {host.log_place})"
            raise HostLaunchError(message)
    taken_up = {unit.name for unit in status.units if unit.asked}
    for pe in status.pes:
        if pe.state == "FAILED" and pe.unit not in taken_up:
            message = f"{explain_pe_failure(pe.id, pe.error)} (log: {pe.log_place})"
            raise HostLaunchError(message)


def require_machines(status: UnitsStatus) -> None:
    """Raise WaitingForMachineError if the application is to run, and hosts wait for a machine."""
    if status.state == "WAITING":
        waiting = {host.id: host.error or "" for host in status.hosts if host.state == "WAITING"}
        raise WaitingForMachineError(status.application, waiting)


def await_status(
    catalog: Catalog, application: str, timeout: float, condition: Callable[[UnitsStatus], bool]
) -> UnitsStatus | None:
    """Poll until a status meets the condition, and return it; return None after `timeout` seconds.

    Raises:
        NotDeployedError: the application is not deployed.
        CatalogUnavailableError: the catalog cannot be used after `timeout` seconds.
    """
    until = world.monotonic() + timeout
    while True:
        late = world.monotonic() > until
        try:
            status = read_units(catalog, application)
        except CatalogUnavailableError:
            if late:
                raise
        else:
            if condition(status):
                return status
            if late:
                return None
        world.sleep(POLL_SECONDS)
