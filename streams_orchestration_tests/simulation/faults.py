"""The faults of a simulation: they come at steps of threads, each at a rate, until their number is reached."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from streams_orchestration_tests.simulation.catalogs import SharedFile
from streams_orchestration_tests.simulation.checks import Checks
from streams_orchestration_tests.simulation.disks import Disk
from streams_orchestration_tests.simulation.machines import Machines
from streams_orchestration_tests.simulation.redeploys import NAMES, Redeploys
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess

CALM_WEIGHTS = (8, 2)
"""How often the next fault comes at any time, and how often after another epoch is complete."""
DISRUPTIVE = (
    *("kill", "suicide", "stop", "zombie", "away", "power", "full"),
    *("die", "freeze", "cut_catalog", "cut_storage", "cut_all", "jump", "jump_server", "flip", "break"),
)
"""Kinds of faults that may cost a reset."""
ZOMBIE_SECONDS = 60.0
"""Most seconds that a query is held at its commit."""
STOP_SECONDS = (0.5, 2.0, 8.0, 40.0)
FREEZE_SECONDS = (2.0, 12.0, 40.0, 120.0)
"""Some longer than leases and heartbeats."""
CUT_SECONDS = (1.0, 10.0, 30.0, 60.0)
JUMP_SECONDS = (1.0, -1.0, 60.0, -60.0, 600.0, -600.0)
AWAY_SECONDS = (0.1, 1.0, 5.0, 30.0)
FOR_EVER = 1e9
WAYS = ("dies", "stands still", "is cut off from the catalog", "is cut off from all")
MOST_FLIPS = 3
"""Most bits that are flipped in a run; with many of them nothing would be left to heal from."""
BOOT_SECONDS = 5.0
"""Seconds from a loss of power to the start of the first process."""


@dataclass
class Faults:
    """Draws faults for one run."""

    scheduler: Scheduler
    shared: SharedFile
    count: int
    """Faults that are still to come."""
    rate: float
    """How often a step has a fault."""
    kinds: tuple[str, ...]
    checks: Checks
    redeploys: Redeploys
    disk: Disk
    machines: Machines
    start: Callable[[], object]
    """Starts again what a machine starts that was switched on."""
    happened: list[str] = field(default_factory=list[str])
    held: list[tuple[SimulatedProcess, Callable[[], bool]]] = field(
        default_factory=list[tuple[SimulatedProcess, Callable[[], bool]]]
    )
    """Processes that are stopped until a condition holds."""
    over_at: float = 0.0
    """Simulated time at which the last fault is over."""
    calm_until: int = 0
    """No fault comes before so many epochs are complete."""

    def __post_init__(self) -> None:
        total = sum(WEIGHTS[kind] for kind in self.kinds)
        self._weights = (1.0 - self.rate, *(self.rate * WEIGHTS[kind] / total for kind in self.kinds))

    def __call__(self, step: str) -> None:
        """Perhaps let a fault happen at this step."""
        if not self.count or self.checks.epochs < self.calm_until:
            return
        choice = self.scheduler.choices.pick("fault", self._weights)
        if not choice:
            return
        kind = self.kinds[choice - 1]
        if (fault := KINDS[kind](self, step)) is None:
            return
        self.count -= 1
        self.lasts(0.0)
        self.happened.append(f"{self.scheduler.now:.3f} s: {kind}: {fault}")
        self.scheduler.note(f"fault {kind}: {fault}")
        if kind in DISRUPTIVE and self.scheduler.choices.pick("calm", CALM_WEIGHTS):
            self.calm_until = self.checks.epochs + 1
        self.then()

    def lasts(self, seconds: float) -> float:
        """Note that a fault lasts for some seconds from now; return the simulated time of its end."""
        until = self.scheduler.now + seconds
        self.over_at = max(self.over_at, until)
        return until

    def then(self) -> None:
        """End the caller, if the fault was its end."""
        current = self.scheduler.current
        if current is not None and not current.process.alive:
            self.scheduler.leave()

    def cease(self) -> None:
        """End the faults that last for a time."""
        for machine in (self.scheduler.here, *self.machines.sound):
            machine.catalog_away_until = machine.storage_away_until = 0.0
        self.shared.away_until = self.disk.full_until = 0.0
        self.shared.lose_next = None

    def release(self) -> None:
        """Let processes go on whose condition holds; called after each commit."""
        for process, condition in tuple(self.held):
            if condition():
                self.held.remove((process, condition))
                self.scheduler.resume(process)

    def living(self, names: Collection[str]) -> list[SimulatedProcess]:
        """Return the living processes of some kinds."""
        return [each for each in self.scheduler.processes if each.alive and each.name.partition(" ")[0] in names]

    def target(self, names: Collection[str] = ("host", "engine", "query", "agent", *NAMES)) -> SimulatedProcess | None:
        """Choose a living process; None if there is none."""
        living = self.living(names)
        if not living:
            return None
        return living[self.scheduler.choices.pick("target", (1,) * len(living))]


def kill(faults: Faults, _step: str) -> str | None:
    """Kill any process of a host."""
    target = faults.target()
    if target is None:
        return None
    faults.scheduler.end(target, leave=False)
    return f"{target.pid} {target.name}"


def suicide(faults: Faults, step: str) -> str | None:
    """Kill the process that makes this step, as between its commit and the answer."""
    current = faults.scheduler.current
    if current is None or current.process.name == "healer":
        return None
    faults.scheduler.end(current.process, leave=False)
    return f"{current.process.pid} {current.process.name} at {step}"


def stop(faults: Faults, _step: str) -> str | None:
    """Stop any process of a host for some time."""
    target = faults.target()
    if target is None:
        return None
    seconds = STOP_SECONDS[faults.scheduler.choices.pick("seconds", (1,) * len(STOP_SECONDS))]
    faults.scheduler.stop(target, seconds)
    faults.lasts(seconds)
    return f"{target.pid} {target.name} for {seconds} s"


def zombie(faults: Faults, step: str) -> str | None:
    """Hold a query at its commit until its unit was reset and its PE stands where it stood before.

    Another query of the unit is killed, so that there is a reset.
    """
    current = faults.scheduler.current
    if current is None or step != "begin unit" or current.process.name.partition(" ")[0] != "query":
        return None
    process, generations = current.process, faults.checks.generations
    pe = int(process.name.split()[1])
    standing = faults.checks.standing(pe)

    def is_over() -> bool:
        return faults.checks.generations > generations and faults.checks.standing(pe) == standing

    if process.machine.takes_hosts:  # its machine stands still until its host is elsewhere
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


def away(faults: Faults, _step: str) -> str:
    """Let no transaction begin for some time."""
    seconds = AWAY_SECONDS[faults.scheduler.choices.pick("seconds", (4, 3, 2, 1))]
    faults.shared.away_until = faults.lasts(seconds)
    return f"for {seconds} s"


def lost_before(faults: Faults, _step: str) -> str:
    """Let the next commit lose its connection before it takes effect."""
    faults.shared.lose_next = "before"
    return "the next commit has no effect"


def lost_after(faults: Faults, _step: str) -> str:
    """Let the next commit lose its connection after it has taken effect."""
    faults.shared.lose_next = "after"
    return "the next commit has taken effect"


def redeploy(faults: Faults, _step: str) -> str | None:
    """Begin a redeploy to another plan, to the same, or to the one before."""
    return faults.redeploys.redeploy()


def savepoint(faults: Faults, _step: str) -> str | None:
    """Begin to take a savepoint."""
    return faults.redeploys.save()


def power(faults: Faults, step: str) -> str | None:
    """Let the machine lose its power, and what is not on disk, and start it again."""
    if faults.machines.machines:
        return None  # the files of several machines are on a server
    lost: list[str] = []

    settled = faults.checks.settled()

    def lose() -> None:
        lost.append(faults.disk.lose_power())
        faults.checks.look_again(settled)

    faults.scheduler.lose_power(faults.scheduler.here, lose)
    faults.held.clear()
    faults.scheduler.later(BOOT_SECONDS, faults.start)
    return f"at {step}: {lost[0]}"


def full(faults: Faults, _step: str) -> str:
    """Let nothing be written for some time."""
    seconds = AWAY_SECONDS[faults.scheduler.choices.pick("seconds", (4, 3, 2, 1))]
    faults.disk.full_until = faults.lasts(seconds)
    return f"for {seconds} s"


def die(faults: Faults, step: str) -> str | None:
    """Let a machine lose its power; it comes back with another clock."""
    machine = faults.machines.choose()
    return machine and f"{machine.name} at {step}, {faults.machines.die(machine)}"


def freeze(faults: Faults, _step: str) -> str | None:
    """Let all processes of a machine stand still for some time."""
    machine = faults.machines.choose()
    if machine is None:
        return None
    seconds = FREEZE_SECONDS[faults.scheduler.choices.pick("seconds", (1,) * len(FREEZE_SECONDS))]
    faults.machines.freeze(machine, seconds)
    faults.lasts(seconds)
    return f"{machine.name} for {seconds:g} s"


def _cut(faults: Faults, *, catalog: bool, storage: bool) -> str | None:
    machine = faults.machines.choose()
    if machine is None:
        return None
    seconds = CUT_SECONDS[faults.scheduler.choices.pick("seconds", (1,) * len(CUT_SECONDS))]
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
    return f"by {seconds:g} s"


def flip(faults: Faults, _step: str) -> str | None:
    """Flip a bit of a segment, a state, or a file that waits in a sink."""
    with faults.scheduler.outside():
        paths = faults.checks.kept()
        if len(faults.disk.flipped) == MOST_FLIPS or not paths:
            return None
        return faults.disk.flip(paths[faults.scheduler.choices.pick("file", (1,) * len(paths))])


def break_down(faults: Faults, step: str) -> str | None:
    """Break a machine for good, as long as another one is sound: it dies, stands still, or is cut off for ever."""
    machine = faults.machines.choose()
    if machine is None or len(faults.machines.sound) == 1:
        return None
    faults.machines.broken.add(machine.name)
    way = WAYS[faults.scheduler.choices.pick("way", (1,) * len(WAYS))]
    if way == "dies":
        faults.scheduler.lose_power(machine)
    elif way == "stands still":
        faults.machines.freeze(machine, FOR_EVER)
    else:
        machine.catalog_away_until = FOR_EVER
        machine.storage_away_until = FOR_EVER if way == "is cut off from all" else 0.0
    return f"{machine.name} {way} for ever at {step}"


KINDS: dict[str, Callable[[Faults, str], str | None]] = {
    "kill": kill,
    "suicide": suicide,
    "stop": stop,
    "zombie": zombie,
    "away": away,
    "lost_before": lost_before,
    "lost_after": lost_after,
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
}
OF_MACHINES = ("jump_server", "die", "freeze", "break", "cut_catalog", "cut_storage", "cut_all")
"""Kinds of faults that need several machines."""
WEIGHTS = {
    "kill": 4, "suicide": 4, "stop": 2, "zombie": 40, "away": 1, "lost_before": 2, "lost_after": 2, "redeploy": 2,
    "savepoint": 1, "power": 1, "full": 1, "jump": 1, "die": 1, "freeze": 1, "cut_catalog": 1, "cut_storage": 1,
    "cut_all": 1, "break": 1, "flip": 1,
    "jump_server": 1,
}  # fmt: skip
"""How often a kind of fault comes, relative to the others."""
