"""Applications that are stepped by hand, in this process, without Spark."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.stepping import SteppedApplication
from streams_orchestration.runtime.units.holding import HeldUnits


@dataclass
class LocalApplication(SteppedApplication):
    """A deployed application whose batches may be committed without being published."""

    def held(self, units: Collection[str] | None = None) -> HeldUnits:
        """Return these units, or all of them, to be held."""
        return HeldUnits(self.catalog, self.name, self.programs, list(self.units) if units is None else units)

    def turn(self, count: int = 1) -> None:
        """Take a step with every PE, so many times."""
        for _ in range(count):
            for program in self.programs:
                self.step(program)

    def commit(self, *, boundary: bool = False) -> None:
        """Commit a batch of the only PE; nothing of it is published.

        Args:
            boundary: it ends the epoch.
        """
        (program,) = self.programs
        if boundary:
            self.trigger()
        plan = self.plan(program)
        assert plan is not None
        commit_batch(self.catalog, program, plan, self.execute(program, plan), 0.0)
