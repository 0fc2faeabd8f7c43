"""The times at which the sources of a PE are polled."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult

IDLE_PAUSES = Pauses(first=0.01, longest=0.2)
"""Pauses until an idle source without a pause of its own is polled again."""


class SourcePolls:
    """The next time at which the sources of a PE are polled; they are polled together.

    Each committed batch sets it (`learn`). Before the first batch, the sources are due.
    """

    def __init__(self) -> None:
        self.due_at = 0.0
        """The monotonic time at which a source may have tuples."""
        self._idle_polls = 0

    def learn(self, plan: BatchPlan, results: Sequence[TaskResult], now: float) -> None:
        """Set the time of the next poll from a batch that was committed at a monotonic time."""
        self.due_at = now + self._pause(plan, results)

    def _pause(self, plan: BatchPlan, results: Sequence[TaskResult]) -> float:
        """Return the seconds until the first source may have tuples, as it reports them; 0.0 without sources.

        A source that does not report them counts with 0.0 if it has moved, else with a pause that grows with each call.
        """
        before = {name: offset for task in plan.inputs for name, offset in task.sources.items()}
        moved = {name for result in results for name, offset in result.sources.items() if offset != before.get(name)}
        self._idle_polls = 1 if moved else self._idle_polls + 1
        idle = IDLE_PAUSES.after(self._idle_polls)
        return min(
            (
                result.pauses.get(name, 0.0 if name in moved else idle)
                for result in results
                for name in result.sources.keys() - set(result.exhausted)
            ),
            default=0.0,
        )
