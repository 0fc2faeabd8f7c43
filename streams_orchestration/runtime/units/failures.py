"""Decides which units of an application have failed, and which of them may be reset and when.

Its functions are pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from streams_orchestration.model.brief import plural
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog.cause_kinds import NO_KIND, TIMEOUT, CauseKind
from streams_orchestration.runtime.catalog.rows import HostRow, UnitRow
from streams_orchestration.runtime.catalog.states import ENDED
from streams_orchestration.runtime.errors.errors import HostLaunchError, NothingFailedError
from streams_orchestration.runtime.units.clock_set_back import unit_changes
from streams_orchestration.runtime.units.health import health_of
from streams_orchestration.runtime.units.region_events import FailureCause
from streams_orchestration.runtime.units.region_machine import LIMIT, explain_timeout
from streams_orchestration.runtime.units.region_record import fires
from streams_orchestration.runtime.units.status import PeStatus, UnitsStatus, place_of_log
from streams_orchestration.runtime.units.unit_facts import Health
from streams_orchestration.runtime.units.unit_status import LOST_REMEDY, UnitStatus
from streams_orchestration.runtime.units.unit_store import STEADY_SECONDS, record_of

LAUNCHES = 5
"""The number of failed launches in a row after which a host is no longer started automatically."""
BACK_OFF = Pauses(first=1.0, longest=60.0)
"""Pauses before resets for a repeated cause.

They apply to a line of code that fails at different tuples although epochs complete, and to a cause outside of the
application, for which a setting may give another longest pause.
"""
RESET_PAUSES = Pauses(first=4.0, longest=600.0, factor=5.0)
"""Pauses before resets for one cause while no epoch completes. Five attempts span 624 s."""
LAUNCH_PAUSES = Pauses(first=15.0, longest=3600.0, factor=6.0)
"""Pauses before launches of a host that does not come up, from its third launch on. Five launches span 645 s."""


@dataclass(frozen=True, slots=True)
class UnitFailure:
    """A unit that needs a reset, with the cause, the log that shows it, and the facts that decide on the reset.

    Unit, generation and the hosts that do not work (`gone`) identify the failure.
    """

    application: str
    status: UnitStatus
    """The status of the unit."""
    cause: FailureCause
    log: Path
    permanent: bool = False
    """True if the same input would fail again, so that a reset does not help."""
    due_at: float = 0.0
    """The earliest time of the reset in unix seconds, after a pause if the same cause or a host has failed before."""
    restartable: bool = True
    launches: int = 0
    """The highest number, over its hosts, of launches in a row that did not come up."""
    gone: tuple[tuple[int, float], ...] = ()
    """Hosts of the unit that do not work, each with the unix time of its launch."""
    machine: str | None = None
    """The name of the machine with the log, if an agent runs there; else None."""
    here: bool = True
    """True if the log is on this machine."""
    used_up: bool = False
    """True if no attempt or no time is left for this cause."""

    @property
    def unit(self) -> str:
        """The name of the unit."""
        return self.status.name

    @property
    def generation(self) -> int:
        """The generation in which the unit has failed."""
        return self.status.generation

    @property
    def explanation(self) -> str:
        """The reason with the place of the log, without a full stop."""
        place = place_of_log(self.log, self.machine, here=self.here)
        return f"{self.cause.reason.rstrip('.')} (log: {place})"

    @property
    def exhausted(self) -> bool:
        """True if the unit is not reset automatically (B3)."""
        return self.hopeless is not None

    @property
    def hopeless(self) -> str | None:
        """The reason why the unit is not reset automatically; None if it may be."""
        unit = self.status
        if unit.lost is not None:
            return unit.lost
        if self.permanent:
            return "a reset would meet the same error again"
        if not self.restartable:
            return "its operators are `restartable: false`"
        if self.used_up and self.cause.outside:
            resets = plural(unit.row.attempts, "reset")
            return f"its cause has lasted for longer than the restart limit allows, after {resets}"
        if self.used_up:
            return f"{unit.row.attempts} of {plural(unit.row.max_attempts, 'reset')} in a row failed"
        if self.launches >= LAUNCHES:
            return f"its host failed to start {self.launches} times in a row"
        return None

    @property
    def remedy(self) -> str:
        """The remedy for the failure, in sentences for the user."""
        return self._remedy(f" --unit {self.unit}")

    @property
    def remedy_of_all(self) -> str:
        """The remedy for all failed units of the application, whose failures are alike."""
        return self._remedy("")

    def _remedy(self, unit: str) -> str:
        reset = f"streams reset {self.application}{unit}"
        lost, stays = self.status.lost, self.status.stays
        if lost is not None:
            return f"It is not reset automatically: {lost}. {LOST_REMEDY}; once the file is restored, use `{reset}`."
        first = "" if stays is None else f"{stays}. "
        if self.hopeless is None:
            return f"{first}Dagster's daemon resets it, `streams run` while it follows, and so does `{reset}`."
        force = " --force" if self.used_up else ""
        return f"{first}It is not reset automatically: {self.hopeless}. Fix the cause, then use `{reset}{force}`."


class FailedAgainError(HostLaunchError):
    """A unit has failed, a command waits for it, and nobody has reset it for a while."""

    def __init__(self, failure: UnitFailure) -> None:
        super().__init__(f"{failure.unit} of {failure.application} needs a reset: {failure.explanation}")
        self.failure = failure


def find_failed_units(status: UnitsStatus, now: float) -> tuple[str, ...]:
    """Return the names of all failed units, for a manual reset that does not name a unit.

    Raises:
        NothingFailedError: no unit has failed.
    """
    units = tuple(failure.unit for failure in find_failures(status, now))
    if not units:
        raise NothingFailedError(status.application, tuple(known.name for known in status.units))
    return units


def find_failures(status: UnitsStatus, now: float) -> tuple[UnitFailure, ...]:
    """Return the units of an application that need a reset; none if the application is complete or stopped.

    `find_reset_cause` decides which units do. A PE that has ended also counts as failed here, unlike for the state
    machine: it fails when an output of its sink is lost, which no reset can mend, and which the user must know.
    The function is pure, so that all processes decide alike.

    Args:
        status: the status of the application as read from the catalog.
        now: unix seconds.
    """
    if status.state in ENDED:
        return ()
    judged = (_failure(status, unit, now) for unit in status.units)
    return tuple(failure for failure in judged if failure is not None)


def _failure(status: UnitsStatus, unit: UnitStatus, now: float) -> UnitFailure | None:
    pes = [pe for pe in status.pes if pe.id in unit.pes]
    numbers = {pe.host for pe in pes}
    hosts = {host.id: host for host in status.hosts if host.id in numbers}
    broken = [pe for pe in pes if pe.state == "FAILED"]
    health = health_of(hosts.values(), (pe.row for pe in pes), now)
    cause = find_reset_cause(unit.row, health, now)
    if cause is None:
        return None
    gone = [hosts[number] for number in health.gone]
    failed = broken[0] if broken and not gone else None
    place = gone[0] if gone else failed
    near = place or next((pe for pe in pes if pe.state != "COMPLETED"), None)
    if unit.state == LIMIT:
        cause = replace(cause, outside=unit.row.give_up_at is not None)
    return UnitFailure(
        application=status.application,
        status=unit,
        cause=cause,
        log=status.logs if near is None else near.log if place is not None else near.log.parent,
        machine=None if near is None else near.machine,
        here=near is None or near.here,
        permanent=failed is not None and failed.row.permanent,
        due_at=max([_due(unit.row, cause, failed), *(_launch_due(host.row) for host in gone)]),
        restartable=all(pe.row.restartable for pe in pes if pe.host in health.gone or pe.state == "FAILED"),
        launches=max((host.row.launches for host in hosts.values()), default=0),
        gone=tuple((host.id, host.row.launched_at) for host in gone),
        used_up=_is_given_up(unit.row, cause.kind, now),
    )


def find_reset_cause(unit: UnitRow, health: Health, now: float) -> FailureCause | None:
    """Return the cause for which a unit needs a reset; None if it needs none, or has ended.

    A unit needs a reset if one of its hosts does not work or one of its PEs has failed, if it waits for a reset or has
    no attempt left, or if its drain or reset takes longer than its timeout. A unit that waits for a reset which a
    process has taken up needs no other one while its hosts work or are being started.

    Args:
        unit: the row of the unit.
        health: the health of its hosts and PEs.
        now: unix seconds.
    """
    if unit.state in ENDED or (unit.waits and unit.taken_up and not health.gone):
        return None
    return health.cause or _overdue(unit, now)


def may_need_reset(unit: UnitRow, health: Health, now: float) -> bool:
    """Return True if a unit has a cause for a reset, or a call of `advance_units` may be due.

    While a PE of the unit has failed, the process that calls `advance_units` may be the first that sees all its hosts
    run, so that a reset which was taken up begins. Times that lie in the future hide that a host is gone, until
    `advance_units` moves them. For the arguments see `find_reset_cause`.
    """
    if unit.state in ENDED:
        return False
    unsettled = health.failure is not None or health.ahead or bool(unit_changes(unit, now))
    return unsettled or find_reset_cause(unit, health, now) is not None


def _overdue(unit: UnitRow, now: float) -> FailureCause | None:
    """Return why a unit needs a reset although its hosts and PEs work; None if it needs none."""
    if unit.waits or unit.state == LIMIT:
        outside = unit.give_up_at is not None
        return FailureCause(unit.cause or "it waits for a reset", unit.kind, outside)
    if not is_late(unit, now):
        return None
    reason = explain_timeout(unit.timer, unit.current_epoch, unit.drain_timeout, unit.reset_timeout)
    return FailureCause(reason, TIMEOUT)


def is_late(unit: UnitRow, now: float) -> bool:
    """Return True if a drain or reset of a unit takes longer than its timeout."""
    return unit.timer != "period" and fires(unit.timer, unit.deadline, now, taken_up=True)


def _is_given_up(unit: UnitRow, kind: CauseKind, now: float) -> bool:
    """Return True if no attempt or no time is left for a kind of cause.

    A unit that is given up stays so whatever happens to it then. Otherwise each kind has attempts of its own: False for
    another kind than the unit's current one.
    """
    if unit.state == LIMIT:
        return True
    return unit.kind in (NO_KIND, kind) and record_of(unit).gives_up(now)


def _due(unit: UnitRow, cause: FailureCause, failed: PeStatus | None) -> float:
    """Return when a unit is due for a reset, in unix seconds; 0.0 without an outage.

    The pause since the detection grows with the earlier resets for the same kind of cause. Unless the cause is
    outside of the application, the pause grows also with recent failures of the same code. A PE in no region that
    fails within `STEADY_SECONDS` after its last reset counts as failing by the same code again.
    """
    if unit.outage is None:
        return 0.0
    detected = unit.outage["detected"]
    tried = record_of(unit).tried(cause.kind, detected).number
    if cause.outside:
        return detected + BACK_OFF._replace(longest=unit.restart_pause).after(tried)
    times = failed.failed_times if failed is not None else 0
    if unit.region is None and unit.restarts and detected - (unit.resets.at or 0.0) <= STEADY_SECONDS:
        times = max(times, unit.restarts + 1)
    return detected + max(BACK_OFF.after(times - 1), RESET_PAUSES.after(tried))


def _launch_due(host: HostRow) -> float:
    """Return the unix seconds before which a host is not launched again; 0.0 until two launches in a row failed."""
    return host.launched_at + LAUNCH_PAUSES.after(host.launches - 1) if host.launches > 1 else 0.0
