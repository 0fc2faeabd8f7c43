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
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel_application, launch_hosts
from streams_orchestration.runtime.deployment.deployment import continue_if_stopped
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
from streams_orchestration.runtime.redeployment.trial_supervision import launch_or_revert, settle_trial
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


@dataclass(frozen=True, slots=True)
class PlanOnTrial:
    """A new plan that has replaced the deployed one. Its hosts are to be started, and its trial is to be decided."""

    catalog: Catalog
    request: Redeploy | Revert
    """The request for the new plan: a revert by hand is recorded if the trial passes."""
    redeployment: Redeployment
    was_stopped: bool
    """True if the application was stopped before the redeploy, so that a revert stops it again."""

    @property
    def application(self) -> str:
        """The name of the application."""
        return self.redeployment.application


def accept_redeploy(opened: OpenedApplication, request: Redeploy | Revert) -> Redeployment:
    """Preview a redeploy, and refuse it if it would lose state. The caller has settled an earlier trial.

    Args:
        opened: the application with the new plan.
        request: the state that may be lost.

    Raises:
        RedeployRefusedError: state would be lost that the request does not name.
        StreamsRuntimeError: the request names an operator whose state would not be lost; a state cannot be read; or
            the application is not deployed, or of another version of the product. Each cause has a subclass.
        ImplementationError: an operator of the new plan cannot be imported.
        ValueError: the time zone changes, and the filter of an Import is wrong.
        CatalogError: the catalog cannot be used.
    """
    redeployment = preview_redeploy(opened.catalog, opened.wanted, request.drop_state)
    if not redeployment.acceptable:
        raise RedeployRefusedError(redeployment)
    return redeployment


def replace_plan(opened: OpenedApplication, redeployment: Redeployment, request: Redeploy | Revert) -> PlanOnTrial:
    """Replace the deployed plan by a new one, which is on trial then; `try_out` starts its hosts.

    Unchanged units keep running. The others are drained to their cuts, from which the new plan continues. An
    application that was stopped before runs for that, and is stopped again on failure.

    Args:
        opened: the application with the new plan.
        redeployment: the accepted redeploy.
        request: the seconds that the drain and the trial may take, and whether the previous plan is restored.

    Raises:
        StreamsRuntimeError: a state cannot be read, carried over or written; the units did not reach their cuts in
            time; the application is complete, not deployed, or of another version of the product; queries cannot be
            analysed, or hosts that a drain needs cannot be started here; or a rule of the protocol is broken. Each
            cause has a subclass.
        ApplicationError: Spark refuses a query.
        ImplementationError, ValidationError: an operator of the new plan cannot be imported, or has other parameters.
        CatalogError: the catalog cannot be used.
    """
    catalog, application = opened.catalog, opened.name
    after = at_run_time(add_query_columns(opened.wanted), redeployment.numbering)
    programs = [pe.program for pe in deployed_pes(catalog, application)]
    held = HeldUnits(catalog, application, programs, redeployment.ending)
    change = PlanChange(held, after, redeployment, request.within, world.monotonic() + request.within)
    with continue_or_stop_again(opened) as was_stopped:
        rehearse(change)
        with units_on_hold(held):
            garbage = switch_at_cut(change)
    remove_files(catalog.store, garbage)
    return PlanOnTrial(catalog, request, redeployment, was_stopped)


def try_out(trial: PlanOnTrial) -> Redeployment:
    """Start the hosts that a new plan needs, and wait until its trial is decided; return the redeploy with its pause.

    If a unit fails to complete an epoch, the previous plan is restored. If the new plan stays, a bounded run becomes an
    endless one, and a revert by hand is recorded.

    Raises:
        RevertedError: the previous plan was restored. An application that was stopped before is stopped again.
        CatalogUnavailableError: the catalog cannot be used for minutes; other processes decide the trial.
        StreamsRuntimeError: the application was stopped during the trial; hosts cannot be started; the plan was removed
            or replaced meanwhile; or the return to the previous plan breaks a rule of the protocol.
    """
    launch_or_revert(trial.catalog, trial.application)
    redeployment = await_decision(trial)
    with trial.catalog.write() as connection:
        record_run_kind(connection, trial.application, ENDLESS)
        if isinstance(trial.request, Revert):
            record_revert(connection, redeployment)
    return redeployment


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
        StreamsRuntimeError: the units do not reach their cuts in time, or have left them again whenever the plan was to
            be replaced; a host cannot be started; a state cannot be read or written, or does not fit the new plan; an
            operator of the new plan cannot be set up; the application was completed, or its plan removed or replaced,
            meanwhile; or a rule of the protocol is broken.
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


def await_decision(trial: PlanOnTrial) -> Redeployment:
    """Wait until the trial of a new plan is decided; return the redeploy with its measured pause.

    If the previous plan was restored, here or by another process, its hosts are started, unless the application was
    stopped before the redeploy.

    Raises:
        RevertedError: the previous plan was restored. An application that was stopped before is stopped again.
        CatalogUnavailableError: the catalog cannot be used for minutes; other processes decide the trial.
        StreamsRuntimeError: the application was stopped during the trial; hosts cannot be started; the plan was removed
            or replaced meanwhile; or the return to the previous plan breaks a rule of the protocol.
    """
    decided = settle_trial(trial.catalog, trial.application, was_stopped=trial.was_stopped)
    if decided is None:
        return trial.redeployment
    if decided.state == "REVERTED":
        raise RevertedError(trial.redeployment, decided.cause or "")
    return replace(trial.redeployment, measured_seconds=decided.pause)


def _carrier(change: PlanChange) -> Carrier:
    with change.held.catalog.read() as connection:
        cut = read_cut(connection, change.held)
    after = change.after
    return Carrier(
        change.held.catalog.home, base_directory(after), change.held.programs, after.deployment.programs, cut
    )
