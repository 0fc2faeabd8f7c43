"""One step of watching an application: check it, and begin the resets that its failures need.

Each loop that watches an application takes this step: `streams run`, the ops that wait for units, Dagster's sensor, and
the process that awaits a trial. The loops differ in their pauses, their ends and their displays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn, TypeVar

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
from streams_orchestration.runtime.trials.advancing import advance_application
from streams_orchestration.runtime.units.failures import FailedAgainError, UnitFailure, find_failures
from streams_orchestration.runtime.units.reading import read_units
from streams_orchestration.runtime.units.reset_decisions import KnownFailure, ResetDecisions, decide_resets
from streams_orchestration.runtime.units.status import UnitsStatus

HEALING_SECONDS = 12.0
"""Seconds for which `await_reset` leaves a failure to others: two checks of Dagster's sensor."""

Seen = TypeVar("Seen", bound=UnitsStatus)


def supervise(
    check: Callable[[], Seen],
    known: Mapping[str, KnownFailure],
    begin: Callable[[UnitFailure], object],
    *,
    patience: float = 0.0,
    now: Callable[[], float] = clock.now,
) -> tuple[Seen, ResetDecisions]:
    """Check an application once, and begin the resets of its units that are due.

    Args:
        check: records the changes of the application's units, and returns its status.
        known: the `known` of the decisions of the last step; empty at the first one.
        begin: begins the reset that a failure needs; see `reset_failed_unit`.
        patience: seconds in which other processes may answer a failure first.
        now: the clock, in unix seconds.

    Returns:
        The status, and the decisions; all resets among them have begun.
    """
    status = check()
    decisions = decide_resets(status, now(), known, patience=patience)
    for failure in decisions.resets:
        begin(failure)
    return status, decisions


def advance_and_read_units(catalog: Catalog, application: str) -> UnitsStatus:
    """Record the changes of an application's units, and return their status.

    Raises:
        NotDeployedError: the application is not deployed.
        StreamsRuntimeError: a unit was removed meanwhile, or a rule of the protocol is broken.
    """
    advance_application(catalog, application)
    return read_units(catalog, application)


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
    known: Mapping[str, KnownFailure] = {}

    def check() -> UnitsStatus:
        """Return the status with this unit alone, without it once it has recovered, or raise UnitRemovedError."""
        status = advance_and_read_units(catalog, application)
        units = [each for each in status.units if each.name == unit]
        if not units:
            raise UnitRemovedError(application, unit)
        awaited = tuple(each for each in units if failed is None or not each.came_back_from(failed))
        return replace(status, units=awaited, pes=tuple(pe for pe in status.pes if awaited and pe.unit == unit))

    def reset_again(failure: UnitFailure) -> None:
        if not failure.gone or world.monotonic() > until:
            raise FailedAgainError(failure)
        say(f"{FailedAgainError(failure)}; it is reset again")
        reset_failed_unit(catalog, failure)

    while True:
        late = world.monotonic() > until
        try:
            status, decisions = supervise(check, known, reset_again, patience=HEALING_SECONDS)
            known = decisions.known
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


def _raise_why_late(status: UnitsStatus, unit: str, timeout: float) -> NoReturn:
    """Raise HostLaunchError with the reason why a unit does not work after `timeout` seconds."""
    for failure in find_failures(status, clock.now()):
        raise FailedAgainError(failure)
    require_machines(status)
    message = f"the PEs of {unit} did not all run after {timeout:.0f} s (logs: {status.log_places})"
    raise HostLaunchError(message)
