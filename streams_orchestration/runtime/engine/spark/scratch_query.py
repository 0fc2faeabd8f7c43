"""The state of a query by its scratch directory, whatever process runs its planner and its tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from streams_orchestration.runtime.engine.port import QueryStart
from streams_orchestration.runtime.engine.spark.owners import owner_pids
from streams_orchestration.runtime.errors import OperatorFailure
from streams_orchestration.runtime.storage.in_use import use


class ScratchQuery(ABC):
    """A query of the engine port whose tasks run as `stages.py` has them; a subclass starts, judges and stops it."""

    def __init__(self, start: QueryStart, *, apart: bool = False) -> None:
        self.generation = start.generation
        self.permanent = False
        self.cause: OperatorFailure | None = None
        self._apart = apart
        self._scratch = start.make_scratch(apart=apart)
        self._mark = use(Path(self._scratch.path))

    @property
    @abstractmethod
    def active(self) -> bool:
        """True if it is started and has not ended."""

    @property
    def begun(self) -> bool:
        """True if its planner knows where the PE stands."""
        return self._scratch.begun

    @property
    def starting(self) -> bool:
        """True if it is started, and its planner is not there yet."""
        return self.active and not self.begun

    @property
    def idle(self) -> bool:
        """True if no batch is under way and none will begin, because the application is not wanted any more."""
        return not self.active or self._scratch.resting

    def busy(self) -> list[int]:
        """Processes that have tasks of the batch under way to run; only files are read, so this never hangs.

        On a cluster none: a task may wait there for an executor that is yet to come, while its owner is idle.
        """
        return [] if self._apart else owner_pids(self._scratch.unanswered())
