"""The trial of a new plan: failed hosts and units are restarted until the trial is decided."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.outage import Outage
from streams_orchestration.runtime.catalog.rows import TrialRow
from streams_orchestration.runtime.catalog.trials import is_on_trial, read_trial
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.awaiting import require_machines
from streams_orchestration.runtime.deployment.control import cancel_application, launch_hosts
from streams_orchestration.runtime.deployment.reset import NotResetError, reset_failed_unit
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, HostLaunchError, StreamsRuntimeError
from streams_orchestration.runtime.trials.advancing import advance_and_read_units
from streams_orchestration.runtime.trials.trial import revert_open
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration.runtime.units.reading import application_row, units_status
from streams_orchestration.runtime.units.reset_decisions import SENSOR_GRACE_SECONDS, Resetter

POLL_SECONDS = 0.5

log = logging.getLogger("streams.redeploy")


class OnTrialError(StreamsRuntimeError):
    """A redeploy on trial cannot be decided, because the application is stopped."""

    def __init__(self, application: str) -> None:
        super().__init__(
            f"{application} was stopped while its last redeploy was on trial. Run it again until the trial is "
            f"decided, or revert the redeploy with `streams redeploy {application} --revert`"
        )


def supervise_former_trial(catalog: Catalog, application: str) -> None:
    """Supervise a trial whose process has died; do nothing if no trial is open.

    The caller holds the start lock, so the process of an open trial is no longer there. For errors see
    `supervise_trial`.
    """
    with catalog.read() as connection:
        was_open = is_on_trial(connection, application)
    if was_open:
        supervise_trial(catalog, application)


def supervise_trial(catalog: Catalog, application: str, *, was_stopped: bool = False) -> TrialRow | None:
    """Reset failed units until the trial of an application's last redeploy is decided; return it, or None without one.

    If a host cannot be started for a reset, or no machine takes it, the trial is reverted. If the previous plan was
    restored, here or by another process, its hosts are started.

    Args:
        catalog: the catalog.
        application: the name of the application.
        was_stopped: True to stop the application after a revert instead, because it was stopped before the redeploy.

    Raises:
        NotDeployedError: the application is not deployed.
        CatalogUnavailableError: the catalog cannot be used for minutes. Other processes decide the trial.
        StreamsRuntimeError: a trial is open, and the application is stopped; a host cannot be started; another version
            of the product wrote the program of a PE; a unit was removed meanwhile; or a rule of the protocol is broken.
    """
    resetter = Resetter(partial(_reset_or_revert, catalog), SENSOR_GRACE_SECONDS)
    outage = Outage()
    while True:
        try:
            mark = catalog.changes.mark()
            status = advance_and_read_units(catalog, application)
            resetter.request_resets(status, clock.now())
            with catalog.read() as connection:
                trial = read_trial(connection, application)
            outage.end()
            if trial is None or trial.state != "OPEN":
                break
            if status.state == "STOPPED":
                raise OnTrialError(application)
            catalog.changes.wait(mark, POLL_SECONDS)
        except CatalogUnavailableError as error:
            outage.wait_or_raise(error)
    if trial is not None and trial.state == "REVERTED":
        if was_stopped:
            cancel_application(catalog, application)
        else:
            launch_hosts(catalog, application)
    return trial


def _reset_or_revert(catalog: Catalog, failure: UnitFailure) -> None:
    """Reset a failed unit, or log why it cannot be reset; revert the trial if a host cannot be started for that."""
    try:
        with reverted_without_hosts(catalog, failure.application):
            reset_failed_unit(catalog, failure)
    except NotResetError as error:  # the trial is decided nevertheless
        log.warning("%s", error)


@contextmanager
def reverted_without_hosts(catalog: Catalog, application: str) -> Generator[None]:
    """Revert the trial if the block cannot start a host, or no machine takes one.

    The caller starts or stops the hosts of the restored plan.

    Raises:
        HostLaunchError: the block cannot start a host, and no trial is open.
        NotDeployedError: the application is not deployed.
        StreamsRuntimeError: the return to the previous plan breaks a rule of the protocol.
    """
    try:
        yield
        with catalog.read() as connection:
            if is_on_trial(connection, application):
                row = application_row(connection, catalog.home, application)
                require_machines(units_status(connection, catalog.home, row))
    except HostLaunchError as error:
        if not revert_open(catalog, application, str(error)):
            raise
