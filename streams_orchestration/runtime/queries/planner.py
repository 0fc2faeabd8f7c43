"""Plans the batches of a PE, and commits those that the engine has run.

The engine only knows the number of a PE's batch. The positions in streams and the offsets of sources are in the
catalog, so a query that is started again continues from there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.outage import Outage
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import (
    CatalogUnavailableError,
    StaleGenerationError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.logs.logs import open_pe_logger
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.programs.codecs import plan_codec
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.queries.pacing import Pace
from streams_orchestration.runtime.queries.pe_view import PeView
from streams_orchestration.runtime.queries.planning import plan_batch
from streams_orchestration.runtime.queries.scratch import Launched, Scratch
from streams_orchestration.runtime.queries.source_polls import SourcePolls
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.task_results import take_answers

PAUSES = Pauses(first=0.002, longest=0.1)
"""Pauses between two readings of the catalog that find nothing to do."""
PLANNER_WAIT_SECONDS = 10.0
"""Seconds that one call waits for work before it returns to the engine."""
OUTAGE_SECONDS = 0.25
"""Seconds that one call waits for an unreachable catalog before it returns to the engine."""


@dataclass(slots=True)
class _BatchUnderWay:
    """A batch from its plan to its commit."""

    plan: BatchPlan
    period: float | None
    """The period of the unit's epochs in seconds; None if no period ends them."""
    began: float
    """The monotonic time at which the batch was planned."""
    results: list[TaskResult] | None = None
    """The results of its tasks; None until the engine has run it. They are kept if the catalog cannot be reached."""
    seconds: float = 0.0
    """The seconds from the plan to the results, once these are known."""


class Planner:
    """Plans and commits the batches of one query.

    Args:
        options: the options of the query, from `QueryStart.planner_options`.
        patience: the seconds that one call waits for work before it returns to the engine.
    """

    def __init__(self, options: dict[str, str], patience: float = PLANNER_WAIT_SECONDS) -> None:
        self.options = options
        self._patience = patience
        self.scratch = Scratch(options["scratch"])
        self._under_way: _BatchUnderWay | None = None
        """None before the first batch, and from a commit until the next plan."""
        self._pace = Pace(int(options["limit"]), os.cpu_count() or 1)
        self._polls = SourcePolls()
        self.commit_seconds = 0.0
        """Seconds of the last commit, which the next commit records; they show how busy the catalog is."""
        self._opened: Catalog | None = None
        self._outage = Outage(log=_log_of(self.scratch.launched))

    @property
    def planned(self) -> BatchPlan | None:
        """The batch that is planned and not yet committed; None without one."""
        return None if self._under_way is None else self._under_way.plan

    def start(self) -> int:
        """Record that the planner is ready; return the number of the last committed batch: the query begins after it.

        Raises:
            StaleGenerationError: another generation, perhaps of another plan, has taken the place of this query's.
            CatalogUnavailableError: the catalog is away for too long.
        """
        view = self._outage.through(self._read)
        self.scratch.mark_begun()
        return view.batch

    def _read(self) -> PeView:
        return read_view(self._catalog, self.scratch.launched.program, int(self.options["generation"]))

    def _view(self) -> PeView | None:
        """Return the PE's view of the catalog; None if this query must no longer plan.

        It must not if the query is not wanted, its unit is being reset, or another query has replaced this one.
        """
        try:
            view = self._read()
        except StaleGenerationError:
            return None
        return view if view.wanted and not view.waits else None

    def commit_and_plan(self, batch: int, not_before: float = 0.0) -> int:
        """Commit the batch that the engine has run; then plan the next batch as soon as there is something to do.

        Args:
            batch: the number of the query's last batch.
            not_before: the earliest time for planning the next batch, on the monotonic clock.

        Returns:
            The number of the planned batch. It is `batch` if there is nothing to do for a while, the catalog cannot be
            reached, or the query is to plan no more, which is recorded; then the engine asks again.

        Raises:
            StreamsRuntimeError: a task failed, the commit came too late, or the catalog is away for too long.
            OSError: a file of the query cannot be read or written.
        """
        try:
            planned = self._next(batch, not_before)
        except CatalogUnavailableError as error:
            try:
                self._outage.wait_or_raise(error)
            except CatalogUnavailableError:
                self.scratch.record_failure(Failure(str(error), "outside"))
                raise
            return batch
        self._outage.end()
        return planned

    def _next(self, batch: int, not_before: float) -> int:
        """Commit and plan as `commit_and_plan` does, without protection against an outage of the catalog."""
        self.finish(batch)
        world.sleep(max(not_before - world.monotonic(), 0.0))
        changes = self._catalog.changes
        until = world.monotonic() + self._patience
        readings = 1
        while True:
            mark = changes.mark()
            began = world.monotonic()
            program = self.scratch.launched.program
            view = self._view()
            if view is None:
                self.scratch.mark_resting()
                changes.wait(mark, self._patience)
                return batch
            limit = self._pace.limit
            plan = self._plan(
                view,
                plan_batch(
                    program,
                    view,
                    source_limit=limit,
                    stream_limit=limit,
                    sources_due=began >= self._polls.due_at,
                    now=clock.now(),
                ),
            )
            if plan is not None:
                planned = world.monotonic()
                plan = replace(plan, planned_at=clock.now(), plan_seconds=planned - began, token=world.new_id())
                self._under_way = _BatchUnderWay(plan, view.period, planned)
                return plan.batch
            if began >= until:
                return batch
            wake_at = min(until, self._polls.due_at) if began < self._polls.due_at else until
            if view.position.wake is not None and (waits := view.position.wake - clock.now()) > 0:
                wake_at = min(wake_at, began + waits)
            if changes.wait(mark, wake_at - began):
                world.sleep(max(began + PAUSES.after(readings) - world.monotonic(), 0.0))
                readings += 1
            else:
                readings = 1

    def begin_batch(self, batch: int) -> list[tuple[int, bytes]]:
        """Record that the planned batch runs; return its tasks of level 0: the partition of each, and its plan as JSON.

        Raises:
            StreamsRuntimeError: this planner has not planned the batch, so running it would skip tuples.
            OSError: the plan's file cannot be written.
        """
        if self.planned is None or self.planned.batch != batch:
            message = f"the engine asks for batch {batch}, which this reader has not planned"
            raise StreamsRuntimeError(message)
        self.scratch.mark_planned(batch)
        return [
            (task.partition, plan_codec.dump_json(replace(self.planned, inputs=(task,))))
            for task in self.planned.inputs
        ]

    def _plan(self, view: PeView, plan: BatchPlan | None) -> BatchPlan | None:
        """Return the batch to run in place of the planned one; subclasses may replace it."""
        return plan

    def _take_answers(self, plan: BatchPlan) -> list[TaskResult]:
        """Return the results of a batch that the engine has run, one for each task that has answered.

        The files of the results are removed.
        """
        return take_answers(self.scratch.answers, plan.batch, self.scratch.launched.program.tasks)

    def stop(self) -> None:
        """End waits for a change of the catalog, and close the connections to it."""
        if self._opened is not None:
            self._opened.close()

    @property
    def _catalog(self) -> Catalog:
        if self._opened is None:
            notified = self.scratch.notified if "relayed" in self.options else None
            self._opened = Catalog(Home(Path(self.options["home"])), patience=OUTAGE_SECONDS, notified=notified)
        return self._opened

    def finish(self, batch: int) -> None:
        """Commit the planned batch if the engine has run it, log it, and learn the pace from it.

        Raises:
            CatalogUnavailableError: the catalog cannot be reached; the commit may be repeated.
            StreamsRuntimeError: a task failed, or the commit was refused.
            OSError: the log of the PE cannot be opened.
        """
        ended = self._under_way
        if ended is None or ended.plan.batch != batch:
            return
        self.scratch.clear_planned()
        if ended.results is None:
            ended.seconds = world.monotonic() - ended.began
            ended.results = self._take_answers(ended.plan)
        committed = self._commit(ended.plan, ended.results, ended.seconds)
        self._under_way = None
        if committed:
            self._polls.learn(ended.plan, ended.results, world.monotonic())
            self._pace.learn(ended.results, ended.seconds, ended.period)
            _note(ended.plan, ended.results, _log_of(self.scratch.launched))

    def _commit(self, plan: BatchPlan, results: list[TaskResult], took: float) -> bool:
        """Commit a batch; return False if another query has taken the place of this one, which is not a failure."""
        launched = self.scratch.launched
        failed = _failure_of(launched.program, plan, results)
        if failed is not None:
            self._give_up(failed)
            raise StreamsRuntimeError(str(failed))
        try:
            began = world.monotonic()
            commit_batch(self._catalog, launched.program, plan, results, took, commit_before=self.commit_seconds)
            self.commit_seconds = world.monotonic() - began
        except CatalogUnavailableError:
            raise
        except StreamsRuntimeError as error:
            if isinstance(error, StaleGenerationError) and self._view() is None:
                _log_of(launched).info("%s", error)
                return False
            self._give_up(Failure.of(error))
            raise
        return True

    def _give_up(self, failure: Failure) -> None:
        """Log why a batch was not committed, and record it for the host."""
        _log_of(self.scratch.launched).error("%s", failure)
        self.scratch.record_failure(failure)


def _log_of(launched: Launched) -> logging.Logger:
    return open_pe_logger(launched.directories.log, launched.directories.log_size)


def _failure_of(program: PeProgram, plan: BatchPlan, results: Sequence[TaskResult]) -> Failure | None:
    """Return the failure of the first failed task of a batch, or that a task has no result; None without either."""
    failed = next((result.failure for result in results if result.failure is not None), None)
    if failed is None and len(results) != len(program.tasks):
        return Failure(f"only {len(results)} of {len(program.tasks)} tasks returned a result", batch=plan.batch)
    return failed


def _note(plan: BatchPlan, results: Sequence[TaskResult], log: logging.Logger) -> None:
    """Log a committed batch with its epoch, its end or boundary, and the numbers of its tuples."""
    if log.isEnabledFor(logging.INFO):
        rows_in = sum(r.rows_in for r in results)
        rows_out = sum(r.rows_out for r in results)
        end = " final" if plan.final else " boundary" if plan.boundary else ""
        log.info("batch %s epoch %s%s: %s in, %s out", plan.batch, plan.epoch, end, rows_in, rows_out)
