"""The levels of a PE's Spark query: functions for `mapInArrow` that run the level's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from streams_orchestration.compiler.pe_program import PeProgram, Task
from streams_orchestration.runtime.engine.spark.exchange import RowSender, read_payload_once
from streams_orchestration.runtime.engine.spark.owners import Worker
from streams_orchestration.runtime.engine.spark.payload_store import PayloadStore, Taking
from streams_orchestration.runtime.engine.spark.progress_watchdog import ProgressWatchdog
from streams_orchestration.runtime.engine.spark.rows import PLAN, ROW_DDL, Row, TaskRequest, record_batches, requests
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.logs.logs import open_operator_logger
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.programs.codecs import plan_codec
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration.runtime.tasks.execution import TaskRun
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration.runtime.tasks.meter import Meter
from streams_orchestration.runtime.tasks.task_results import answered, give_answer
from streams_orchestration.runtime.transport.segments import Item, decode

AGAIN = "its tasks would have to run again"
"""Part of the message for a task that Spark would run again although other tasks may have its results."""
INSTANCES = InstanceCache()
"""The cache of the worker process, with operators that it still has in memory and need not restore."""
_PROGRESS = ProgressWatchdog()
_HELD = PayloadStore(lambda: _WORKER.address)


def freeze() -> None:
    """Do nothing; called after operators were made. A worker process replaces this function (`daemon.py`)."""


@dataclass(frozen=True)
class PeLevel:
    """The function for `mapInArrow` that runs one level of a PE."""

    scratch: Scratch
    level: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the tasks whose plans are among the rows, and yield the rows for later levels.

        Raises:
            StreamsRuntimeError: Spark has lost the results of a task and runs it again, while other tasks may have them
                already, and only a reset undoes all of them; or a process that ran a task has ended, or could not write
                its answer. An error of an operator is in the answer, and is not raised.
            OSError: the answer of a task that this process runs cannot be written.
        """
        if self.scratch.launched.apart:
            _require_first_run()
        here: list[Row] = []
        passing: list[Row] = []
        for batch in batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                (here if row[1] == self.level else passing).append(row)  # type: ignore[arg-type]
        yield from record_batches(passing)
        for request in requests(self.scratch, self.level, here):
            yield from record_batches(_WORKER.run(self.scratch.owner(self.level, request.partition), request))


def run_task(scratch: Scratch, task: Task, plan: BatchPlan, items: list[Row]) -> list[Row]:
    """Run a task in this process, which is its owner, and return the rows that it sends to other tasks.

    The task's result goes into an answer for the planner. If the task fails, the failure is logged and in the answer,
    and it sends no tuples. The first task of level 0 also sends the plan to all tasks of later levels, even if it
    fails. Payloads of the task's earlier batches are dropped.

    Raises:
        OSError: the answer cannot be written.
    """
    launched = scratch.launched
    program, directories = launched.program, launched.directories
    header = plan.header()
    key = (program.application, program.pe, task.level, task.partition)
    _HELD.begin_batch(key)
    new_sender = partial(RowSender, partial(_HELD.hold, key) if launched.apart else scratch.exchange)
    run: TaskRun | None = None
    rows_out: list[Row] = []
    try:
        run = TaskRun(program, task, header, directories, new_sender, INSTANCES, measured=launched.measured)
        result = run.run(plan.inputs[0] if plan.inputs else None, _items(items, run.meter))
        rows_out = list(_exchanged(program, task, run))
    except Exception as error:
        log = open_operator_logger("task", directories.log, directories.log_size)
        log.exception("batch %s failed", plan.batch)
        result = TaskResult(task.level, task.partition, failure=Failure.of(error, plan.batch))
    if task.level == 0 and task.partition == 0:
        payload = plan_codec.dump_json(header)
        rows_out += [(later.partition, later.level, PLAN, 0, 0, payload) for later in program.tasks if later.level]
    if run is not None and result.failure is None:
        result = replace(result, metrics=run.counts(), seconds=run.seconds)
    give_answer(scratch.answers, plan.batch, result)
    if run is not None and run.made:
        freeze()
    return rows_out


def _exchanged(program: PeProgram, task: Task, run: TaskRun) -> Iterator[Row]:
    """Yield the rows for tasks of later levels."""
    origin = task.level * 1_000_000 + task.partition
    for operator, port, payload in run.outbox.exchanged():
        target = program.task_of[operator]
        yield (target.partition, target.level, operator, port, origin, payload)


def serve_request(request: TaskRequest | Taking) -> list[Row] | pa.Buffer:
    """Run a task as its owner, and return the rows that it sends; for a `Taking`, return the payload that is held.

    Raises:
        StreamsRuntimeError: the task has answered this batch already, or the payload is no longer held.
        OSError: the answer cannot be written.
    """
    if isinstance(request, Taking):
        return _HELD.give(request)
    launched = request.scratch.launched
    task = launched.program.levels[request.level][request.partition]
    plan = plan_codec.validate_json(request.plan)
    if launched.apart and answered(request.scratch.answers, plan.batch, task):
        raise StreamsRuntimeError(AGAIN)
    with _PROGRESS.task(launched.hang_limit):
        return run_task(request.scratch, task, plan, request.items)


_WORKER = Worker(serve_request)


def announce() -> None:
    """Announce this process as a worker of its host; for errors see `Worker.announce`."""
    _WORKER.announce()


def _require_first_run() -> None:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        raise StreamsRuntimeError(AGAIN)


def pe_query(first: Any, scratch: Scratch) -> Any:
    """Return the query of a PE, in which the levels follow one another with an exchange between two.

    `first` has the rows that level 0 yields, with the columns of `ROW_DDL`.
    """
    frame = first
    for level, tasks in enumerate(scratch.launched.program.levels[1:], start=1):
        frame = frame.repartitionById(len(tasks), "partition").mapInArrow(PeLevel(scratch, level), ROW_DDL)
    return frame


def _items(rows: list[Row], meter: Meter) -> Iterator[tuple[int, int, Item]]:
    for _, _, operator, port, _, payload in rows:
        data = read_payload_once(payload, _HELD.take)
        for item in meter.receiving(operator, port, decode(data), data.size):
            yield operator, port, item
