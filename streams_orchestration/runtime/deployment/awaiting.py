"""Waits until the hosts and PEs of an application have a wanted state."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, HostLaunchError, WaitingForMachineError
from streams_orchestration.runtime.trials.advancing import advance_units_and_trial
from streams_orchestration.runtime.units.failures import FailedAgainError, find_failures
from streams_orchestration.runtime.units.health import explain_host_failure, failure_of_pe
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.status import UnitsStatus

POLL_SECONDS = 0.1
FAILING_SECONDS = 3.0
"""Seconds for which a unit may be in need of a reset while its application starts. After that, the start has failed."""


def await_engines(catalog: Catalog, application: str, timeout: float) -> None:
    """Wait until no live host is still starting its engine, but at most `timeout` seconds.

    Raises:
        NotDeployedError: the application is not deployed.
        CatalogUnavailableError: the catalog cannot be used at the end.
    """

    def up(status: UnitsStatus) -> bool:
        return not any(host.alive and host.state == "STARTING" for host in status.hosts)

    await_status(catalog, application, timeout, up)


def await_running_pes(catalog: Catalog, application: str, timeout: float) -> UnitsStatus:
    """Wait until every PE runs or is complete, and update the states of units meanwhile.

    A bounded run that has read all its input, and has stopped, counts as running.

    Raises:
        HostLaunchError: a host or a PE failed, a unit needs a reset, the application was stopped, or the `timeout`
            seconds ran out; the message names the log. If no machine takes a host, it is a WaitingForMachineError. The
            failure of a unit counts once it has lasted for `FAILING_SECONDS`.
        StreamsRuntimeError: a unit was removed meanwhile, or a rule of the protocol is broken.
        NotDeployedError: the application is not deployed.
        CatalogUnavailableError: the catalog cannot be used at the end.
    """
    failing: dict[str, float] = {}  # unit -> the time at which its present failure was first seen

    def running(status: UnitsStatus) -> bool:
        if status.state == "STOPPED":
            if has_taken_all(catalog, application):
                return True
            message = f"{application} was stopped; run or deploy it again to continue"
            raise HostLaunchError(message)
        advance_units_and_trial(catalog, application)
        now = clock.now()
        _require_working(status, now)
        failures_now = {failure.unit: failure for failure in find_failures(status, now)}
        for name in failing.keys() - failures_now.keys():
            failing.pop(name)
        for name, failure in failures_now.items():
            if now - failing.setdefault(name, now) > FAILING_SECONDS:
                raise FailedAgainError(failure)
        return pes_run(status)

    status = await_status(catalog, application, timeout, running)
    if status is None:
        late = read_units(catalog, application)
        require_machines(late)
        message = f"the PEs of {application} did not all run after {timeout:.0f} s (logs: {late.log_places})"
        raise HostLaunchError(message)
    return status


def pes_run(status: UnitsStatus) -> bool:
    """Return True if every PE runs or is complete, and no unit needs a reset or is being reset."""
    if any(unit.row.broken for unit in status.units):
        return False
    return status.state == "COMPLETED" or all(pe.state in ("RUNNING", "COMPLETED") for pe in status.pes)


def has_taken_all(catalog: Catalog, application: str) -> bool:
    """Return True if the application's bounded run has read all its input."""
    a = tables.application
    with catalog.read() as connection:
        return connection.scalar(select(a.c.taken_at).where(a.c.name == application)) is not None


def _require_working(status: UnitsStatus, now: float) -> None:
    """Raise HostLaunchError if a host or a PE of a starting application does not work, or a host waits for a machine.

    The question is whether the start has failed. `find_failures` answers another one: whether a unit needs a reset. So
    a host or a PE that does not work is an error here at once, and the message names it with its log instead of its
    unit. A failed PE passes if the reset of its unit was taken up.
    """
    require_machines(status)
    for host in status.hosts:
        if (reason := explain_host_failure(host, now)) is not None:
            message = f"{status.application}: {reason} (log: {host.log_place})"
            raise HostLaunchError(message)
    taken_up = {unit.name for unit in status.units if unit.row.taken_up}
    for pe in status.pes:
        if pe.unit not in taken_up and (failure := failure_of_pe(pe.row)) is not None:
            message = f"{failure.reason} (log: {pe.log_place})"
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
