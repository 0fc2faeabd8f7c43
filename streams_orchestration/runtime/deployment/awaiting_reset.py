"""Waits until a unit that was reset works again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from streams_orchestration import world
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.awaiting import (
    POLL_SECONDS,
    has_taken_all,
    pes_run,
    require_machines,
)
from streams_orchestration.runtime.deployment.reset import reset_failed_unit
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, HostLaunchError, UnitRemovedError
from streams_orchestration.runtime.trials.advancing import advance_and_read_units
from streams_orchestration.runtime.units.failures import FailedAgainError, UnitFailure, find_failures
from streams_orchestration.runtime.units.reset_decisions import Resetter
from streams_orchestration.runtime.units.status import UnitsStatus

HEALING_SECONDS = 12.0
"""Seconds for which `await_reset` leaves a failure to others: two checks of Dagster's sensor."""


def await_reset(
    catalog: Catalog, application: str, unit: str, failed: int | None, timeout: float, say: Callable[[str], object]
) -> None:
    """Wait until every PE of a unit works again, and reset the unit again if its host is gone meanwhile.

    A bounded run that has read all its input, and has stopped, counts as working.

    Args:
        catalog: the catalog.
        application: name of the application.
        unit: the unit that was reset.
        failed: the generation in which it failed; the wait ends as soon as the unit has recovered from it. None to wait
            until the PEs run.
        timeout: most seconds to wait.
        say: called with a text about another reset.

    Raises:
        HostLaunchError: the unit does not work after the timeout, or has failed again and must not be reset; or nobody
            has reset it for `HEALING_SECONDS` although its hosts work. If no machine takes a host, it is a
            WaitingForMachineError.
        NotDeployedError: the application is not deployed.
        CatalogUnavailableError: the catalog cannot be used at the end.
        StreamsRuntimeError: a redeploy has removed the unit, so nothing is left that could work again; or the unit
            cannot be reset.
    """
    until = world.monotonic() + timeout

    def reset_again(failure: UnitFailure) -> None:
        if not failure.gone or world.monotonic() > until:
            raise FailedAgainError(failure)
        say(f"{FailedAgainError(failure)}; it is reset again")
        reset_failed_unit(catalog, failure)

    resetter = Resetter(reset_again, HEALING_SECONDS)
    while True:
        late = world.monotonic() > until
        try:
            status = _status_of(advance_and_read_units(catalog, application), unit, failed)
            decisions = resetter.request_resets(status, clock.now())
            if not status.units or (status.state == "STOPPED" and has_taken_all(catalog, application)):
                return
        except CatalogUnavailableError:
            if late:
                raise
        else:
            if status.state == "STOPPED":
                message = f"{application} was stopped; run or deploy it again to continue"
                raise HostLaunchError(message)
            for failure in decisions.exhausted:
                raise FailedAgainError(failure)
            if pes_run(status):
                return
            if late:
                _raise_why_late(status, unit, timeout)
        world.sleep(POLL_SECONDS)


def _status_of(status: UnitsStatus, unit: str, failed: int | None) -> UnitsStatus:
    """Return the status with one unit alone, without it once it has recovered from its generation `failed`.

    Raises UnitRemovedError if there is no such unit.
    """
    units = [each for each in status.units if each.name == unit]
    if not units:
        raise UnitRemovedError(status.application, unit)
    awaited = tuple(each for each in units if failed is None or not each.came_back_from(failed))
    return replace(status, units=awaited, pes=tuple(pe for pe in status.pes if awaited and pe.unit == unit))


def _raise_why_late(status: UnitsStatus, unit: str, timeout: float) -> NoReturn:
    """Raise HostLaunchError with the reason why a unit does not work after `timeout` seconds."""
    for failure in find_failures(status, clock.now()):
        raise FailedAgainError(failure)
    require_machines(status)
    message = f"the PEs of {unit} did not all run after {timeout:.0f} s (logs: {status.log_places})"
    raise HostLaunchError(message)
