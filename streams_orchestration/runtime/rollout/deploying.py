"""Deploys a plan: the common use case of run, deploy, redeploy, revert and restore, and of Dagster's deployment."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.deployment.deployment import continue_from_state, write_first_plan
from streams_orchestration.runtime.deployment.opening import open_application
from streams_orchestration.runtime.deployment.requests import (
    ContinueFromState,
    FromSavepoint,
    Redeploy,
    Request,
    Revert,
    StartOver,
)
from streams_orchestration.runtime.redeployment.redeploying import redeploy
from streams_orchestration.runtime.savepoints.atomic_places import find_savepoint
from streams_orchestration.runtime.savepoints.restoring import RestoredApplication, restore


@dataclass(frozen=True, slots=True)
class Deployment:
    """The outcome of a deployment."""

    restored: RestoredApplication | None = None
    """The savepoint from which the application began; None if no savepoint was requested."""
    redeployment: Redeployment | None = None
    """The effects of the wanted plan on the deployed one; None if it was not to replace a deployed plan."""


def deploy_plan(catalog: Catalog, lock: StartLock, wanted: Deployable, request: Request) -> Deployment:
    """Make the plan of an application the one that is to run under its name; `launch_hosts` starts its missing hosts.

    If the plan replaces another one, this waits until the trial of the plan is decided, which needs the start lock.
    Then the hosts run, since the trial has started them. Repeating a call that has succeeded keeps plan and state,
    unless the request starts over. A repeated start from a savepoint is refused, unless it is `fresh`.

    Args:
        catalog: the catalog, which may not exist yet.
        lock: the start lock of the application, so that no other process changes the deployment meanwhile.
        wanted: the application.
        request: how it begins, and the changes of the deployed plan and state that are allowed.

    Raises:
        RedeployRefusedError: state would be lost that the request does not name.
        RevertedError: the new plan failed its trial, and the previous plan was restored.
        StreamsRuntimeError: the plan cannot be deployed. Each cause has a subclass.
        ApplicationError: Spark refuses a query.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        ValueError: the time zone changes, and the filter of an Import is wrong.
        OSError: the state is to be dropped, and a published result cannot be removed; the application is stopped.
    """
    opened = open_application(catalog, lock, wanted, request.run)
    match request:
        case StartOver():
            write_first_plan(opened, fresh=True)
        case ContinueFromState() | Redeploy() if not opened.deployed:
            write_first_plan(opened)
        case ContinueFromState():
            continue_from_state(opened)
        case FromSavepoint(savepoint, drop_state, fresh):
            place = find_savepoint(catalog.home, savepoint, opened.name)
            return Deployment(restored=restore(opened, place, drop_state=drop_state, fresh=fresh))
        case Redeploy() | Revert():
            return Deployment(redeployment=redeploy(opened, request))
    return Deployment()
