"""The requests to deploy an application. The command line and Dagster make them; `deploy_plan` carries them out.

A request tells how the application begins, and which changes of the deployed plan and state are allowed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from streams_orchestration.runtime.deployment.run_kinds import ENDLESS, RunKind
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError

REDEPLOY_TIMEOUT_SECONDS = 120.0
"""Default seconds for the changed units to reach their cuts, and then to complete an epoch of the new plan."""


class RequestError(StreamsRuntimeError):
    """The parts of a request exclude one another."""


@dataclass(frozen=True, slots=True)
class ContinueFromState:
    """The application continues from its state, or begins without state if it was never deployed.

    The request is refused if another plan is deployed.
    """

    run: RunKind = ENDLESS
    """The kind of run that begins."""


@dataclass(frozen=True, slots=True)
class StartOver:
    """The state and the published results of the application are dropped, and it begins without state."""

    run: RunKind = ENDLESS
    """The kind of run that begins."""


@dataclass(frozen=True, slots=True)
class FromSavepoint:
    """The application begins with the state of a savepoint."""

    savepoint: str
    """The savepoint, as `find_savepoint` finds it. Of several with one name, the application's own is taken."""
    drop_state: Collection[str] = ()
    """Names of operators whose saved state may be lost."""
    fresh: bool = False
    """True to drop the deployed application first, as `StartOver` does; False to refuse if it is deployed."""
    run: RunKind = ENDLESS
    """The kind of run that begins."""


@dataclass(frozen=True, slots=True)
class Redeploy:
    """The plan replaces the deployed one, and the state is kept; an application that is not deployed begins."""

    run: ClassVar[RunKind] = ENDLESS
    drop_state: Collection[str] = ()
    """Names of operators whose state may be lost."""
    within: float = REDEPLOY_TIMEOUT_SECONDS
    """Seconds for the changed units to reach their cuts, and then to complete an epoch."""


@dataclass(frozen=True, slots=True)
class Revert:
    """The previous plan replaces the deployed one as by `Redeploy`, and the deployed one is recorded as reverted."""

    run: ClassVar[RunKind] = ENDLESS
    drop_state: Collection[str] = ()
    """Names of operators whose state may be lost."""
    within: float = REDEPLOY_TIMEOUT_SECONDS
    """Seconds for the changed units to reach their cuts, and then to complete an epoch."""


Request = ContinueFromState | StartOver | FromSavepoint | Redeploy | Revert


def build_request(
    *,
    savepoint: str | None = None,
    fresh: bool = False,
    replace: bool = False,
    revert: bool = False,
    drop_state: Collection[str] = (),
    within: float = REDEPLOY_TIMEOUT_SECONDS,
    run: RunKind = ENDLESS,
) -> Request:
    """Return the request that the options of a command, or the config of a Dagster op, make.

    Args:
        savepoint: the savepoint with which the application begins; None or empty for none.
        fresh: drop the state and the results of earlier runs.
        replace: let the plan replace another deployed one. A fresh start keeps no plan, and a bounded run replaces
            none.
        revert: restore the previous plan.
        drop_state: names of operators whose state may be lost.
        within: seconds for the changed units to reach their cuts, and then to complete an epoch.
        run: the kind of run that begins.

    Raises:
        RequestError: the previous plan would be restored without its state; or `drop_state` is given, but no state
            is carried over.
    """
    if revert:
        if fresh or savepoint:
            message = "--revert restores the previous plan with its options and its state. Leave --fresh and --from out"
            raise RequestError(message)
        return Revert(drop_state, within)
    if savepoint:
        return FromSavepoint(savepoint, drop_state, fresh, run)
    if replace and not fresh and not run.available_now:
        return Redeploy(drop_state, within)
    if drop_state:
        message = (
            "--drop-state applies to the state of a savepoint (--from), or to a plan that replaces the deployed one "
            "without --fresh. Leave it out"
        )
        raise RequestError(message)
    return StartOver(run) if fresh else ContinueFromState(run)
