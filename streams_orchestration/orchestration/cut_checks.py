"""The checks of a running application, computed from its status and the status of the machines.

They check that units work and are stable, that cuts complete in time and can be restored, and that machines and storage
are reachable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from streams_orchestration.model.brief import moment
from streams_orchestration.runtime import api

FRESH, RESTORABLE, MENDED = "cuts_are_fresh", "cuts_can_be_restored", "failures_are_mended"
STABLE, MACHINES, STORAGE = "units_are_stable", "machines_are_up", "storage_is_reached"
PLACED, WORKING, COMPLETE = "hosts_are_placed", "units_work", "sinks_are_complete"
CHECKS = {
    FRESH: "Every consistent region of a running application has completed an epoch within its usual time.",
    RESTORABLE: "All files exist that a reset to the last complete epoch needs.",
    MENDED: "No region or PE has a failure that only a person can fix.",
    STABLE: f"No region or PE was reset {api.UNSTABLE_RESETS} times or more in the last {api.STABLE_SECONDS / 60:.0f} "
    "minutes because it had failed.",
    MACHINES: "Every machine that is registered takes hosts.",
    STORAGE: "Every host reaches the storage that machines share.",
    PLACED: "Every host has a machine, and shares it with no host from which a config keeps it apart.",
    WORKING: "Every region and PE of an application that should run works, or has ended.",
    COMPLETE: "The outputs of every sink are complete up to an event time that is no older than its completeWithin.",
}
"""Check of the deployment -> its description."""
_WHY_NOT_UP = {
    "LOST": "its lease has ended; repair it, or give it up with `streams machines remove {name}`",
    "DOWN": "its agent has ended; start it again, or give the machine up with `streams machines remove {name}`",
    "DRAINING": "it is drained; `streams machines resume {name}` lets it take hosts again",
}
FAILED = "failed"
"""Outcome of a check that fails."""
LATE_PERIODS, LATE_SECONDS = 10, 60.0
"""A cut is late once this many periods, and at least this many seconds, have passed since the last one."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of a check: its problems, none if it passes."""

    name: str
    problems: tuple[str, ...] = ()
    ages: dict[str, float] = field(default_factory=dict[str, float])
    """Region -> seconds since its last cut."""
    note: str = ""
    """The reason why there is nothing to check; empty if there is something to check."""

    @property
    def outcome(self) -> str:
        """The outcome: `failed`, or the note. The check is recorded again when this text changes."""
        return FAILED if self.problems else self.note

    @property
    def passed(self) -> bool:
        """True if there are no problems."""
        return not self.problems


def evaluate_checks(
    status: api.ApplicationStatus, now: float, machines: Sequence[api.MachineStatus] = ()
) -> tuple[Judgement, ...]:
    """Return the results of all checks of an application."""
    late: list[str] = []
    ages: dict[str, float] = {}
    for unit, begun, limit in _expected(status):
        age = now - begun
        ages[unit.name] = round(age, 1)
        if age > limit:
            late.append(
                f"{unit.name} is {status.state_of_unit(unit)} and has completed no epoch for {age:.0f} s; "
                f"its period is {unit.row.period:g} s{_with_cause(unit)}"
            )
    broken = tuple(
        f"{unit.name} is {status.state_of_unit(unit)}{_with_cause(unit)}"
        for unit in status.units
        if status.state not in api.ENDED and (unit.row.broken or status.state_of_unit(unit) == api.LOST)
    )
    note = f"{status.application} is {status.state}" if status.state in api.ENDED else ""
    lost = tuple(
        f"{unit.lost}. {api.LOST_REMEDY}"
        for unit in status.units
        if unit.lost is not None and unit.state != "COMPLETED"
    )
    left = tuple(
        f"{each.unit}: {each.explanation}. {each.remedy}" for each in api.find_failures(status, now) if each.exhausted
    )
    looping = tuple(
        f"{unit.name} was {recent}"
        for unit in status.units
        if status.state not in api.ENDED and (recent := api.find_recent_resets(unit, now)) is not None
    )
    missing = tuple(
        f"{machine.name} is {machine.state}: {_WHY_NOT_UP[machine.state].format(name=machine.name)}"
        for machine in machines
        if status.state not in api.ENDED and machine.state in _WHY_NOT_UP
    )
    away = tuple(problem for host in status.hosts if (problem := host.storage_problem(now)) is not None)
    nowhere = tuple(f"host {host.id} waits: {host.error}" for host in status.hosts if host.state == "WAITING")
    misplaced = tuple(reason for host in status.hosts for reason in host.misplaced)
    return (
        Judgement(FRESH, tuple(late), ages, note),
        Judgement(RESTORABLE, lost),
        Judgement(MENDED, left),
        Judgement(STABLE, looping),
        Judgement(MACHINES, missing),
        Judgement(STORAGE, away),
        Judgement(PLACED, (*nowhere, *misplaced)),
        Judgement(WORKING, broken, note=note),
        Judgement(COMPLETE, tuple(_incomplete(status, now)), note=note),
    )


def _incomplete(status: api.ApplicationStatus, now: float) -> Iterator[str]:
    """Describe each sink that is further behind in event time than its config allows."""
    for sink, begun, limit in _promised(status):
        if now - begun > limit:
            up_to = "has no watermark yet" if sink.complete_until is None else f"is complete up to {moment(begun)}"
            yield (
                f"{sink.operator} {up_to}, {now - begun:.0f} s ago; completeWithin is {limit:g} s. "
                f"`streams status {status.application}` says what holds its watermark"
            )


def _promised(status: api.ApplicationStatus) -> Iterator[tuple[api.SinkStatus, float, float]]:
    """Yield each sink with `completeWithin`, the time up to which it is complete in unix seconds, and these seconds.

    Without a watermark that time is the deployment. Sinks whose streams have ended are left out, and so are all sinks
    of an application that has ended.
    """
    for sink in () if status.state in api.ENDED else status.sinks:
        if sink.complete_within is not None and not sink.is_complete:
            yield sink, status.deployed_at if sink.complete_until is None else sink.complete_until, sink.complete_within


def late_at(status: api.ApplicationStatus, now: float) -> float:
    """Return the time, in unix seconds, at which the next cut or sink becomes late; 0 if none can."""
    due = (begun + limit for _, begun, limit in (*_expected(status), *_promised(status)))
    return min((time for time in due if time > now), default=0.0)


def _expected(status: api.ApplicationStatus) -> Iterator[tuple[api.UnitStatus, float, float]]:
    """Yield each region with periodic cuts, the time of its last cut, and the seconds after which the next is late.

    The time is never before the deployment. Complete regions are left out, and all regions of an application that
    neither runs nor waits.
    """
    if status.state not in ("RUNNING", "WAITING"):
        return
    for unit in status.units:
        if unit.row.region is not None and unit.row.period is not None and unit.state != "COMPLETED":
            begun = max(unit.row.completed_at or 0.0, status.deployed_at)
            yield unit, begun, max(LATE_PERIODS * unit.row.period, LATE_SECONDS)


def _with_cause(unit: api.UnitStatus) -> str:
    return f": {unit.row.cause}" if unit.row.cause else ""
