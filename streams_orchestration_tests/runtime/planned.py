"""A PE whose batches a planner plans and commits, as in Spark's process."""

from __future__ import annotations

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.tasks.task_results import give_answer
from streams_orchestration_tests.runtime.local import LocalApplication


class PlannedPe:
    """Stands in for Spark: asks the planner for batches and runs them.

    Args:
        local: the application.
        program: of the PE.
        patience: seconds that the planner waits for work.
    """

    def __init__(self, local: LocalApplication, program: PeProgram, patience: float = 0.0) -> None:
        self.local, self.program = local, program
        self.scratch = local.scratch_of(program)
        options = {"home": str(local.home.root), "scratch": self.scratch.path, "generation": "1", "limit": "4"}
        self.planner = Planner(options, patience)
        self.offset = self.planner.start()

    def turn(self) -> bool:
        """Ask for the next batch, and run it; whether there was one."""
        end = self.planner.commit_and_plan(self.offset)
        if end == self.offset:
            return False
        assert self.planner.begin_batch(end)
        plan = self.planner.planned
        assert plan is not None
        for result in self.local.execute(self.program, plan):
            give_answer(self.scratch.answers, plan.batch, result)
        self.offset = end
        return True
