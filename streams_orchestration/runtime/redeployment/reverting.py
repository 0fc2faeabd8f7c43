"""Taking a redeploy back by hand: within its trial at its cut, later by a redeploy to the plan before."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy import update

from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_again
from streams_orchestration.compiler.documents import load
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import TrialRow
from streams_orchestration.runtime.deployment.control import launch
from streams_orchestration.runtime.errors import OtherVersionError, StreamsRuntimeError
from streams_orchestration.runtime.redeployment.redeploying import WITHIN_SECONDS, redeploy
from streams_orchestration.runtime.redeployment.trying import revert_open
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import application_row, opened_catalog
from streams_orchestration.runtime.units.trial import is_on_trial, read_trial

BY_HAND = "it was taken back by hand"


class NotRevertedError(StreamsRuntimeError):
    """There is no plan that could be brought back."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A plan that was deployed, and is no longer."""

    fingerprint: str
    cause: str


def on_trial(home: Home, application: str) -> bool:
    """Return True while the last redeploy of an application is not decided.

    Raises:
        NotDeployedError: the catalog does not know the application.
    """
    with opened_catalog(home, application).read() as connection:
        application_row(connection, home, application)
        return is_on_trial(connection, application)


def end_trial_by_hand(home: Home, application: str) -> bool:
    """Bring the plan before a redeploy on trial back, at its cut, and start what it needs.

    Returns:
        False if the redeploy is not on trial, or not any more; then nothing was changed.
    """
    if revert_open(opened_catalog(home, application), application, BY_HAND) is None:
        return False
    launch(home, application)
    return True


def plan_before(home: Home, application: str) -> Deployable:
    """Return the plan before the last redeploy, once that is no longer on trial, compiled as it was then.

    The code of its operators is what can be imported now.

    Raises:
        NotRevertedError: none is kept; says why.
        NotDeployedError: the catalog does not know the application.
        OtherVersionError: another version of the product has written it.
        ApplicationError: it cannot run here any more.
    """
    with opened_catalog(home, application).read() as connection:
        application_row(connection, home, application)
        trial = read_trial(connection, application)
    if trial is None or trial.earlier is None:
        raise NotRevertedError(_refusal(application, trial))
    try:
        compilation = load(Compilation, trial.earlier)
    except ValidationError as error:
        raise OtherVersionError(application) from error
    return deployable(compile_again(compilation))


def bring_back(home: Home, application: str, *, drop: Collection[str] = ()) -> Redeployment | None:
    """Restore the plan from before the last redeploy: at its cut during the trial, else by a redeploy.

    Returns:
        The redeploy; None during the trial, in which no state is lost.

    Raises:
        What `plan_before` and `return_to` raise.
    """
    if on_trial(home, application) and end_trial_by_hand(home, application):
        return None
    return return_to(home, plan_before(home, application), drop=drop)


def return_to(
    home: Home, before: Deployable, *, drop: Collection[str] = (), within: float = WITHIN_SECONDS
) -> Redeployment:
    """Redeploy to the plan before: it goes on where the application stands, with the state of now.

    Args:
        home: the state directory.
        before: see `plan_before`.
        drop: operators whose state may be lost.
        within: see `redeploy`.

    Raises:
        What `redeploy` raises.
    """
    catalog = opened_catalog(home, before.name)
    with catalog.read() as connection:
        left = application_row(connection, home, before.name).fingerprint
    redeployment = redeploy(home, before, drop=drop, within=within)
    if left != before.fingerprint:
        t = tables.trial
        with catalog.write() as connection:
            connection.execute(update(t).where(t.c.application == before.name).values(taken_back=left))
    return redeployment


def taken_back(home: Home, application: str) -> TakenBack | None:
    """Return the plan that the last redeploy has tried in vain, or has taken back; None where there is none.

    Raises:
        NotDeployedError: the catalog does not know the application.
    """
    with opened_catalog(home, application).read() as connection:
        trial = read_trial(connection, application)
    if trial is None:
        return None
    if trial.state == "REVERTED":
        return TakenBack(trial.fingerprint, trial.cause or "")
    return None if trial.taken_back is None else TakenBack(trial.taken_back, BY_HAND)


def _refusal(application: str, trial: TrialRow | None) -> str:
    if trial is None:
        return f"{application}: there is no plan before that could be brought back: it was not redeployed yet"
    ended = time.strftime("%H:%M:%S", time.localtime(trial.ended_at or 0.0))
    if trial.state == "REVERTED":
        return f"{application}: the plan before is back already, since {ended}: {trial.cause}"
    return f"{application}: the plan before is not kept. Redeploy the former spec, then state is kept, too"
