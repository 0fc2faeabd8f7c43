"""Manual revert of a redeploy: a return to its cut during the trial, or another redeploy after the trial.

The caller first ends the trial (`end_trial_by_hand`). It does so without the start lock, since the process that
redeploys holds the lock until the trial is decided. If the trial is over, the caller takes the lock, compiles the
previous plan (`recompile_previous_plan`), and deploys this plan with the request `Revert`. So a redeploy that was
awaited for the lock is the one that is reverted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from pydantic import ValidationError

from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import recompile
from streams_orchestration.compiler.documents import load
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import TrialRow
from streams_orchestration.runtime.catalog.trials import is_on_trial, read_trial
from streams_orchestration.runtime.deployment.control import launch_hosts
from streams_orchestration.runtime.deployment.lasting_hosts import require_lasting_hosts
from streams_orchestration.runtime.errors.errors import OtherVersionError, StreamsRuntimeError
from streams_orchestration.runtime.trials.trial import revert_open
from streams_orchestration.runtime.units.reading import application_row

BY_HAND = "it was reverted by hand"


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
