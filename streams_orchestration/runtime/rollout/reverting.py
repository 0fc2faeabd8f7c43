"""Manual revert of a redeploy: a return to its cut during the trial, or another redeploy after the trial.

`revert_redeploy` first ends the trial (`end_trial_by_hand`). It does so without the start lock, since the process that
redeploys holds the lock until the trial is decided. If the trial is over, it takes the lock. Then it compiles the
previous plan (`recompile_previous_plan`), and its caller brings this plan up with the request `Revert`. So a redeploy
that was awaited for the lock is the one that is reverted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import recompile
from streams_orchestration.compiler.documents import load
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import TrialRow
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.catalog.trials import is_on_trial, read_trial
from streams_orchestration.runtime.deployment.control import launch_hosts
from streams_orchestration.runtime.deployment.lasting_hosts import require_lasting_hosts
from streams_orchestration.runtime.errors.errors import OtherVersionError, StreamsRuntimeError
from streams_orchestration.runtime.trials.trial import revert_open
from streams_orchestration.runtime.units.reading import application_row

BY_HAND = "it was reverted by hand"

Redeployed = TypeVar("Redeployed")


class NotRevertedError(StreamsRuntimeError):
    """There is no previous plan to restore."""


@dataclass(frozen=True, slots=True)
class RevertedPlan:
    """A plan that was deployed and then reverted."""

    fingerprint: str
    cause: str


def is_redeploy_on_trial(catalog: Catalog, application: str) -> bool:
    """Return True while the trial of the last redeploy of an application is not decided.

    Raises:
        NotDeployedError: the catalog does not know the application.
    """
    with catalog.read() as connection:
        application_row(connection, catalog.home, application)
        return is_on_trial(connection, application)


def revert_redeploy(
    catalog: Catalog,
    application: str,
    take_lock: Callable[[], AbstractContextManager[StartLock]],
    redeploy: Callable[[StartLock, Deployable], Redeployed],
) -> Redeployed | None:
    """Restore the previous plan: at its cut while its successor is on trial, otherwise by another redeploy.

    Args:
        catalog: the catalog.
        application: the name of the application.
        take_lock: takes the start lock of the application, after the trial.
        redeploy: brings the previous plan up under that lock.

    Returns:
        The result of `redeploy`; None if a trial was reverted.

    Raises:
        ApplicationError: the application can no longer run here.
        NotDeployedError: the catalog does not know the application.
        StreamsRuntimeError: there is no previous plan, or another version of the product wrote it; hosts would end with
            this process, or cannot be started; or the return to the previous plan breaks a rule of the protocol.
        Exception: taking the lock or the redeploy fails.
    """
    if end_trial_by_hand(catalog, application):
        return None
    with take_lock() as lock:
        return redeploy(lock, recompile_previous_plan(catalog, application))


def end_trial_by_hand(catalog: Catalog, application: str) -> bool:
    """Restore the previous plan of a redeploy on trial, at its cut, and start the hosts that it needs.

    Returns:
        False if the trial is over, so that only a redeploy to the previous plan restores it. Then nothing was changed.

    Raises:
        NotDeployedError: the catalog does not know the application.
        StreamsRuntimeError: hosts would end with this process, and no machine is registered, so nothing was changed; no
            previous plan is kept; or its return breaks a rule of the protocol. Or a host cannot be started; then the
            previous plan is restored all the same.
    """
    require_lasting_hosts(catalog, application)
    if not revert_open(catalog, application, BY_HAND):
        _require_previous_plan(catalog, application)  # before the caller waits for the start lock
        return False
    launch_hosts(catalog, application)
    return True


def recompile_previous_plan(catalog: Catalog, application: str) -> Deployable:
    """Compile the stored previous plan again, after the trial of its successor.

    The code of its operators is imported again, so it may have changed since.

    Raises:
        NotRevertedError: no previous plan is kept; the message gives the reason.
        NotDeployedError: the catalog does not know the application.
        OtherVersionError: another version of the product wrote the plan.
        ApplicationError: the application can no longer run here.
    """
    try:
        compilation = load(Compilation, _require_previous_plan(catalog, application))
    except ValidationError as error:
        raise OtherVersionError(application) from error
    return deployable(recompile(compilation))


def _require_previous_plan(catalog: Catalog, application: str) -> bytes:
    """Return the stored compilation of the previous plan, or refuse the revert."""
    with catalog.read() as connection:
        application_row(connection, catalog.home, application)
        trial = read_trial(connection, application)
    if trial is None or trial.earlier is None:
        raise NotRevertedError(_refusal(application, trial))
    return trial.earlier


def read_reverted_plan(catalog: Catalog, application: str) -> RevertedPlan | None:
    """Return the plan that the last trial or manual revert has undone, with the cause.

    None if there is none, or the catalog does not know the application.
    """
    with catalog.read() as connection:
        trial = read_trial(connection, application)
    if trial is None:
        return None
    if trial.state == "REVERTED":
        return RevertedPlan(trial.fingerprint, trial.cause or "")
    return None if trial.taken_back is None else RevertedPlan(trial.taken_back, BY_HAND)


def _refusal(application: str, trial: TrialRow | None) -> str:
    if trial is None:
        return f"{application}: there is no previous plan to restore, since it was never redeployed"
    ended = time.strftime("%H:%M:%S", time.localtime(trial.ended_at or 0.0))
    if trial.state == "REVERTED":
        return f"{application}: the previous plan was restored already, at {ended}: {trial.cause}"
    return f"{application}: the previous plan is no longer kept. Redeploy the former spec, which also keeps the state"
