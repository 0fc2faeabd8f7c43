"""Brings an application up: the common use case of run, deploy, redeploy and restore, and of Dagster's deployment."""

from __future__ import annotations

from typing import TypeAlias

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.deployment.control import launch_hosts
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
from streams_orchestration.runtime.redeployment.redeploying import PlanOnTrial, accept_redeploy, replace_plan, try_out
from streams_orchestration.runtime.redeployment.trial_supervision import settle_former_trial
from streams_orchestration.runtime.savepoints.atomic_places import find_savepoint
from streams_orchestration.runtime.savepoints.restoring import RestoredApplication, restore

BroughtUp: TypeAlias = RestoredApplication | Redeployment | None
"""The outcome of bringing an application up.

It is the savepoint from which the application began; or the effects of the wanted plan on the deployed one, if that was
to be replaced; or None after any other request.
"""


def bring_up(
    catalog: Catalog, lock: StartLock, wanted: Deployable, request: Request, *, asked_at: float | None = None
) -> BroughtUp:
    """Make an application the one that is to run under its name, and start its missing hosts.

    If its plan replaces another one, its hosts are started by the trial, and this waits until the trial is decided.

    Args:
        catalog: the catalog, which may not exist yet.
        lock: the start lock of the application, so that no other process changes the deployment meanwhile.
        wanted: the application.
        request: how it begins, and the changes of the deployed plan and state that are allowed.
        asked_at: the time at which the command was entered, in unix seconds; the start-up time counts from there.

    Raises:
        HostLaunchError, JavaError: a host could not be started on this machine.
        RevertedError: the new plan failed its trial, and the previous plan was restored.
        StreamsRuntimeError, ApplicationError, ValueError, OSError: the plan cannot be written; `write_and_try_out` has
            the conditions.
    """
    written = _write(catalog, lock, wanted, request)
    if isinstance(written, PlanOnTrial):
        return try_out(written)
    launch_hosts(catalog, wanted.name, asked_at=asked_at)
    return written


def write_and_try_out(catalog: Catalog, lock: StartLock, wanted: Deployable, request: Request) -> BroughtUp:
    """Write an application into the catalog as the one to run under its name; try its plan out if it replaces another.

    The trial starts hosts of the new plan, since it is decided under the start lock. A redeploy may also start missing
    hosts of the deployed plan: to settle a former trial, or to drain units to their cuts. In all other courses
    `launch_hosts` is left to the caller. Repeating a call that has succeeded keeps plan and state, unless the request
    starts over. A repeated start from a savepoint is refused, unless it is `fresh`.

    Args:
        catalog: the catalog, which may not exist yet.
        lock: the start lock of the application.
        wanted: the application.
        request: how it begins, and the changes of the deployed plan and state that are allowed.

    Raises:
        SavepointError: the savepoint is missing, ambiguous or damaged, or does not fit the application.
        RedeployRefusedError: state would be lost that the request does not name.
        RevertedError: the new plan failed its trial, and the previous plan was restored.
        StreamsRuntimeError: the application cannot run here; another plan is deployed, and the request does not replace
            it, or another version of the product wrote it; a state cannot be read or written, or does not fit the new
            plan; the changed units do not reach their cuts in time; hosts cannot be started; the application is
            complete, or was stopped, removed or changed meanwhile; a rule of the protocol is broken; or the state
            directory or the catalog cannot be used.
        ApplicationError: Spark refuses a query.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        ValueError: the time zone changes, and the filter of an Import is wrong.
        OSError: the state is to be dropped, and a published result cannot be removed; the application is stopped.
    """
    written = _write(catalog, lock, wanted, request)
    return try_out(written) if isinstance(written, PlanOnTrial) else written


def _write(catalog: Catalog, lock: StartLock, wanted: Deployable, request: Request) -> BroughtUp | PlanOnTrial:
    """Write an application into the catalog, in one course for each kind of request.

    Return the plan on trial if it has replaced another one; else the outcome, whose hosts `launch_hosts` starts.
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
            return restore(opened, place, drop_state=drop_state, fresh=fresh)
        case Redeploy() | Revert():
            settle_former_trial(opened.catalog, opened.name)
            redeployment = accept_redeploy(opened, request)
            if redeployment.replaces_plan:
                return replace_plan(opened, redeployment, request)
            continue_from_state(opened)
            return redeployment
    return None
