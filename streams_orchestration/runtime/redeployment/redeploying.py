"""Redeploying: a new plan replaces the running one, and keeps state, positions and results."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.redeployment.numbered import at_run_time
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel, launch
from streams_orchestration.runtime.deployment.deployment import resume
from streams_orchestration.runtime.deployment.opening import OpenedApplication
from streams_orchestration.runtime.deployment.query_columns import with_columns_of_queries
from streams_orchestration.runtime.errors import (
    CommitUnknownError,
    RedeployRefusedError,
    RevertedError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.hosts.pes import deployed_pes
from streams_orchestration.runtime.operator_errors import OperatorError
from streams_orchestration.runtime.programs.stored_compilation import base_directory
from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
from streams_orchestration.runtime.redeployment.draining import drain, units_on_hold
from streams_orchestration.runtime.redeployment.state_migration import Carrier, CommonCut, read_cut
from streams_orchestration.runtime.redeployment.switching import NewPlan, NotAtCutError, require_incomplete, switch
from streams_orchestration.runtime.redeployment.trial_supervision import await_trial, start
from streams_orchestration.runtime.storage.store import remove_files
from streams_orchestration.runtime.units.holding import hold

log = logging.getLogger("streams.redeploy")
REDEPLOY_TIMEOUT_SECONDS = 120.0
"""Default seconds for the changed units to reach their cuts, and then to complete an epoch of the new plan."""


class NotDrainedError(StreamsRuntimeError):
    """The changed units did not reach their cuts in time. They continue with the deployed plan."""

    def __init__(self, application: str, rest: str, within: float) -> None:
        super().__init__(
            f"{application} keeps running unchanged: {rest} after {within:.0f} s. See `streams status {application}` "
            "for the cause of the delay, then redeploy again"
        )


class NotWrittenError(StreamsRuntimeError):
    """The states of the new plan could not be written. Nothing was changed."""

    def __init__(self, application: str, error: OSError) -> None:
        place = f"{error.filename}: " if error.filename else ""
        super().__init__(
            f"{application} keeps running unchanged: the states of the new plan cannot be written: {place}"
            f"{error.strerror or error}. Make room there, then redeploy it again"
        )


def redeploy(
    opened: OpenedApplication, *, drop: Collection[str] = (), within: float = REDEPLOY_TIMEOUT_SECONDS
) -> Redeployment:
    """Replace the deployed plan by a new one, start the hosts that it needs, and wait until its trial is decided.

    Unchanged units keep running. The others are drained to their cuts, and continue there with the new plan. If a unit
    then fails to complete an epoch, the previous plan is restored, and an application that was stopped before is
    stopped again.

    Args:
        opened: the application with the new plan.
        drop: operators whose state may be lost.
        within: seconds for the changed units to reach their cuts, and then to complete an epoch.

    Returns:
        The redeploy, with its measured pause if units were restarted.

    Raises:
        RevertedError: the new plan failed its trial, and the previous plan was restored.
        RedeployRefusedError, DropStateError, NotDrainedError, NotWrittenError, NotDeployableError, StateRefusedError,
        MisplacedKeysError, OperatorError, ApplicationError, AnalysisError, ImplementationError, JavaError,
        OnTrialError, NotDeployedError, OtherVersionError, HostLaunchError, StreamsRuntimeError, CatalogError: see
        `begin_redeploy`.
    """
    catalog, application = opened.catalog, opened.name
    redeployment, stopped = begin_redeploy(opened, drop, within)
    trial = await_trial(catalog, application)
    if trial is None or redeployment.verdict == "unchanged":
        return redeployment
    if trial.state == "REVERTED":
        if stopped:
            cancel(catalog, application)
        else:  # another process may have reverted the plan without starting hosts
            start(catalog, application)
        raise RevertedError(redeployment, trial.cause or "")
    return replace(redeployment, measured_seconds=trial.pause)


def begin_redeploy(opened: OpenedApplication, drop: Collection[str], within: float) -> tuple[Redeployment, bool]:
    """Begin a redeploy as `redeploy` does, but do not wait for the end of its trial.

    An earlier trial is awaited first. Nothing is changed if the new plan is the deployed one. Files that the catalog no
    longer names are removed. If the redeploy of a stopped application fails before the switch to the new plan, the
    application is stopped again. Errors of an operator's constructor or `setup`, and of the wrong parameters of one,
    are raised.

    Returns:
        The redeploy, and True if it has resumed a stopped application.

    Raises:
        RedeployRefusedError: state would be lost that `drop` does not name.
        DropStateError: `drop` names an operator whose state would not be lost.
        NotDrainedError: the units did not reach their cuts in time; they continue with the deployed plan.
        NotWrittenError: the states of the new plan could not be written; the deployed plan continues.
        StateRefusedError, MisplacedKeysError: a state does not fit the new plan, so the deployed one continues.
        OperatorError: a stored state cannot be read.
        NotDeployableError: the application is complete.
        ApplicationError: Spark refuses a query.
        AnalysisError: Spark could not analyse the queries.
        JavaError: this machine has no Java that Spark can use.
        OnTrialError: an earlier redeploy is on trial, and the application is stopped.
        NotDeployedError: the application is not deployed.
        OtherVersionError: another version of the product wrote the deployed plan.
        HostLaunchError: a host cannot be started, and no trial is open that could be reverted; or this process may have
            too few files open to analyse queries.
        ImplementationError: an operator of the new plan cannot be imported.
        StreamsRuntimeError: see `observe` and `switch`.
        CatalogError: the catalog cannot be used.
    """
    catalog, application = opened.catalog, opened.name
    await_trial(catalog, application)  # the trial of a redeploy whose process has died
    redeployment = preview_redeploy(catalog, opened.wanted, drop)
    if redeployment.verdict == "unchanged" and redeployment.before == redeployment.after:
        return redeployment, False
    if not redeployment.acceptable:
        raise RedeployRefusedError(redeployment)
    after = at_run_time(with_columns_of_queries(opened.wanted), redeployment.numbering)
    programs = [pe.program for pe in deployed_pes(catalog, application)]
    change = PlanChange(opened, programs, after, redeployment)
    stopped = _is_stopped(catalog, application)
    try:
        garbage = change.put_in_place(within)
    except BaseException:
        if stopped:
            cancel(catalog, application)
        raise
    remove_files(catalog.store, garbage)
    start(catalog, application)
    return redeployment, stopped


@dataclass(frozen=True, slots=True)
class PlanChange:
    """An accepted redeploy: the deployed programs, the new plan, and the decisions about units and states."""

    opened: OpenedApplication
    programs: Sequence[PeProgram]
    """The programs of the deployed PEs."""
    after: Compilation
    """The new plan, with its run-time numbers."""
    redeployment: Redeployment

    @property
    def application(self) -> str:
        """The name of the application."""
        return self.opened.name

    @property
    def catalog(self) -> Catalog:
        """The catalog of the application."""
        return self.opened.catalog

    def put_in_place(self, within: float) -> list[str]:
        """Mark the application as wanted to run, drain the changed units, and switch to the new plan.

        The states are carried over once before any unit is held, so that some errors need no pause (`_rehearse`). Hosts
        are launched if the units must run to reach their cuts.

        Args:
            within: seconds for the changed units to reach their cuts, and then to complete an epoch.

        Returns:
            The files that the catalog no longer names.

        Raises:
            NotDrainedError, NotWrittenError, NotDeployableError, StateRefusedError, MisplacedKeysError, OperatorError,
            OtherVersionError, HostLaunchError, JavaError, ImplementationError, StreamsRuntimeError: see
            `begin_redeploy`.
            ValidationError: see `switch`.
        """
        changed = self.redeployment.ending
        until = world.monotonic() + within
        _want_to_run(self.opened)
        try:
            self._rehearse()
            with units_on_hold(self.catalog, self.application, changed):
                while (garbage := self._try_switch(within)) is None:
                    hold(self.catalog, self.application, changed)  # it may have expired
                    # hosts are needed only now: if all units were at cuts, the switch would have succeeded without them
                    launch(self.catalog, self.application)
                    if rest := drain(self.catalog, self.application, self.programs, changed, until):
                        raise NotDrainedError(self.application, rest, within)
                return garbage
        except OSError as error:
            raise NotWrittenError(self.application, error) from error

    def _rehearse(self) -> None:
        """Carry the current states over and discard the result, before any unit is held.

        So a state that does not fit, or a full disk, is found without a pause. This also loads the code that divides
        states. A state that cannot be read, since it was collected meanwhile, is logged and left to the switch.

        Raises:
            StateRefusedError, MisplacedKeysError, OSError: see `Carrier.carry`.
        """
        carrier, _ = self._carrier()
        try:
            carrier.carry(self.redeployment)
        except OperatorError as error:
            log.debug("%s: a state was collected while it was read: %s", self.application, error)
        finally:
            remove_files(self.catalog.store, carrier.written)

    def _try_switch(self, within: float) -> list[str] | None:
        """Switch if the changed units are drained, and return the files that the catalog no longer names.

        Return None if they are not drained, if a unit committed a batch meanwhile, or if its hold has expired.

        Raises:
            StateRefusedError, MisplacedKeysError, OperatorError, OSError: see `Carrier.carry`.
            NotDeployableError, InvariantError, ImplementationError, ValidationError: see `switch`.
        """
        if drain(self.catalog, self.application, self.programs, self.redeployment.ending, 0.0):
            return None
        try:
            return self.carry_and_switch(within)
        except NotAtCutError:
            return None

    def carry_and_switch(self, within: float) -> list[str]:
        """Carry the states over, then switch; return the files that the catalog no longer names.

        On failure, the written states are removed, unless the switch may have been committed.

        Raises:
            NotAtCutError: a changed unit is not at the cut whose states were carried over.
            NotDeployableError, InvariantError, ImplementationError, ValidationError: see `switch`.
            StateRefusedError, MisplacedKeysError, OperatorError, OSError: see `Carrier.carry`.
        """
        carrier, cut = self._carrier()
        try:
            new = NewPlan(self.opened.home, self.after, self.redeployment, cut, carrier.carry(self.redeployment))
            with self.catalog.write() as connection:
                return switch(connection, self.programs, new, within)
        except BaseException as error:
            if not isinstance(error, CommitUnknownError):
                remove_files(self.catalog.store, carrier.written)
            raise

    def _carrier(self) -> tuple[Carrier, CommonCut]:
        with self.catalog.read() as connection:
            cut = read_cut(connection, self.application, self.programs, self.redeployment.ending)
        wanted = self.after.plan.programs
        return Carrier(self.opened.home, base_directory(self.after), self.programs, wanted, cut), cut


def _is_stopped(catalog: Catalog, application: str) -> bool:
    a = tables.application
    with catalog.read() as connection:
        row = connection.execute(select(a.c.wanted, a.c.state).where(a.c.name == application)).one_or_none()
    return row is not None and "STOPPED" in (row.wanted, row.state)


def _want_to_run(opened: OpenedApplication) -> None:
    """Mark the application as wanted to run, as `resume` does.

    Raises:
        NotDeployableError: see `require_incomplete`.
        OtherVersionError: see `resume`.
    """
    a, application = tables.application, opened.name
    with opened.catalog.write() as connection:
        require_incomplete(connection, application)
        row = connection.execute(select(a).where(a.c.name == application)).one()
        resume(connection, application, row.state, opened.settings)
