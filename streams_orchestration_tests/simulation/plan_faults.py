"""The faults of a simulation around another plan or a savepoint, each a function that lets one happen."""

from __future__ import annotations

from streams_orchestration_tests.simulation.faults import Faults
from streams_orchestration_tests.simulation.redeploys import SHORT_SECONDS
from streams_orchestration_tests.simulation.switches import switches

ZOMBIE_SECONDS = 60.0
"""Most seconds that a query is held at its commit, or half of those of a machine."""
SPOIL_SECONDS = 20.0
"""Most seconds from the beginning of a redeploy to the trial that is to fail."""
SPOILED_SECONDS = SHORT_SECONDS + 4.0
"""Seconds for which its queries stop: they go on after the revert."""
UNSHOWN = (
    "SELECT 1 FROM sink_file f JOIN pe p ON p.application = f.application AND p.id = f.pe "
    "JOIN unit u ON u.application = p.application AND u.name = p.unit "
    "WHERE f.epoch > u.shown_epoch AND NOT f.retracted"
)
"""Results of units on trial, which nobody sees yet."""


def late(faults: Faults, step: str) -> str | None:
    """Freeze the machine of a host at a transaction until its application has another plan, to which one redeploys."""
    assert faults.scheduler.current is not None
    machine, plan = faults.scheduler.current.process.machine, faults.checks.plan()
    if not machine.takes_hosts:
        return None
    faults.redeploys.redeploy()
    held = faults.machines.freeze(machine, 2 * ZOMBIE_SECONDS)
    faults.held += [(each, lambda: faults.checks.plan() > plan) for each in held]
    faults.lasts(2 * ZOMBIE_SECONDS)
    return f"{machine.name} at {step} of {faults.scheduler.current.process.name}"


def redeploy(faults: Faults, _step: str) -> str | None:
    """Begin a redeploy to another plan, to the same, or to the one before."""
    return faults.redeploys.redeploy()


def spoil(faults: Faults, _step: str) -> str | None:
    """Begin a redeploy, and stop all queries when its trial has written results, until after it was reverted."""
    begun = faults.redeploys.try_another()
    if begun is None:
        return None
    until, seen = faults.lasts(SPOIL_SECONDS), 0

    def is_over(_step: str) -> bool:
        nonlocal seen
        if faults.phase() != "on trial":
            return faults.scheduler.now > until
        if faults.checks.batches == seen:
            return False
        seen = faults.checks.batches
        if not faults.checks.rows(UNSHOWN):
            return False
        for query in faults.living(("query",)):
            faults.scheduler.stop(query, SPOILED_SECONDS)
        faults.lasts(SPOILED_SECONDS)
        return True

    faults.watches.append(is_over)
    return f"{begun}, to be reverted"


def lost_switch(faults: Faults, _step: str) -> str | None:
    """Lose the connection of the commit by which a redeploy switches, after it has taken effect."""
    assert faults.scheduler.current is not None
    process = faults.scheduler.current.process
    if not switches(process) or faults.shared.writer is not process:
        return None
    faults.shared.lose_next = "after"
    return f"after the switch of {process.pid}"


def savepoint(faults: Faults, _step: str) -> str | None:
    """Begin to take a savepoint."""
    return faults.redeploys.save()
