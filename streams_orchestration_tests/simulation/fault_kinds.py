"""The kinds of faults of a simulation, each a function that lets one happen."""

from __future__ import annotations

from collections.abc import Callable

from streams_orchestration_tests.simulation.disk_faults import bad_disk, directory, flip, full, power
from streams_orchestration_tests.simulation.faults import AWAY_SECONDS, Faults
from streams_orchestration_tests.simulation.mailbox import OFFICE
from streams_orchestration_tests.simulation.plan_faults import (
    ZOMBIE_SECONDS,
    late,
    late_collection,
    lost_switch,
    redeploy,
    savepoint,
    spoil,
)
from streams_orchestration_tests.simulation.sweeps import swept_pe

STOP_SECONDS = (0.5, 2.0, 8.0, 40.0)
FREEZE_SECONDS = (2.0, 12.0, 40.0, 120.0)
"""Some longer than leases and heartbeats."""
CUT_SECONDS = (1.0, 10.0, 30.0, 60.0)
JUMP_SECONDS = (1.0, -1.0, 60.0, -60.0, 600.0, -600.0)
SLOW_SECONDS = (0.5, 4.0, 30.0)
EVEN_WEIGHTS = (1, 1, 1)
FOR_EVER = 1e9
WAYS = (
    *("dies", "stands still", "is cut off from the catalog", "is cut off from its files", "is cut off from all"),
    "cannot use a directory",
)
MORE_DELIVERIES = 2
"""Deliveries that others make meanwhile, of all sinks together, so that one that comes late was made before."""
COMMIT_SECONDS = 8.0
"""Seconds for which a query stops within its commit; a server ends such a session after ten."""
SWEEP_SECONDS = 4.0
"""Seconds in which a sweep that was held comes to its end."""


def kill(faults: Faults, _step: str) -> str | None:
    """Kill any process of a host."""
    target = faults.victim()
    if target is None:
        return None
    faults.scheduler.end(target, leave=False)
    return f"{target.pid} {target.name}"


def suicide(faults: Faults, step: str) -> str | None:
    """Kill the process that makes this step, as between its commit and the answer."""
    current = faults.scheduler.current
    assert current is not None
    faults.scheduler.end(current.process, leave=False)
    return f"{current.process.pid} {current.process.name} at {step}"


def stop(faults: Faults, _step: str) -> str | None:
    """Stop any process of a host for some time."""
    target = faults.victim()
    if target is None:
        return None
    seconds = faults.length(STOP_SECONDS)
    faults.scheduler.stop(target, seconds)
    faults.lasts(seconds)
    return f"{target.pid} {target.name} for {seconds} s"


def zombie(faults: Faults, _step: str) -> str | None:
    """Hold a query at its commit until its unit was reset and its PE stands where it stood before.

    Another query of the unit is killed, so that there is a reset.
    """
    current = faults.scheduler.current
    assert current is not None
    process, generations = current.process, faults.checks.generations
    pe = int(process.name.split()[1])
    standing = faults.checks.standing(pe)

    def is_over() -> bool:
        return faults.checks.generations > generations and faults.checks.standing(pe) == standing

    if process.machine.takes_hosts:  # its machine is frozen until its host runs elsewhere
        faults.lasts(2 * ZOMBIE_SECONDS)
        faults.held += [(each, is_over) for each in faults.machines.freeze(process.machine, 2 * ZOMBIE_SECONDS)]
        return f"{process.machine.name}, {process.pid} {process.name} at batch {standing}"
    others = [each for each in faults.living(("query",)) if each is not process]
    if not others:
        return None
    faults.scheduler.end(others[faults.scheduler.choices.pick("target", (1,) * len(others))], leave=False)
    faults.scheduler.stop(process, ZOMBIE_SECONDS)
    faults.lasts(ZOMBIE_SECONDS)
    faults.held.append((process, is_over))
    return f"{process.pid} {process.name} at batch {standing}"


def slow_commit(faults: Faults, _step: str) -> str | None:
    """Stop a query at the end of its commit's transaction, and kill another query, so that there is a reset."""
    assert faults.scheduler.current is not None
    process = faults.scheduler.current.process
    others = [each for each in faults.living(("query",)) if each is not process]
    if not others or faults.shared.writer is not process:
        return None
    faults.scheduler.end(others[faults.scheduler.choices.pick("target", (1,) * len(others))], leave=False)
    faults.scheduler.stop(process, COMMIT_SECONDS)
    faults.lasts(COMMIT_SECONDS)
    return f"{process.pid} {process.name} for {COMMIT_SECONDS:g} s"


def away(faults: Faults, _step: str) -> str | None:
    """Let no transaction begin for some time."""
    if faults.scheduler.now < faults.shared.away_until:
        return None
    seconds = faults.length(AWAY_SECONDS)
    faults.shared.away_until = faults.lasts(seconds)
    return f"for {seconds} s"


def lost_before(faults: Faults, _step: str) -> str | None:
    """Let the next commit lose its connection before it takes effect."""
    if faults.shared.lose_next:
        return None
    faults.shared.lose_next = "before"
    return "the next commit has no effect"


def lost_after(faults: Faults, _step: str) -> str | None:
    """Let the next commit lose its connection after it has taken effect."""
    if faults.shared.lose_next:
        return None
    faults.shared.lose_next = "after"
    return "the next commit has taken effect"


def unheard(faults: Faults, _step: str) -> str | None:
    """Let the server's next notifications be lost."""
    if faults.shared.unheard:
        return None
    faults.shared.unheard = 1 + faults.scheduler.choices.pick("notifications", (3, 2, 1))
    return f"{faults.shared.unheard} notifications are lost"


def lost_rare(faults: Faults, _step: str) -> str:
    """Lose the connection of a commit of a process that commits rarely, before or after it takes effect."""
    assert faults.scheduler.current is not None
    faults.shared.lose_next = ("before", "after")[faults.scheduler.choices.pick("lost", (1, 1))]
    return f"{faults.shared.lose_next} the commit of {faults.scheduler.current.process.name}"


def lost_behind(faults: Faults, _step: str) -> str | None:
    """Lose the commit of a process that removes a file within its transaction; the product never does that."""
    assert faults.scheduler.current is not None
    process = faults.scheduler.current.process
    if faults.shared.writer is not process:
        return None
    faults.shared.lose_next = "before"
    return f"before the commit of {process.name}"


def die(faults: Faults, step: str) -> str | None:
    """Let a machine lose its power; it comes back with another clock."""
    machine = faults.machines.choose()
    return machine and f"{machine.name} at {step}, {faults.machines.die(machine)}"


def freeze(faults: Faults, _step: str) -> str | None:
    """Let all processes of a machine stand still for some time."""
    machine = faults.machines.choose()
    if machine is None:
        return None
    seconds = faults.length(FREEZE_SECONDS)
    faults.machines.freeze(machine, seconds)
    faults.lasts(seconds)
    return f"{machine.name} for {seconds:g} s"


def _cut(faults: Faults, *, catalog: bool, storage: bool) -> str | None:
    machine = faults.machines.choose()
    if machine is None:
        return None
    seconds = faults.length(CUT_SECONDS)
    until = faults.lasts(seconds)
    if catalog:
        machine.catalog_away_until = until
    if storage:
        machine.storage_away_until = until
    return f"{machine.name} for {seconds:g} s"


def cut_catalog(faults: Faults, _step: str) -> str | None:
    """Cut a machine off from the catalog for some time."""
    return _cut(faults, catalog=True, storage=False)


def cut_storage(faults: Faults, _step: str) -> str | None:
    """Cut a machine off from the files for some time."""
    return _cut(faults, catalog=False, storage=True)


def cut_all(faults: Faults, _step: str) -> str | None:
    """Cut a machine off from all others for some time."""
    return _cut(faults, catalog=True, storage=True)


def jump(faults: Faults, _step: str) -> str:
    """Set the wall clock of a machine."""
    machine = faults.machines.choose() or faults.scheduler.here
    seconds = JUMP_SECONDS[faults.scheduler.choices.pick("seconds", (1,) * len(JUMP_SECONDS))]
    machine.offset += seconds
    return f"{machine.name} by {seconds:g} s"


def jump_server(faults: Faults, _step: str) -> str:
    """Set the clock of the catalog's server."""
    seconds = JUMP_SECONDS[faults.scheduler.choices.pick("seconds", (1,) * len(JUMP_SECONDS))]
    faults.shared.ahead += seconds
    faults.server_set_at = faults.scheduler.now
    return f"by {seconds:g} s"


def store_away(faults: Faults, _step: str) -> str | None:
    """Let the object store answer no request for some time, also for longer than requests are repeated."""
    assert faults.checks.store is not None
    if faults.scheduler.now < faults.checks.store.away_until:
        return None
    seconds = faults.length(AWAY_SECONDS)
    faults.checks.store.away_until = faults.lasts(seconds)
    return f"for {seconds} s"


def unseen(faults: Faults, _step: str) -> str | None:
    """Let the next writes take effect in the object store although their clients get an error."""
    assert faults.checks.store is not None
    if faults.checks.store.unseen:
        return None
    faults.checks.store.unseen = 1 + faults.scheduler.choices.pick("writes", (3, 2, 1))
    return f"{faults.checks.store.unseen} writes arrive unseen"


def slow(faults: Faults, _step: str) -> str | None:
    """Let the next write to the object store be under way for some time, in which its client may be killed."""
    assert faults.checks.store is not None
    if faults.checks.store.slow:
        return None
    seconds = faults.length(SLOW_SECONDS, EVEN_WEIGHTS)
    faults.checks.store.slow = seconds
    faults.lasts(seconds)
    return f"the next write takes {seconds:g} s"


def break_down(faults: Faults, step: str) -> str | None:
    """Break a machine for good, as long as the other sound ones are enough for the hosts of every plan.

    It dies, stands still, is cut off, or cannot use a directory.
    """
    machine = faults.machines.choose()
    if machine is None or len(faults.machines.sound) <= faults.redeploys.most_apart:
        return None
    faults.machines.broken.add(machine.name)
    way = WAYS[faults.scheduler.choices.pick("way", (1,) * len(WAYS))]
    if way == "dies":
        faults.scheduler.lose_power(machine)
    elif way == "stands still":
        faults.machines.freeze(machine, FOR_EVER)
    elif way == "cannot use a directory":
        machine.bad_disk = directory(faults)
        way = f"cannot use {machine.bad_disk.replace(faults.scheduler.place, '')}"
    else:
        machine.catalog_away_until = 0.0 if way == "is cut off from its files" else FOR_EVER
        machine.storage_away_until = 0.0 if way == "is cut off from the catalog" else FOR_EVER
    return f"{machine.name} {way} for ever at {step}"


def unacknowledged(faults: Faults, _step: str) -> str | None:
    """Let the next acknowledgement of a receiver be lost, so that the sender repeats what the journal has."""
    if OFFICE.senders is None or OFFICE.senders.lose_next:
        return None
    OFFICE.senders.lose_next = True
    return f"after letter {OFFICE.senders.acknowledged}"


def target_away(faults: Faults, _step: str) -> str | None:
    """Let the server that sinks write to answer nobody for some time."""
    if faults.scheduler.now < faults.target.away_until:
        return None
    seconds = faults.length(AWAY_SECONDS)
    faults.target.away_until = faults.lasts(seconds)
    return f"for {seconds} s"


def target_lost(faults: Faults, _step: str) -> str | None:
    """Let the next commit at a sink's server lose its connection before, or after, it has taken effect."""
    if faults.target.lose_next:
        return None
    faults.target.lose_next = ("before", "after")[faults.scheduler.choices.pick("lost", (1, 1))]
    return f"{faults.target.lose_next} the next delivery has taken effect"


def late_delivery(faults: Faults, _step: str) -> str | None:
    """Stop a publisher in front of a delivery, cut off from the catalog, until others have made more of them."""
    assert faults.scheduler.current is not None
    process, commits = faults.scheduler.current.process, faults.target.commits
    if not process.machine.takes_hosts:
        return None  # on one machine it would be killed before another one takes its place
    process.machine.catalog_away_until = faults.lasts(ZOMBIE_SECONDS)
    faults.scheduler.stop(process, ZOMBIE_SECONDS)
    faults.held.append((process, lambda: faults.target.commits >= commits + MORE_DELIVERIES))
    return f"{process.pid} {process.name} of {process.machine.name}"


def late_sweep(faults: Faults, _step: str) -> str | None:
    """Freeze the machine of a host that sweeps a PE until another host's query of the PE is about to commit.

    The query is then stopped while the sweep goes on, before all else on the machine.
    """
    assert faults.scheduler.current is not None
    process = faults.scheduler.current.process
    pe, machine = swept_pe(process), process.machine
    if pe is None or not machine.takes_hosts or len(faults.machines.sound) == 1:
        return None
    frozen = faults.machines.freeze(machine, 2 * ZOMBIE_SECONDS)
    faults.lasts(2 * ZOMBIE_SECONDS)

    def is_met(step: str) -> bool:
        assert faults.scheduler.current is not None
        other = faults.scheduler.current.process
        if step != "begin unit" or other.machine is machine or other.name.split()[:2] != ["query", str(pe)]:
            return False
        faults.scheduler.stop(other, SWEEP_SECONDS)
        faults.scheduler.resume(process)  # before the agent of its machine, which would kill it
        faults.scheduler.later(SWEEP_SECONDS, lambda: [faults.scheduler.resume(each) for each in frozen])
        return True

    faults.watches.append(is_met)
    return f"{machine.name}, where {process.pid} {process.name} sweeps PE {pe}"


KINDS: dict[str, Callable[[Faults, str], str | None]] = {
    "kill": kill,
    "suicide": suicide,
    "stop": stop,
    "zombie": zombie,
    "away": away,
    "lost_before": lost_before,
    "lost_after": lost_after,
    "lost_rare": lost_rare,
    "lost_behind": lost_behind,
    "late": late,
    "redeploy": redeploy,
    "savepoint": savepoint,
    "power": power,
    "full": full,
    "jump": jump,
    "jump_server": jump_server,
    "die": die,
    "freeze": freeze,
    "cut_catalog": cut_catalog,
    "cut_storage": cut_storage,
    "cut_all": cut_all,
    "break": break_down,
    "flip": flip,
    "bad_disk": bad_disk,
    "store_away": store_away,
    "unseen": unseen,
    "slow": slow,
    "target_away": target_away,
    "target_lost": target_lost,
    "late_delivery": late_delivery,
    "late_sweep": late_sweep,
    "unacknowledged": unacknowledged,
    "unheard": unheard,
    "slow_commit": slow_commit,
    "spoil": spoil,
    "lost_switch": lost_switch,
    "late_collection": late_collection,
}
USUAL = tuple(kind for kind in KINDS if kind not in ("spoil", "lost_switch", "late_collection"))
"""Kinds that come unless others are asked for; a trial that is to fail takes some 5,000 steps."""
