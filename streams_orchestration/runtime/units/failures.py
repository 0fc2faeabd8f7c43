"""Judging an application: which of its units need a reset, which may have one, and when."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streams_orchestration.runtime.units.status import ApplicationStatus, HostStatus, PeStatus, host_failure
from streams_orchestration.runtime.units.unit_status import LOST_REMEDY, UnitStatus
from streams_orchestration.runtime.units.unit_store import STEADY_SECONDS

LAUNCHES = 5
"""A host that did not come up so many times in a row is not started any more."""
FIRST_BACK_OFF, LAST_BACK_OFF = 1.0, 60.0
"""Seconds before the second restart of a PE outside of regions, doubled with every further one, up to the second."""
LAUNCH_PAUSE, LAUNCH_FACTOR = 10.0, 4.0
"""Seconds from the second launch of a host that did not come up to the third; what each next wait is multiplied by."""


@dataclass(frozen=True, slots=True)
class UnitFailure:
    """A unit that needs a reset. The unit, its generation and the hosts that are gone name the failure."""

    application: str
    unit: str
    generation: int
    attempts: int
    max_attempts: int
    reason: str
    log: Path
    permanent: bool = False
    """The same input would fail again, so a reset is of no use."""
    due_at: float = 0.0
    """Unix seconds before which it is not to be reset: the back-off of a PE outside of regions, or of a host."""
    restartable: bool = True
    launches: int = 0
    """Of its host, in a row without coming up."""
    lost: str | None = None
    """Why it cannot go back to its last cut."""
    gone: tuple[tuple[int, float], ...] = ()
    """Its hosts that do not work, each with the unix time of its launch."""

    @property
    def exhausted(self) -> bool:
        """No reset may be tried without force (B3)."""
        return self.hopeless is not None

    @property
    def hopeless(self) -> str | None:
        """Why no reset may be tried; None when one may."""
        if self.lost is not None:
            return self.lost
        if self.permanent:
            return "a reset would meet the same error again"
        if not self.restartable:
            return "its operators are `restartable: false`"
        if self.attempts >= self.max_attempts:
            return f"{self.attempts} of {self.max_attempts} resets in a row have failed"
        if self.launches >= LAUNCHES:
            return f"its host did not come up {self.launches} times in a row"
        return None

    @property
    def remedy(self) -> str:
        """What a user is to do about it."""
        reset = f"streams reset {self.application} --unit {self.unit}"
        if self.lost is not None:
            return f"It is not reset by itself: {self.lost}. {LOST_REMEDY}; with the file back use `{reset}`."
        if self.hopeless is None:
            return f"Dagster's daemon resets it, `streams run` while it follows, and so does `{reset}`."
        force = " --force" if self.attempts >= self.max_attempts else ""
        return f"It is not reset by itself: {self.hopeless}. Mend the cause, then use `{reset}{force}`."


def failures(status: ApplicationStatus, now: float) -> tuple[UnitFailure, ...]:
    """The units of a wanted application that need a reset; pure, so that a sensor and a follower judge alike.

    Args:
        status: the application as read from the catalog.
        now: unix seconds.
    """
    if status.state in ("COMPLETED", "STOPPED"):
        return ()
    found = (_failure(status, unit, now) for unit in status.units if unit.state not in ("COMPLETED", "STOPPED"))
    return tuple(failure for failure in found if failure is not None)


def _failure(status: ApplicationStatus, unit: UnitStatus, now: float) -> UnitFailure | None:
    pes = [pe for pe in status.pes if pe.id in unit.pes]
    hosts = {host.id: host for host in status.hosts}
    launches = max((hosts[pe.host].launches for pe in pes if pe.host in hosts), default=0)
    dead = {host.id: reason for host in status.hosts if (reason := host_failure(host, now))}
    gone = tuple(sorted({(pe.host, hosts[pe.host].launched_at) for pe in pes if pe.host in dead}))
    lost = next((pe for pe in pes if pe.host in dead), None)
    failed = next((pe for pe in pes if pe.state == "FAILED"), None)

    def failure(reason: str, log: Path, pe: PeStatus | None = None) -> UnitFailure:
        fragile = [each for each in pes if each.host in dead or each.state == "FAILED"]
        return UnitFailure(
            status.application, unit.name, unit.generation, unit.attempts, unit.max_attempts, reason, log,
            permanent=pe is not None and pe.permanent,
            due_at=max([_due(unit), *(_launch_due(hosts[number]) for number, _ in gone)]),
            restartable=all(each.restartable for each in fragile),
            launches=launches,
            lost=unit.lost,
            gone=gone,
        )  # fmt: skip

    if lost is not None:
        return failure(dead[lost.host], hosts[lost.host].log)
    if unit.waits and unit.asked:
        return None  # its hosts are on their way
    if failed is not None:
        said = (failed.error or "").removeprefix(f"PE {failed.id}, ")
        return failure(f"PE {failed.id} failed: {said}", failed.log, failed)
    if unit.waits or unit.state == "MAXIMUM_RESET_ATTEMPTS_REACHED":
        return failure(unit.cause or "it waits for a reset", status.logs)
    if unit.timer in ("drain", "reset") and unit.deadline is not None and now >= unit.deadline:
        if unit.timer == "drain":
            return failure(
                f"epoch {unit.current_epoch} was not complete after the drainTimeout of {unit.drain_timeout:g} s",
                status.logs,
            )
        return failure(f"the reset was not done after the resetTimeout of {unit.reset_timeout:g} s", status.logs)
    return None


def _due(unit: UnitStatus) -> float:
    """A PE outside of regions that was restarted a moment ago waits longer every time."""
    if unit.region is not None or unit.restarts == 0 or unit.outage is None:
        return 0.0
    detected = unit.outage.get("detected", 0.0)
    if detected - (unit.reset_times.at or 0.0) > STEADY_SECONDS:
        return 0.0
    return detected + min(FIRST_BACK_OFF * 2 ** (unit.restarts - 1), LAST_BACK_OFF)


def _launch_due(host: HostStatus) -> float:
    """A host that did not come up is started again at once, and from then on later every time."""
    return 0.0 if host.launches < 2 else host.launched_at + LAUNCH_PAUSE * LAUNCH_FACTOR ** (host.launches - 2)
