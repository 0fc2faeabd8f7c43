"""The checks of a running application, computed from its status and that of the machines.

They check that units work and are stable, that cuts complete in time and can be restored, and that machines and storage
are reachable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from streams_orchestration.runtime import api

FRESH, RESTORABLE, MENDED = "cuts_are_fresh", "cuts_can_be_restored", "failures_are_mended"
STABLE, MACHINES, STORAGE = "units_are_stable", "machines_are_up", "storage_is_reached"
PLACED, WORKING = "hosts_are_placed", "units_work"
CHECKS = {
    FRESH: "Every consistent region of a running application has completed an epoch within its usual time.",
    RESTORABLE: "All files are there that a reset to the last complete epoch needs.",
    MENDED: "No region or PE has failed in a way that only a person can mend.",
    STABLE: f"No region or PE was reset {api.UNSTABLE_RESETS} times or more in the last {api.STABLE_SECONDS / 60:.0f} "
    "minutes because it had failed.",
    MACHINES: "Every machine that is registered takes hosts.",
    STORAGE: "Every host reaches the storage that machines share.",
    PLACED: "Every host has a machine, and is apart from the hosts that it is to be apart from.",
    WORKING: "Every region and PE of an application that is to run works, or has ended.",
}
"""Check of the deployment -> its description."""
_WHY_NOT_UP = {
    "LOST": "its lease has ended; mend it, or use `streams machines remove {name}` when it is given up",
    "DOWN": "its agent has ended; start it again, or use `streams machines remove {name}` when it is given up",
    "DRAINING": "it is drained; `streams machines resume {name}` when it is to take hosts again",
}
ENDED = ("COMPLETED", "STOPPED")
"""States of an application in which its units need not work."""
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
    """Why there is nothing to check; empty if there is something."""

    @property
    def outcome(self) -> str:
        """The outcome, `failed` or the note; the check is recorded anew when this text changes."""
        return FAILED if self.problems else self.note

    @property
    def passed(self) -> bool:
        """True if there are no problems."""
        return not self.problems


def judge(
    status: api.ApplicationStatus, now: float, machines: Sequence[api.MachineStatus] = ()
) -> tuple[Judgement, ...]:
    """Return the results of all checks of an application.

    Args:
        status: the status of the application.
        now: the current time, in unix seconds.
        machines: the registered machines.
    """
    late: list[str] = []
    ages: dict[str, float] = {}
    for unit, begun, limit in _expected(status):
        age = now - begun
        ages[unit.name] = round(age, 1)
        if age > limit:
            late.append(
                f"{unit.name} is {status.state_of_unit(unit)} and has completed no epoch for {age:.0f} s; "
                f"one is to come every {unit.period:g} s{_because(unit)}"
            )
    broken = tuple(
        f"{unit.name} is {status.state_of_unit(unit)}{_because(unit)}"
        for unit in status.units
        if status.state not in ENDED and (unit.broken or status.state_of_unit(unit) == api.LOST)
    )
    note = f"{status.application} is {status.state}" if status.state in ENDED else ""
    lost = tuple(
        f"{unit.lost}. {api.LOST_REMEDY}"
        for unit in status.units
        if unit.lost is not None and unit.state != "COMPLETED"
    )
    left = tuple(f"{each.unit}: {each.reason}. {each.remedy}" for each in api.failures(status, now) if each.exhausted)
    looping = tuple(
        f"{unit.name} was {recent}"
        for unit in status.units
        if status.state not in ENDED and (recent := api.recent_resets(unit, now)) is not None
    )
    missing = tuple(
        f"{machine.name} is {machine.state}: {_WHY_NOT_UP[machine.state].format(name=machine.name)}"
        for machine in machines
        if status.state not in ENDED and machine.state in _WHY_NOT_UP
    )
    away = tuple(trouble for host in status.hosts if (trouble := host.storage_trouble(now)) is not None)
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
    )


def late_at(status: api.ApplicationStatus, now: float) -> float:
    """Return the time, in unix seconds, at which the next cut becomes late unless it completes; 0 if none can."""
    return min((begun + limit for _, begun, limit in _expected(status) if begun + limit > now), default=0.0)


def _expected(status: api.ApplicationStatus) -> Iterator[tuple[api.UnitStatus, float, float]]:
    """Yield each region with periodic cuts, the time of its last cut, and the seconds after which the next is late."""
    if status.state not in ("RUNNING", "WAITING"):
        return
    for unit in status.units:
        if unit.region is not None and unit.period is not None and unit.state != "COMPLETED":
            begun = max(unit.completed_at or 0.0, status.deployed_at)
            yield unit, begun, max(LATE_PERIODS * unit.period, LATE_SECONDS)


def _because(unit: api.UnitStatus) -> str:
    return f": {unit.cause}" if unit.cause else ""
