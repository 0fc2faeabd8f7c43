"""The faults of a simulation around another plan or a savepoint, each a function that lets one happen."""

from __future__ import annotations

from streams_orchestration_tests.simulation.faults import Faults
from streams_orchestration_tests.simulation.redeploys import SHORT_SECONDS
from streams_orchestration_tests.simulation.scheduler import SimulatedProcess
from streams_orchestration_tests.simulation.sweeps import collects
from streams_orchestration_tests.simulation.switches import switches

ZOMBIE_SECONDS = 60.0
"""Most seconds that a query is held at its commit, or half of those of a machine."""
SPOIL_SECONDS = 20.0
"""Most seconds from the beginning of a redeploy to the trial that is to fail."""
SPOILED_SECONDS = SHORT_SECONDS + 4.0
"""Seconds for which its queries stop: they go on after the revert."""
LAG_SECONDS = 8.0
"""Seconds for which a query stops behind others; a host kills one that is stopped for ten."""
LAG_EPOCHS = 4
"""Epochs that other units complete meanwhile."""
LATE_SECONDS = 4.0
"""Seconds in which a collection that was held comes to its end."""
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
    with faults.scheduler.outside():  # not on the machine that is frozen
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


def late_collection(faults: Faults, _step: str) -> str | None:
    """Freeze the machine of a host that collects garbage until a later plan runs, in which a new PE is behind others.

    The later plan has the most readers of streams. The collection goes on before all else on the machine.
    """
    assert faults.scheduler.current is not None
    process = faults.scheduler.current.process
    machine, plan = process.machine, faults.checks.plan()
    if not collects(process) or not machine.takes_hosts or len(faults.machines.sound) == 1 or faults.watches:
        return None  # a second machine would keep the first one from its condition
    before = {row["id"] for row in faults.checks.rows("SELECT id FROM pe")}
    with faults.scheduler.outside():  # not on the machine that is frozen
        begun = faults.redeploys.part(len(before))
    if begun is None:
        return None
    frozen = faults.machines.freeze(machine, 2 * ZOMBIE_SECONDS)
    faults.lasts(2 * ZOMBIE_SECONDS)
    lagging: SimulatedProcess | None = None
    epochs = 0

    def is_over(step: str) -> bool:
        nonlocal lagging, epochs
        if step != "committed" or faults.phase() == "on trial" or faults.checks.plan() == plan:
            return False
        if lagging is None:
            queries = faults.living(("query",))
            lagging = next((each for each in queries if int(each.name.split()[1]) not in before), None)
            if lagging is not None:
                faults.scheduler.stop(lagging, LAG_SECONDS)
                epochs = faults.checks.epochs
            return False
        if faults.checks.epochs < epochs + LAG_EPOCHS:
            return False
        faults.scheduler.resume(process)  # before the agent of its machine, which would kill it
        faults.scheduler.later(LATE_SECONDS, lambda: [faults.scheduler.resume(each) for each in frozen])
        return True

    faults.watches.append(is_over)
    return f"{machine.name}, where {process.pid} {process.name} collects garbage; {begun}"


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
