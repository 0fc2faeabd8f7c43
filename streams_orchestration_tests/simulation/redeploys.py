"""Redeploys and savepoints within a simulation: each is a process of its own, which any fault may hit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.operators.storage.port import is_address
from streams_orchestration.runtime.errors.errors import RedeployRefusedError, RevertedError, StreamsRuntimeError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.simulation.disks import Disk
from streams_orchestration_tests.simulation.scheduler import Scheduler

AT_ONCE = 2
"""The largest number of redeploys and savepoints under way at one time; the second waits for the first."""
NAMES = ("redeployer", "saver")
TIMEOUTS = (120.0, 2.0, 10.0)
"""Seconds that a redeploy gives its units; with few of them it is often refused, or taken back."""
SHORT_SECONDS = 10.0
"""Seconds that a trial has which is to fail."""
MOST_SAVEPOINTS = 3


@dataclass
class Redeploys:
    """The redeploys and savepoints of one run, and their ends."""

    scheduler: Scheduler
    home: Home
    disk: Disk
    plans: Sequence[Deployable]
    """Plans of equal results."""
    wrong: list[str]
    """Gets the ends that must not be."""
    ends: list[str] = field(default_factory=list[str])
    """The end of each redeploy and savepoint that was not killed, in words."""
    _saved: int = 0

    @property
    def most_apart(self) -> int:
        """The number of machines that suffices for each plan: the most hosts of a plan that must be apart, or one."""
        needs = (plan.plan.requirements for plan in self.plans)
        return max(1, *(sum(bool(host.exlocation) for host in each) for each in needs))

    def redeploy(self) -> str | None:
        """Start a redeploy to any plan, or bring the last one back; return None if enough is under way."""
        choices, application = self.scheduler.choices, self.plans[0].name
        number = choices.pick("plan", (2,) * len(self.plans) + (1,))
        within = TIMEOUTS[choices.pick("within", (2, 1, 1))]
        if number == len(self.plans):
            name = "return to the previous plan"
            return self._begin("redeployer", name, lambda: locked.revert_redeploy(self.home, application))
        name = f"redeploy to plan {number} within {within:g} s"
        return self._begin("redeployer", name, lambda: self._redeploy(number, within))

    def try_another(self) -> str | None:
        """Start a redeploy to another plan, whose trial is short; return None if enough is under way."""
        number = 1 + self.scheduler.choices.pick("plan", (1,) * (len(self.plans) - 1))
        name = f"redeploy to plan {number} within {SHORT_SECONDS:g} s"
        return self._begin("redeployer", name, lambda: self._redeploy(number, SHORT_SECONDS))

    def part(self, deployed: int) -> str | None:
        """Start a redeploy to the plan whose streams have the most readers.

        Return None if enough is under way, or that plan has as many PEs as are deployed.
        """
        programs = [plan.plan.programs for plan in self.plans]
        readers = [sum(len({each.stream for each in program.inputs}) for program in every) for every in programs]
        number, within = readers.index(max(readers)), TIMEOUTS[0]
        if len(programs[number]) == deployed:
            return None
        return self._begin("redeployer", f"redeploy to plan {number}", lambda: self._redeploy(number, within))

    def save(self) -> str | None:
        """Start to take a savepoint; return None if enough is under way, or there are enough savepoints."""
        if self._saved == MOST_SAVEPOINTS:
            return None
        name = f"point-{self._saved}"
        begun = self._begin("saver", name, lambda: self._save(name))
        self._saved += begun is not None
        return begun

    def _save(self, name: str) -> None:
        place = locked.create_savepoint(self.home, self.plans[0].name, name).place
        if is_address(place.address):
            return
        lost = [path for path in sorted(Path(place.address).rglob("*")) if path.is_file() and not self.disk.keeps(path)]
        self.wrong += [f"savepoint {name}: {path.name} would not survive a loss of power" for path in lost]

    def _redeploy(self, number: int, within: float) -> object:
        try:
            return locked.redeploy(self.home, self.plans[number], within=within)
        except RedeployRefusedError as error:
            self.wrong.append(f"a plan that keeps all states is refused: {error}")
            raise

    def _begin(self, process: str, name: str, act: Callable[[], object]) -> str | None:
        living = [each for each in self.scheduler.processes if each.alive and each.name in NAMES]
        if len(living) >= AT_ONCE:
            return None

        def acted() -> None:
            try:
                act()
                end = f"{name}: done"
            except RevertedError as error:
                end = f"{name}: reverted, {error.cause}"
            except StreamsRuntimeError as error:
                end = f"{name}: {type(error).__name__}: {error}"
            self.ends.append(end)
            self.scheduler.note(end)

        self.scheduler.spawn(process, acted, parent=None)
        return name
