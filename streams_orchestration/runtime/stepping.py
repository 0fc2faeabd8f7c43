"""Runs a deployed application in this process, with the same programs, plans, tasks and commits as in hosts.

It is for tests of applications: PEs run one batch after the other, and nothing waits for a clock. Only PEs that are
Spark queries run in an engine, which runs their batches as soon as there is something to do.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.pe_transitions import note_running_unit
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.catalog.unit_transitions import move_period_ends
from streams_orchestration.runtime.deployment.deployment import continue_from_state, write_first_plan
from streams_orchestration.runtime.deployment.opening import open_application
from streams_orchestration.runtime.deployment.run_kinds import ENDLESS, RunKind
from streams_orchestration.runtime.engine.port import Engine, Query, QueryStart
from streams_orchestration.runtime.engine.spark.rows import PLAN, Row, record_batches
from streams_orchestration.runtime.engine.spark.stages import PeLevel
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.programs.codecs import plan_codec
from streams_orchestration.runtime.programs.stored_compilation import base_directory
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.queries.planning import plan_batch
from streams_orchestration.runtime.queries.scratch import Launched, Scratch
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.sinks.completing import complete
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.publishing import outstanding, publish_files
from streams_orchestration.runtime.storage.directories import Directories, directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.task_results import take_answers
from streams_orchestration.runtime.trials.advancing import advance_units_and_trial
from streams_orchestration.runtime.units.bounded_run import end_bounded_run
from streams_orchestration.runtime.units.reading import has_application_ended

QUERY_SECONDS = 300.0
"""Seconds within which a Spark query must make its next batch, however busy the machine is."""
POLL_SECONDS = 0.1
"""Seconds between two checks of the query's progress, where nothing notifies of a change."""


class StepError(StreamsRuntimeError):
    """A step of an application failed, with the operator's message, or the application cannot be stepped to its end."""


@dataclass
class SteppedApplication:
    """A deployed application for tests, whose PEs run one batch at a time on request.

    Its creation checks the application, deploys it, or continues it if it is deployed, and starts no host. It raises
    ApplicationError if the application has errors, and StreamsRuntimeError if it cannot be deployed here, or if there
    are Spark queries and no engine. As a context manager, it stops its queries at the end.
    """

    home: Home
    compilation: PlannedCompilation
    source_limit: int = 1000
    """Approximate number of tuples that a source produces in a batch."""
    engine: Callable[[], Engine] | None = None
    """Returns the engine for PEs that are Spark queries; None if there are no such PEs."""
    begins: RunKind = ENDLESS
    """The kind of run that begins."""
    results: list[TaskResult] = field(default_factory=list[TaskResult])
    scratches: dict[int, Scratch] = field(default_factory=dict[int, Scratch])
    queries: dict[int, Query] = field(default_factory=dict[int, Query])
    """PE -> its running Spark query."""

    def __post_init__(self) -> None:
        wanted = deployable(self.compilation)
        programs = wanted.plan.programs
        queries = [program for program in programs if program.engine == "dataframe"]
        if queries and self.engine is None:
            name = next(iter(queries[0].operators.values())).name
            message = f"{name} is a Spark query, which cannot be stepped without Spark; use `streams run`"
            raise StepError(message)
        self.catalog = Catalog(self.home)
        with lock_start(self.home.prepare(), wanted.name, "stepping") as lock:
            opened = open_application(self.catalog, lock, wanted, self.begins)
            if opened.deployed:
                continue_from_state(opened)
            else:
                write_first_plan(opened, asks_spark=False)
        self.name = wanted.name
        self.programs = programs
        self.measured = Settings.from_environment(self.home.environment).metrics
        self.units = tuple({program.unit for program in self.programs})
        self.deliverers = make_deliverers(self.catalog, self.name, self.programs)
        self.report_running()

    def plan(self, program: PeProgram) -> BatchPlan | None:
        """Return the plan of a PE's next batch; None if there is nothing to do.

        Raises:
            StaleGenerationError: the PE is no longer deployed.
        """
        view = read_view(self.catalog, program)
        return plan_batch(program, view, source_limit=self.source_limit, now=world.now())

    def execute(self, program: PeProgram, plan: BatchPlan) -> list[TaskResult]:
        """Run the tasks of a batch, and return their results without committing them; a failure is in its result."""
        scratch = self.scratch_of(program)
        rows = [
            (part.partition, 0, PLAN, 0, 0, plan_codec.dump_json(replace(plan, inputs=(part,)))) for part in plan.inputs
        ]
        assert not run_levels(scratch, rows)
        return take_answers(scratch.answers, plan.batch, program.tasks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_queries()

    def stop_queries(self) -> None:
        """Stop all Spark queries; stepping their PEs starts them again from the catalog."""
        while self.queries:
            self.queries.popitem()[1].stop()

    def _directories(self, program: PeProgram) -> Directories:
        return directories_of(self.home, self.name, program.pe, str(base_directory(self.compilation)))

    def scratch_of(self, program: PeProgram) -> Scratch:
        """Return the scratch directory of a PE; the first call creates it."""
        if program.pe not in self.scratches:
            directories = self._directories(program)
            path = self.home.data(self.name) / "spark" / f"pe-{program.pe}-{world.now_ns()}"
            self.scratches[program.pe] = Scratch.create(path, Launched(program, directories, self.measured))
        return self.scratches[program.pe]

    def step(self, program: PeProgram) -> bool:
        """Run one micro-batch of one PE, commit it, and publish outputs; return False if the PE has no work.

        Raises:
            StaleGenerationError: the PE is no longer deployed.
            StreamsRuntimeError: an operator raised; a Spark query has failed, or makes no batch in time; the commit was
                refused; or the names of files could not be synced.
            OutputError, OSError: an output cannot become visible or be removed.
        """
        if program.engine == "dataframe":
            return self._await_batch(program)
        plan = self.plan(program)
        if plan is None:
            return False
        results = self.execute(program, plan)
        for result in results:
            if result.failure is not None:
                raise StepError(result.failure.message)
        self.results += results
        commit_batch(self.catalog, program, plan, results, 0.0)
        self.publish()
        return True

    def _await_batch(self, program: PeProgram) -> bool:
        """Start a Spark query if needed, wait for its next micro-batch, and publish outputs; False without work."""
        before = read_view(self.catalog, program)
        if before.waits or plan_batch(program, before, source_limit=self.source_limit, now=world.now()) is None:
            return False
        query = self._query(program, before.generation)
        until = world.monotonic() + QUERY_SECONDS
        while True:
            mark = self.catalog.changes.mark()
            if read_view(self.catalog, program).batch != before.batch:
                self.publish()
                return True
            if failure := query.find_failure_or_restart():
                raise StepError(failure.message)
            if world.monotonic() > until:
                message = f"PE {program.pe} has made no batch within {QUERY_SECONDS:.0f} s"
                raise StepError(message)
            self.catalog.changes.wait(mark, POLL_SECONDS)

    def _query(self, program: PeProgram, generation: int) -> Query:
        query = self.queries.get(program.pe)
        if query is None or query.generation != generation:
            if query is not None:
                query.stop()
            assert self.engine is not None
            start = QueryStart(
                self.home, program, self._directories(program), generation, self.source_limit, self.measured
            )
            query = self.queries[program.pe] = self.engine().query(start)
        return query

    def publish(self) -> None:
        """Remove retracted outputs, make all outputs visible that can become visible, and mark complete directories.

        Raises:
            OutputError: an output cannot become visible or cannot be removed, or a directory cannot be marked.
            InvariantError: a file would become visible before its epoch is complete.
            OSError: another file has a final name, and cannot be compared.
        """
        waiting = outstanding(self.catalog, self.name, deliveries=True).deliveries
        for sink, rows in itertools.groupby(waiting, key=lambda row: row.operator):
            self.deliverers[sink].deliver(list(rows))
        publish(self.catalog, self.name)
        for deliverer in self.deliverers.values():
            if deliverer.marks:
                deliverer.deliver([])

    def report_running(self) -> None:
        """Record that all PEs run in the generation of their unit, as hosts would report, and update the units.

        Raises StreamsRuntimeError if a unit was removed meanwhile, or a rule of the protocol is broken.
        """
        u = tables.unit
        with self.catalog.write() as connection:
            for unit in connection.execute(select(u).where(u.c.application == self.name)).all():
                note_running_unit(connection, self.name, unit.name, unit.generation)
        advance_units_and_trial(self.catalog, self.name)

    def trigger(self) -> None:
        """Trigger the end of an epoch in every region whose period runs, as if it had passed, and update the units.

        Before that, all PEs are recorded as running; see `report_running`, also for errors.
        """
        self.report_running()
        u = tables.unit
        with self.catalog.write() as connection:
            names = connection.scalars(select(u.c.name).where(u.c.application == self.name)).all()
            move_period_ends(connection, self.name, names, 0.0)
        advance_units_and_trial(self.catalog, self.name)

    def run(self, *, trigger_every: int = 3) -> None:
        """Step all PEs in turn until the application has ended.

        In a turn without work, outputs are published and finished units are marked as complete. Every region is cut
        after `trigger_every` turns.

        Raises:
            StreamsRuntimeError, OSError: nothing is left to do although the application has not ended; a step failed; a
                batch cannot be committed; or an output cannot become visible.
        """
        idle = 0
        for turn in itertools.count(1):
            if turn % trigger_every == 0:
                self.trigger()
            stepped = [self.step(program) for program in self.programs]
            idle = 0 if any(stepped) else idle + 1
            if idle:
                self.publish()  # a process may have ended between the commit of a last batch and its publication
                if self.advance_to_end():
                    return
            if idle > 2 * trigger_every:
                break
        message = (
            "the application does not reach its end: no PE has anything to do, and its sources have not ended; give "
            "them an end"
        )
        raise StepError(message)

    def advance_to_end(self) -> bool:
        """Mark finished units as complete, bring a bounded run nearer to its end; return True if all has ended.

        All has ended if the application is complete or stopped. Raises StreamsRuntimeError if a unit was removed
        meanwhile, or a rule of the protocol is broken.
        """
        ended = complete(self.catalog, self.name)
        end_bounded_run(self.catalog, self.name, self.programs)
        return ended or has_application_ended(self.catalog, self.name)

    def published(self, sink: str) -> list[Path]:
        """Return the files that a `FileSink` has published, ordered by name; none before the first one."""
        return sorted((self.home.results(self.name) / sink).glob("part-*"))


def run_levels(scratch: Scratch, rows: Iterable[Row]) -> list[Row]:
    """Run the tasks of a batch, one after the other, and pass on the rows that they exchange.

    The rows are the plans of the tasks of the first level.

    Returns:
        The rows that the last level yields.
    """
    handed = list(rows)
    for level, tasks in enumerate(scratch.launched.program.levels):
        stage = PeLevel(scratch, level)
        parts: dict[int, list[Row]] = defaultdict(list)
        for row in handed:
            parts[row[0] % len(tasks)].append(row)
        handed = [
            row
            for part in parts.values()
            for batch in stage(record_batches(part))
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
    return handed


def publish(catalog: Catalog, application: str) -> int:
    """Remove retracted outputs and publish files, once, and return how many became visible.

    If errors occurred, the first one is raised afterwards.

    Raises:
        OutputError: a file cannot become visible, or a retracted output cannot be removed.
        InvariantError: a file would become visible before its epoch is complete.
        OSError: another file has a final name, and cannot be compared.
    """
    published, errors = publish_files(catalog, application)
    if errors:
        raise errors[0]
    return published
