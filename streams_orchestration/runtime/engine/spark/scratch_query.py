"""The state of a query as its scratch directory shows it, whichever process runs its planner and its tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from streams_orchestration.runtime.engine.port import QueryStart
from streams_orchestration.runtime.engine.spark.owners import owner_pids
from streams_orchestration.runtime.errors import OperatorFailure
from streams_orchestration.runtime.storage.in_use import use


class ScratchQuery(ABC):
    """A query whose tasks run in `stages.py`; subclasses start it, stop it and return its failure."""

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
        """True if the query is started and has not ended."""

    @property
    def begun(self) -> bool:
        """True if the query's planner knows the PE's position."""
        return self._scratch.begun

    @property
    def starting(self) -> bool:
        """True if the query is started and its planner is not ready yet."""
        return self.active and not self.begun

    @property
    def idle(self) -> bool:
        """True if no batch runs and none will begin, because the application is not wanted any more."""
        return not self.active or self._scratch.resting

    def busy(self) -> list[int]:
        """Return the pids of the processes that still have tasks of the current batch to run.

        The method only reads files, so it never hangs. On a cluster there are none: a task may wait there for an
        executor that is yet to come, while its owner is idle.
        """
        return [] if self._apart else owner_pids(self._scratch.unanswered())
