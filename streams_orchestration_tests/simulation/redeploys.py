"""Redeploys within a simulation: each is a process that any fault may hit, and brings another plan of equal results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.runtime.errors import RedeployRefusedError, StreamsRuntimeError
from streams_orchestration.runtime.redeployment import redeploying
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.simulation.scheduler import Scheduler

AT_ONCE = 2
"""The largest number of redeploys at one time; the second waits for the first."""
NAME = "redeployer"


@dataclass
class Redeploys:
    """The redeploys of one run, and their ends."""

    scheduler: Scheduler
    home: Home
    plans: Sequence[Deployable]
    wrong: list[str]
    """Gets the ends that must not be."""
    ends: list[str] = field(default_factory=list[str])
    """The end of each redeploy that was not killed, in words."""

    def start(self) -> str | None:
        """Start a redeploy to any plan; return None if enough are under way."""
        living = [each for each in self.scheduler.processes.values() if each.alive and each.name == NAME]
        if len(living) >= AT_ONCE:
            return None
        number = self.scheduler.choices.pick("plan", (1,) * len(self.plans))
        self.scheduler.spawn(NAME, lambda: self._redeploy(number), parent=None)
        return f"to plan {number}"

    def _redeploy(self, number: int) -> None:
        try:
            done = redeploying.redeploy(self.home, self.plans[number])
            end = f"plan {number}: {done.verdict}"
        except RedeployRefusedError as error:
            self.wrong.append(f"a plan that keeps all states is refused: {error}")
            raise
        except StreamsRuntimeError as error:
            end = f"plan {number}: {type(error).__name__}: {error}"
        self.ends.append(end)
        self.scheduler.note(f"redeploy ends: {end}")
