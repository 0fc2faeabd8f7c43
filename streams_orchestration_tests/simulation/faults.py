"""The faults of a simulation: they come at steps of threads, each at a rate, until their number is reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from streams_orchestration_tests.simulation.catalogs import SharedFile
from streams_orchestration_tests.simulation.checks import Checks
from streams_orchestration_tests.simulation.disks import Disk
from streams_orchestration_tests.simulation.machines import Machines
from streams_orchestration_tests.simulation.redeploys import NAMES, Redeploys
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess
from streams_orchestration_tests.simulation.sweeps import LIST
from streams_orchestration_tests.simulation.targets import TargetServer

AWAY_SECONDS = (0.1, 1.0, 5.0, 30.0)
"""Seconds for which a server or the disk answers nobody."""
LENGTH_WEIGHTS = (4, 3, 2, 1)
"""Preference for short faults: processor time goes to those that wait for the end of a long one."""
CALM_WEIGHTS = (8.0, 1.0, 1.0)
"""The weights of a fault at any time, after `CALM_BATCHES` more batches, and after another complete epoch."""
CALM_BATCHES = 6
CALM_RATES = {True: 0.015, False: 0.004}
"""Most of the steps that have a fault in a calm time, in parts of 1: while the application works, and while not."""
QUICK = (
    *("lost_before", "lost_after", "lost_rare", "stop", "away", "unheard", "unseen", "slow", "store_away"),
    *("target_lost", "target_away", "unacknowledged"),
)
"""Kinds of faults that come in calm times, too, as short as can be: an application recovers in spite of them."""
WORKING = ("processing", "draining", "held", "on trial")
"""Phases in which an application works."""
DISRUPTIVE = (
    *("kill", "suicide", "stop", "zombie", "late", "away", "power", "full"),
    *("die", "freeze", "cut_catalog", "cut_storage", "cut_all", "jump", "jump_server", "flip", "break"),
    "bad_disk",
    *("store_away", "slow", "late_delivery", "late_sweep", "slow_commit", "spoil", "lost_switch", "late_collection"),
)
"""Kinds of faults that may cost a reset."""


OF_MACHINES = (
    *("jump_server", "late", "late_sweep", "late_collection", "die", "freeze", "break"),
    *("cut_catalog", "cut_storage", "cut_all"),
)
"""Kinds of faults that need several machines."""
OF_STORES = ("store_away", "unseen", "slow")
"""Kinds of faults that need an object store."""
OF_SERVERS = ("unheard", "slow_commit")
"""Kinds of faults that need PostgreSQL."""
OF_TARGETS = ("target_away", "target_lost", "late_delivery")
"""Kinds of faults that need sinks that write to a server."""
OF_RECEIVERS = ("unacknowledged",)
"""Kinds of faults that need a source with a journal."""
WEIGHTS = {
    "kill": 4, "suicide": 4, "stop": 2, "zombie": 15, "away": 1, "lost_before": 2, "lost_after": 2, "redeploy": 2,
    "savepoint": 1, "power": 1, "full": 1, "jump": 1, "die": 1, "freeze": 1, "cut_catalog": 1, "cut_storage": 1,
    "cut_all": 1, "break": 1, "flip": 1, "bad_disk": 1,
    "jump_server": 1, "lost_rare": 8, "late": 2, "store_away": 1, "unseen": 2, "slow": 2,
    "lost_behind": 8, "target_away": 1, "target_lost": 3, "late_delivery": 15, "late_sweep": 15,
    "unacknowledged": 2, "unheard": 2, "slow_commit": 8, "spoil": 4, "lost_switch": 100, "late_collection": 15,
}  # fmt: skip
"""The weights of the kinds of faults, relative to the others."""
RARE = ("healer", "agent", "host", *NAMES)
"""Kinds of processes that commit rarely."""
DIRECTED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "zombie": (("begin unit",), ("query",)),
    "lost_rare": (("commit",), RARE),
    "slow_commit": (("commit",), ("query",)),
    "lost_behind": (("unlink",), RARE),
    "late": (("begin unit", "begin write"), ("host",)),
    "target_away": (("target connect", "target begin", "target statement", "target commit"), ("host",)),
    "target_lost": (("target begin", "target statement", "target commit"), ("host",)),
    "late_delivery": (("target begin",), ("host",)),
    "late_sweep": ((LIST,), ("host",)),
    "spoil": (("begin unit",), ("query",)),
    "lost_switch": (("commit",), ("redeployer",)),
    "late_collection": (("begin unit",), ("host",)),
}
"""Kinds of faults that come at some steps of some kinds of processes only."""

Place = tuple[str, str]
"""A kind of process, and a phase of the application."""


def kind_of(process: SimulatedProcess) -> str:
    """Return the first word of a process's name, which says what it is."""
    return _first_word(process.name)


@cache
def _first_word(name: str) -> str:
    return name.partition(" ")[0]


def may_come(kind: str, step: str, process: str) -> bool:
    """Return True if a kind of fault may come at a step of a kind of process; an empty step stands for any."""
    if kind == "suicide":
        return process not in ("healer", "none", "kernel")
    if kind not in DIRECTED:
        return True
    steps, processes = DIRECTED[kind]
    return process in processes and (not step or step in steps)


@dataclass
class Faults:
    """Draws faults for one run."""

    scheduler: Scheduler
    shared: SharedFile
    count: int
    """Faults that are still to come."""
    rate: float
    """The fraction of steps that have a fault."""
    kinds: tuple[str, ...]
    table: Mapping[str, Callable[[Faults, str], str | None]]
    """Kind -> what lets such a fault happen at a step, and says where; None if it could not."""
    checks: Checks
    redeploys: Redeploys
    disk: Disk
    machines: Machines
    target: TargetServer
    phase: Callable[[], str]
    """Returns the phase of the application."""
    start: Callable[[], object]
    """Starts again what a machine starts that was switched on."""
    amid: int = 0
    """Batches that were committed before the last fault."""
    useful: int = 0
    """Faults before which a batch was committed."""
    working: int = 0
    """Useful faults that came while the application worked, and did not recover."""
    happened: list[str] = field(default_factory=list[str])
    held: list[tuple[SimulatedProcess, Callable[[], bool]]] = field(
        default_factory=list[tuple[SimulatedProcess, Callable[[], bool]]]
    )
    """Processes that are stopped until a condition holds."""
    watches: list[Callable[[str], bool]] = field(default_factory=list[Callable[[str], bool]])
    """Functions that check each step, until they return True."""
    over_at: float = 0.0
    """Simulated time at which the last fault is over."""
    server_set_at: float = -1e9
    """Simulated time at which the clock of the server was set."""
    calm_until: tuple[int, float] = 0, 0
    """Only quick faults come before so many epochs are complete, or so many batches were committed."""
    is_calm: bool = False
    """True if the last step was in a calm time."""

    places: set[Place] = field(default_factory=set[Place])
    """Kinds of processes that have made a step, each with a phase of the application."""
    hits: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    """Kinds of faults that came, each with the place of the step at which it came."""
    _weights: dict[tuple[str, str, float], tuple[float, ...]] = field(
        default_factory=dict[tuple[str, str, float], tuple[float, ...]]
    )
    """Step, kind of process, and most rate in a calm time -> how often no fault, or each kind, comes there."""

    def _weights_at(self, step: str, process: str, calm: float) -> tuple[float, ...]:
        there = [kind for kind in self.kinds if not calm or kind in QUICK]
        free = [WEIGHTS[kind] for kind in there if kind not in DIRECTED]
        total = sum(free or [WEIGHTS[kind] for kind in there])
        rate = min(self.rate, calm or 1.0)
        rates = [
            rate * WEIGHTS[kind] / total if kind in there and may_come(kind, step, process) else 0.0
            for kind in self.kinds
        ]
        return (1.0 - sum(rates), *rates)

    def __call__(self, step: str) -> None:
        """Perhaps let a fault happen at this step."""
        if self.watches:
            self.watches = [watch for watch in self.watches if not watch(step)]
        current = self.scheduler.current
        process = "none" if current is None else kind_of(current.process)
        place = process, self.phase()
        self.places.add(place)
        if not self.count:
            return
        is_calm = self.is_calm = self.checks.epochs < self.calm_until[0] and self.checks.batches < self.calm_until[1]
        calm = CALM_RATES[place[1] in WORKING] if is_calm else 0.0
        weights = self._weights.get((step, process, calm))
        if weights is None:
            weights = self._weights[step, process, calm] = self._weights_at(step, process, calm)
        choice = self.scheduler.choices.pick("fault", weights)
        if not choice:
            return
        kind = self.kinds[choice - 1]
        if (fault := self.table[kind](self, step)) is None:
            return
        self.count -= 1
        self.hits.add((kind, *place))
        self.lasts(0.0)
        self.amid = self.checks.batches
        self.useful += self.amid > 0
        self.working += self.amid > 0 and place[1] in WORKING
        self.happened.append(f"{self.scheduler.now:.3f} s: {kind}: {fault}")
        self.scheduler.note(f"fault {kind}: {fault}")
        if kind in DISRUPTIVE and not is_calm and (rest := self.scheduler.choices.pick("calm", CALM_WEIGHTS)):
            self.calm_until = self.checks.epochs + 1, self.checks.batches + CALM_BATCHES if rest == 1 else math.inf
        self.then()

    def length(self, options: Sequence[float], weights: Sequence[float] = LENGTH_WEIGHTS) -> float:
        """Choose for how many seconds a fault lasts; in a calm time, the first option."""
        return options[0] if self.is_calm else options[self.scheduler.choices.pick("seconds", weights)]

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
            machine.bad_disk = ""
        self.shared.away_until = self.disk.full_until = self.target.away_until = 0.0
        self.shared.lose_next = self.target.lose_next = None
        self.shared.unheard = 0
        self.over_at = min(self.over_at, self.scheduler.now)
        self.held.clear()
        self.watches.clear()
        for process in self.scheduler.processes:
            if process.is_stopped and process.machine in (self.scheduler.here, *self.machines.sound):
                self.scheduler.resume(process)
        if self.checks.store is not None:
            self.checks.store.away_until, self.checks.store.unseen, self.checks.store.slow = 0.0, 0, 0.0

    def release(self) -> None:
        """Let processes go on whose condition holds; called after each commit."""
        for process, condition in tuple(self.held):
            if condition():
                self.held.remove((process, condition))
                self.scheduler.resume(process)

    def living(self, names: Collection[str]) -> list[SimulatedProcess]:
        """Return the living processes of some kinds."""
        return [each for each in self.scheduler.processes if each.alive and kind_of(each) in names]

    def victim(self, names: Collection[str] = ("host", "engine", "query", "agent", *NAMES)) -> SimulatedProcess | None:
        """Choose a living process; None if there is none."""
        living = self.living(names)
        if not living:
            return None
        return living[self.scheduler.choices.pick("target", (1,) * len(living))]
