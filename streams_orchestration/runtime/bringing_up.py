"""Brings an application up: the common use case of run, deploy, redeploy and restore, and of Dagster's deployment."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.deployment.deployment import deploy, go_on
from streams_orchestration.runtime.deployment.opening import open_application
from streams_orchestration.runtime.deployment.run_kinds import ENDLESS, RunKind
from streams_orchestration.runtime.redeployment.redeploying import REDEPLOY_TIMEOUT_SECONDS, redeploy
from streams_orchestration.runtime.savepoints.atomic_places import savepoint_of
from streams_orchestration.runtime.savepoints.restoring import Restored, restore
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.trial import record_taken_back


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The state that an application begins with, and what may happen to the plan and state that are deployed."""

    fresh: bool = False
    """True to drop the state of the application and its published results first."""
    savepoint: str | None = None
    """The savepoint from which the application continues, as `savepoint_of` finds it; None for its own state.

    Of several savepoints with one name, the application's own is taken. A savepoint is refused while the application is
    deployed, unless `fresh` is set.
    """
    replaces: bool = False
    """True to replace another deployed plan and keep its state; False to refuse to start beside another plan."""
    reverts: bool = False
    """True to replace the deployed plan as `replaces` does, and to record that it was taken back by hand."""
    drop: Collection[str] = ()
    """Names of operators whose state may be lost when a plan is replaced or a savepoint is restored."""
    within: float = REDEPLOY_TIMEOUT_SECONDS
    """Seconds in which the units that a replaced plan changes must reach their cuts, and then complete an epoch."""
    run: RunKind = ENDLESS
    """The kind of run that begins."""


GO_ON = Request()
"""The default request: the application continues from its state, or starts without state if it was never deployed."""


@dataclass(frozen=True, slots=True)
class BroughtUp:
    """The outcome of bringing an application up."""

    redeployment: Redeployment | None = None
    """The effects of the new plan on the deployed one; None if the request replaces no deployed plan."""
    restored: Restored | None = None
    """The savepoint that the application began from; None if it began without a savepoint."""


def bring_up(home: Home, lock: StartLock, wanted: Deployable, request: Request = GO_ON) -> BroughtUp:
    """Write an application into the catalog as the one to run under its name; `launch` then starts its hosts.

    If a plan is replaced, the call also starts the hosts that the redeploy needs, and waits until its trial is decided.
    A manual revert records the plan that it took back.
    Repeating a call that has succeeded keeps plan and state, unless the request is `fresh`. A repeated request that
    names a savepoint is refused, unless it is `fresh`.

    Args:
        home: the state directory.
        lock: the start lock of the application, so that no other process changes the deployment meanwhile.
        wanted: the application.
        request: the state that it begins with.

    Raises:
        NotDeployableError: see `open_application`, `deploy`, `redeploy` and `go_on`.
        ImplementationError, ValidationError: see `open_application` and `deploy`.
        OSError: the request is `fresh`, and a published result cannot be removed; see `forget`.
        ApplicationChangedError: another plan is deployed, and the request does not replace it.
        OtherVersionError: another version of the product wrote the deployed plan.
        RedeployRefusedError, RevertedError, NotDrainedError, NotWrittenError, OnTrialError, NotDeployedError,
        HostLaunchError, OperatorError: see `redeploy`.
        SavepointError: see `savepoint_of` and `restore`.
        DropStateError: `drop` names an operator whose state would not be lost.
        StateRefusedError, MisplacedKeysError: a state does not fit the new plan.
        ApplicationError: Spark refuses a query.
        AnalysisError: Spark could not analyse the queries.
        JavaError: this machine has no Java that Spark can use.
        SettingError: a setting in the environment cannot be used.
        StateDirectoryError, CatalogError: the home cannot be used.
    """
    place = None if request.savepoint is None else savepoint_of(home, request.savepoint, lock.application)
    opened = open_application(home, lock, wanted, request.run)
    redeployment, restored = None, None
    if place is not None:
        restored = restore(opened, place, drop=request.drop, fresh=request.fresh)
    elif request.reverts:
        redeployment = redeploy(opened, drop=request.drop, within=request.within)
        record_taken_back(opened.catalog, redeployment)
    elif request.fresh or not opened.deployed:
        deploy(opened, fresh=request.fresh)
        return BroughtUp()
    elif request.replaces:
        redeployment = redeploy(opened, drop=request.drop, within=request.within)
    # records the kind of run, and the Imports and Exports of the plan that is deployed now
    go_on(opened)
    return BroughtUp(redeployment, restored)
