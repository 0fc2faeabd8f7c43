"""Direct batches: those that the planner of a PE sends to the owners of its tasks itself, without a job of Spark's.

Spark needs some 30 ms for a batch of any size, which is most of the latency of a stream that is read as it comes. The
workers, which Spark has started and whose end it sees, keep their operators between batches anyway. So for a few
seconds after Spark has run a batch, the following batches are direct. Plan, tasks, answers and commit are the same. If
an executor of a cluster is lost meanwhile, its owners are lost and the query fails, as it does when Spark runs a batch.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections import deque
from collections.abc import Generator

from streams_orchestration.runtime.engine.spark.owner_sockets import OwnerConnection, answered
from streams_orchestration.runtime.engine.spark.owners import DIRECTORY, Owners, SilentOwnerError, receive, send
from streams_orchestration.runtime.engine.spark.rows import PLAN, Row, TaskRequest, requests
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.queries.planner import Planner

DIRECT_SECONDS = 5.0
"""Batches are direct for this many seconds after Spark last ran a batch, if that batch took no longer than this.

Spark ends workers that got no task from it for a minute.
"""
LEAST_SECONDS = 0.025
"""The least seconds between the starts of two batches of a PE with sources; batches would be tiny otherwise."""
COMMITS, MOST_SECONDS = 3, 0.25
"""The least time between two batches of a PE: `COMMITS` times the duration of a commit, at most `MOST_SECONDS`."""


class DirectBatches:
    """Advances a Spark query by direct batches where that is possible, else by batches that Spark runs."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._owners = Owners()
        self._least = LEAST_SECONDS if planner.scratch.launched.program.sources else 0.0
        self._handed: int | None = None
        """The batch that was handed to Spark and has not run yet; None if there is none."""
        self._handed_at = 0.0
        self._last_run = -1
        """The number of the last batch that was run, by Spark or directly."""
        self._until = 0.0

    def run_until_spark(self, batch: int) -> int:
        """Commit the last batch, run and commit direct batches until Spark has to run one, and return its number.

        Spark has to run a batch if its last batch ended more than `DIRECT_SECONDS` ago or took longer than that, or if
        the owners cannot run the batch. Return `batch` if there is nothing to do for a while, the catalog cannot be
        reached, or the planner plans no more; direct batches may have been committed before that. `batch` is the
        query's current batch according to Spark, which may be lower than the number in the catalog.

        Raises:
            StreamsRuntimeError: the planner failed (see `Planner.commit_and_plan`), or an owner of a task has ended.
        """
        if batch == self._handed:
            now = time.monotonic()
            self._handed, self._last_run = None, batch
            self._until = now + DIRECT_SECONDS if now - self._handed_at < DIRECT_SECONDS else now
        not_before = 0.0
        while True:
            latest = max(batch, self._last_run)
            planned = self._planner.commit_and_plan(latest, not_before)
            if planned == latest:
                return batch
            began = time.monotonic()
            if began >= self._until or not self._run(planned):
                self._handed, self._handed_at = planned, began
                return planned
            pause = max(self._least, min(COMMITS * self._planner.commit_seconds, MOST_SECONDS))
            self._last_run, not_before = planned, began + pause

    def _run(self, batch: int) -> bool:
        """Run a batch by the owners of its tasks; return False, without effect, if Spark has to run it.

        Spark has to run it if a task has no reachable owner, or if the queries of the host take all slots.
        """
        connections = self.connections()
        if connections is None:
            return False
        scratch = self._planner.scratch
        with _slot() as free:
            if not free:
                return False
            rows: list[Row] = [(at, 0, PLAN, 0, 0, plan) for at, plan in self._planner.begin_batch(batch)]
            try:
                for level in range(len(scratch.launched.program.levels)):
                    pending = requests(scratch, level, [row for row in rows if row[1] == level])
                    rows += run_by_owners([(connections[level, request.partition], request) for request in pending])
            except StreamsRuntimeError as error:
                if isinstance(error, SilentOwnerError):
                    self._owners.suspect(error.connection)
                scratch.record_failure(Failure(str(error), batch=batch))
                raise
        return True

    def connections(self) -> dict[tuple[int, int], OwnerConnection] | None:
        """Return the connections to the owners of all tasks; None if a task has no owner, or one cannot be reached."""
        scratch = self._planner.scratch
        connections: dict[tuple[int, int], OwnerConnection] = {}
        for task in scratch.launched.program.tasks:
            try:
                owner = scratch.owner(task.level, task.partition).read_text()
            except FileNotFoundError:
                return None
            connection = self._owners.connect_to(owner)
            if connection is None:
                return None
            connections[task.level, task.partition] = connection
        return connections


def run_by_owners(pending: list[tuple[OwnerConnection, TaskRequest]]) -> list[Row]:
    """Have the owners run requests in parallel, each owner one at a time, and return the rows that they produce.

    Raises:
        StreamsRuntimeError: an owner has ended, or could not run a request.
    """
    waiting: dict[OwnerConnection, deque[TaskRequest]] = {}
    for connection, request in pending:
        waiting.setdefault(connection, deque()).append(request)
    for connection, queue in waiting.items():
        send(connection, queue.popleft())
    rows: list[Row] = []
    while waiting:
        for connection in answered(waiting):
            rows += receive(connection)
            if queue := waiting[connection]:
                send(connection, queue.popleft())
            else:
                del waiting[connection]
    return rows


@contextlib.contextmanager
def _slot() -> Generator[bool]:
    """Limit the queries of a host that run a direct batch at once to the number of its processors.

    Yields True if the query has got a slot until the block ends. Otherwise, and in a session without a host, it yields
    False, so that Spark runs the batch.
    """
    directory = os.environ.get(DIRECTORY)  # a session that no host has made has no directory
    for number in range(os.cpu_count() or 1) if directory else ():
        descriptor = os.open(f"{directory}/slot{number}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield True
            return
        finally:
            os.close(descriptor)
    yield False
