"""Redeploying: a new plan replaces the running one, and keeps state, positions and results."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from streams_orchestration import world
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.redeployment.numbered import at_run_time
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.deployment.control import cancel_application, launch_hosts
from streams_orchestration.runtime.deployment.deployment import continue_from_state, continue_if_stopped
from streams_orchestration.runtime.deployment.opening import OpenedApplication
from streams_orchestration.runtime.deployment.query_columns import add_query_columns
from streams_orchestration.runtime.deployment.requests import Redeploy, Revert
from streams_orchestration.runtime.deployment.run_kinds import ENDLESS, record_run_kind
from streams_orchestration.runtime.errors.errors import (
    RedeployRefusedError,
    RevertedError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes
from streams_orchestration.runtime.programs.stored_compilation import base_directory
from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
from streams_orchestration.runtime.redeployment.draining import drain, postpone_if_drained, units_on_hold
from streams_orchestration.runtime.redeployment.state_migration import (
    Carrier,
    StateNotWrittenError,
    read_cut,
    removed_on_failure,
)
from streams_orchestration.runtime.redeployment.switching import NewPlan, NotAtCutError, require_incomplete, switch
from streams_orchestration.runtime.redeployment.trial_supervision import (
    reverted_without_hosts,
    supervise_former_trial,
    supervise_trial,
)
from streams_orchestration.runtime.storage.store import remove_files
from streams_orchestration.runtime.trials.trial import record_revert
from streams_orchestration.runtime.units.holding import HeldUnits, hold_units

log = logging.getLogger("streams.redeploy")


class NotDrainedError(StreamsRuntimeError):
    """The changed units did not reach their cuts in time. They continue with the deployed plan."""

    def __init__(self, application: str, rest: str, within: float) -> None:
        super().__init__(
            f"{application} keeps running unchanged: {rest} after {within:.0f} s. See `streams status {application}` "
            "for the cause of the delay, then redeploy again"
        )


class NotWrittenError(StreamsRuntimeError):
    """A state of the new plan could not be written. Nothing was changed."""

    def __init__(self, application: str, error: StateNotWrittenError) -> None:
        super().__init__(f"{application} keeps running unchanged: {error}. Make room there, then redeploy it again")


@dataclass(frozen=True, slots=True)
class PlanChange:
    """An accepted redeploy: the units that change, the new plan, and the decisions about units and states."""

    held: HeldUnits
    """The deployed units that change. They are held from the drain to the switch."""
    after: PlannedCompilation
    """The new plan, with its run-time numbers."""
    redeployment: Redeployment
    within: float
    """Seconds for the changed units to reach their cuts, and then to complete an epoch."""
    until: float
    """The time of the monotonic clock at which the changed units must be at their cuts."""


def redeploy(opened: OpenedApplication, request: Redeploy | Revert) -> Redeployment:
    """Replace the deployed plan, and wait until the trial of the new one is decided; return the redeploy and its pause.

    First, an open trial of an earlier redeploy is decided. If the wanted plan is the deployed one, the application only
    continues. If a unit of the new plan fails to complete an epoch, the previous plan is restored. If the new plan
    stays, a bounded run becomes an endless one, and a revert by hand is recorded.

    Args:
        opened: the deployed application, with the new plan.
        request: the state that may be lost, and the seconds that the drain and the trial may take.

    Raises:
        RedeployRefusedError: state would be lost that the request does not name.
        RevertedError: the previous plan was restored. An application that was stopped before is stopped again.
        CatalogUnavailableError: the catalog cannot be used for minutes. Other processes decide an open trial.
        StreamsRuntimeError: the plan cannot be replaced, or a trial cannot be decided. Each cause has a subclass.
        ApplicationError: Spark refuses a query.
        ImplementationError, ValidationError: an operator of the new plan cannot be imported, or has other parameters.
        ValueError: the time zone changes, and the filter of an Import is wrong.
    """
    catalog, application = opened.catalog, opened.name
    supervise_former_trial(catalog, application)
    redeployment = preview_redeploy(catalog, opened.wanted, request.drop_state)
    if not redeployment.acceptable:
        raise RedeployRefusedError(redeployment)
    if not redeployment.replaces_plan:
        continue_from_state(opened)
        return redeployment
    was_stopped = replace_plan(opened, redeployment, request.within)
    with reverted_without_hosts(catalog, application):
        launch_hosts(catalog, application)
    trial = supervise_trial(catalog, application, was_stopped=was_stopped)
    if trial is not None and trial.state == "REVERTED":
        raise RevertedError(redeployment, trial.cause or "")
    with catalog.write() as connection:
        record_run_kind(connection, application, ENDLESS)
        if isinstance(request, Revert):
            record_revert(connection, redeployment)
    return redeployment if trial is None else replace(redeployment, measured_seconds=trial.pause)


def replace_plan(opened: OpenedApplication, redeployment: Redeployment, within: float) -> bool:
    """Replace the deployed plan by a new one, which is on trial then; return True if the application was stopped.

    Unchanged units keep running. The others are drained to their cuts, from which the new plan continues. An
    application that was stopped before runs for that, and is stopped again on failure.

    Args:
        opened: the application with the new plan.
        redeployment: the accepted redeploy.
        within: the seconds that the drain and the trial may take.

    Raises:
        StreamsRuntimeError: the plan cannot be replaced. Each cause has a subclass.
        ApplicationError: Spark refuses a query.
        ImplementationError, ValidationError: an operator of the new plan cannot be imported, or has other parameters.
    """
    catalog, application = opened.catalog, opened.name
    after = at_run_time(add_query_columns(opened.wanted), redeployment.numbering)
    programs = [pe.program for pe in deployed_pes(catalog, application)]
    held = HeldUnits(catalog, application, programs, redeployment.ending)
    change = PlanChange(held, after, redeployment, within, world.monotonic() + within)
    with continue_or_stop_again(opened) as was_stopped:
        rehearse(change)
        with units_on_hold(held):
            garbage = switch_at_cut(change)
    remove_files(catalog.store, garbage)
    return was_stopped


@contextmanager
def continue_or_stop_again(opened: OpenedApplication) -> Generator[bool]:
    """Let an application continue that is stopped; if the block raises, stop it again.

    Yield True if it was stopped.

    Raises:
        NotDeployableError: the application is complete or partly removed.
        OtherVersionError: another version of the product wrote the program of a PE.
        NotDeployedError: the application was dropped meanwhile.
    """
    catalog, application = opened.catalog, opened.name
    was_stopped = False
    try:
        with catalog.write() as connection:
            require_incomplete(connection, application)
            was_stopped = continue_if_stopped(connection, application, opened.settings)
        yield was_stopped
    except BaseException:
        if was_stopped:
            cancel_application(catalog, application)
        raise


def rehearse(change: PlanChange) -> None:
    """Carry the current states over and discard the result, before any unit is held.

    So a state that does not fit, or a full disk, is found without a pause. This also loads the code that divides
    states. A state that cannot be read, since it was collected meanwhile, is logged and left to `carry_over`.

    Raises:
        StreamsRuntimeError: a state cannot be written, or does not fit the new plan; or an operator cannot be set up.
        ImplementationError, ValidationError: an operator of the new plan cannot be imported, or has other parameters.
    """
    carrier = _carrier(change)
    try:
        carrier.carry(change.redeployment)
    except OperatorError as error:
        log.debug("%s: a state was collected while it was read: %s", change.held.application, error)
    except StateNotWrittenError as error:
        raise NotWrittenError(change.held.application, error) from error
    finally:
        remove_files(change.held.catalog.store, carrier.written)


def switch_at_cut(change: PlanChange) -> list[str]:
    """Drain the changed units, carry their states over, and switch to the new plan, until that succeeds at one cut.

    Return the files that the catalog no longer names.

    Raises:
        StreamsRuntimeError: the plan cannot be replaced in time, or at all. Each cause has a subclass.
        ImplementationError, ValidationError: an operator of the new plan cannot be imported, or has other parameters.
        CommitUnknownError: it is unknown if the plan was replaced.
    """
    while True:
        drain_changed(change)
        try:
            return switch_over(change, carry_over(change))
        except NotAtCutError as error:  # perhaps since the hold has expired
            if world.monotonic() >= change.until:
                raise NotDrainedError(change.held.application, str(error), change.within) from error
            hold_units(change.held)


def drain_changed(change: PlanChange) -> None:
    """Wait until the changed units, which are held, are at their cuts. Hosts are started if they must run for that.

    Raises:
        StreamsRuntimeError: the units do not reach their cuts in time; a host cannot be started; the plan was removed
            or replaced meanwhile, or is of another version of the product; or a rollback breaks a rule of the protocol.
    """
    if postpone_if_drained(change.held):
        return
    launch_hosts(change.held.catalog, change.held.application)
    if rest := drain(change.held, change.until):
        raise NotDrainedError(change.held.application, rest, change.within)


def carry_over(change: PlanChange) -> NewPlan:
    """Write the states with which the new plan begins, from the cut of the changed units. On failure, remove them.

    Raises:
        StreamsRuntimeError: a stored state cannot be read; a new one cannot be written, or does not fit the new plan;
            or an operator cannot be set up.
        ImplementationError, ValidationError: an operator of the new plan cannot be imported, or has other parameters.
    """
    carrier = _carrier(change)
    try:
        with removed_on_failure(change.held.catalog.store, carrier.written):
            carried = carrier.carry(change.redeployment)
    except StateNotWrittenError as error:
        raise NotWrittenError(change.held.application, error) from error
    return NewPlan(change.held.catalog.home, change.after, change.redeployment, carrier.cut, carried)


def switch_over(change: PlanChange, new: NewPlan) -> list[str]:
    """Replace the deployed plan by the new one, and open its trial; return the files that the catalog no longer names.

    On failure, the written states are removed, unless the switch may have been committed.

    Raises:
        NotAtCutError: a changed unit has left the cut whose states were carried over, or its hold has expired.
        NotDeployableError: the application has been completed.
        InvariantError: the switch breaks a rule of the protocol.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        CommitUnknownError: it is unknown if the plan was replaced.
    """
    with removed_on_failure(change.held.catalog.store, new.carried.written), change.held.catalog.write() as connection:
        return switch(connection, change.held, new, change.within)


def _carrier(change: PlanChange) -> Carrier:
    with change.held.catalog.read() as connection:
        cut = read_cut(connection, change.held)
    after = change.after
    return Carrier(
        change.held.catalog.home, base_directory(after), change.held.programs, after.deployment.programs, cut
    )
