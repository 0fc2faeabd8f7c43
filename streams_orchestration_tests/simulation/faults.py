"""The faults of a simulation: they come at steps of threads, each at a rate, until their number is reached."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from streams_orchestration_tests.simulation.catalogs import SharedFile
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess

STOP_SECONDS = (0.5, 2.0, 8.0, 40.0)
AWAY_SECONDS = (0.1, 1.0, 5.0, 30.0)


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
    happened: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._weights = (1.0 - self.rate, *((self.rate / len(self.kinds),) * len(self.kinds)))

    def __call__(self, step: str) -> None:
        """Perhaps let a fault happen at this step."""
        if not self.count:
            return
        choice = self.scheduler.choices.pick("fault", self._weights)
        if not choice:
            return
        kind = self.kinds[choice - 1]
        if (fault := KINDS[kind](self, step)) is None:
            return
        self.count -= 1
        self.happened.append(f"{self.scheduler.now:.3f} s: {kind}: {fault}")
        self.scheduler.note(f"fault {kind}: {fault}")
        self.then()

    def then(self) -> None:
        """End the caller, if the fault was its end."""
        current = self.scheduler.current
        if current is not None and not current.process.alive:
            self.scheduler.leave()

    def target(self, names: Collection[str] = ("host", "engine", "query")) -> SimulatedProcess | None:
        """Choose a living process; None if there is none."""
        living = [
            each for each in self.scheduler.processes.values() if each.alive and each.name.partition(" ")[0] in names
        ]
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
    return f"{target.pid} {target.name} for {seconds} s"


def away(faults: Faults, _step: str) -> str:
    """Let no transaction begin for some time."""
    seconds = AWAY_SECONDS[faults.scheduler.choices.pick("seconds", (4, 3, 2, 1))]
    faults.shared.away_until = faults.scheduler.now + seconds
    return f"for {seconds} s"


def lost_before(faults: Faults, _step: str) -> str:
    """Let the next commit lose its connection before it takes effect."""
    faults.shared.lose_next = "before"
    return "the next commit has no effect"


def lost_after(faults: Faults, _step: str) -> str:
    """Let the next commit lose its connection after it has taken effect."""
    faults.shared.lose_next = "after"
    return "the next commit has taken effect"


KINDS: dict[str, Callable[[Faults, str], str | None]] = {
    "kill": kill,
    "suicide": suicide,
    "stop": stop,
    "away": away,
    "lost_before": lost_before,
    "lost_after": lost_after,
}
