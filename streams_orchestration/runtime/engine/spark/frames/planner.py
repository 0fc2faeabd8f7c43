"""Plans and commits the batches of a PE that is a Spark query; its checkpoint is the state of the PE."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streams_orchestration.operators.contract.offset import Offsets
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.engine.spark.frames.checkpoints import link_checkpoint, watermark_of
from streams_orchestration.runtime.engine.spark.frames.descriptors import (
    READ,
    WRITTEN,
    BatchRecord,
    FrameBatch,
    PortBatch,
)
from streams_orchestration.runtime.engine.spark.frames.graph_time import OutputMarks, QueryTime
from streams_orchestration.runtime.engine.spark.frames.output_delays import MILLISECOND
from streams_orchestration.runtime.engine.spark.frames.programs import (
    frame_parameters,
    state_operator,
    watermarked_ports,
)
from streams_orchestration.runtime.engine.spark.frames.progress import ProgressNote
from streams_orchestration.runtime.engine.spark.frames.reading import release_segments
from streams_orchestration.runtime.engine.spark.frames.time_files import TimeFiles
from streams_orchestration.runtime.engine.spark.frames.writing import mark_segments
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.batches import BatchPlan, StoredState, TaskInput, TaskResult
from streams_orchestration.runtime.programs.counts import Counts, add
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.queries.pe_view import PeView
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.tasks.task_results import take_all_answers

FAR_MICROSECONDS = 253_370_764_800 * 1_000_000
"""Event time of the marker that closes all windows: a time in the year 9999."""


WATERMARK = "event time below which tuples are late, in seconds since 1970"
STATE_ROWS = "rows that Spark keeps in the state of the query"
LATE_ROWS = "rows that Spark has dropped since they came after the watermark had passed them"


def flush_before_end(plan: BatchPlan, operator: str, *, autonomous: bool) -> BatchPlan:
    """Return a batch that closes all windows, if the planned batch is the query's last one.

    It does not end the epoch of a region. Return the planned batch if it is not the last one, or a batch has closed all
    windows before. The catalog records under the name `operator` that the windows were closed. `autonomous` says that
    the PE is in no region.
    """
    kept = plan.position.sources.get(operator, {})
    if not plan.final or kept.get("flushed"):
        return plan
    sources = plan.position.sources | {operator: kept | {"flushed": True}}
    return replace(plan, boundary=autonomous, final=False, position=replace(plan.position, sources=sources))


class FramePlanner(Planner):
    """The planner of a query's batches, used by the source that plans; see `BatchRecord`.

    Its creation restores the event time from the checkpoint. If that is damaged or cannot be used, it raises
    OperatorError, and the scratch directory has the reason. It raises OSError if a file of the event time cannot be
    read, and ImplementationError if an operator's class cannot be imported.
    """

    def __init__(self, options: dict[str, str], record: BatchRecord) -> None:
        super().__init__(options)
        self._record = record
        program = self.scratch.launched.program
        self._name = state_operator(program)
        self._watermarked = watermarked_ports(program)
        parameters = [frame_parameters(operator) for operator in program.operators.values()]
        self._flushes = bool(self._watermarked) and all(each.flush for each in parameters)
        self._remembers = len(self._watermarked) > 1
        """True if the catalog keeps the watermarks of several inputs, since Spark keeps only the lowest."""
        self._at_batch = -1
        """The catalog's number of the last batch in Spark's checkpoint."""
        self._brought_back = False
        """True once Spark was given the event times of all inputs again, after the query began."""
        self._notes = ProgressNote(self.scratch.path)
        self._late_rows = 0
        """The number of late rows that earlier batches have counted."""
        self._flushing = False
        """True if the planned batch has the marker that closes all windows."""
        self._time = QueryTime(program, self.scratch.launched.directories)
        self._time_files = TimeFiles(Path(self.scratch.checkpoint))
        try:
            self._time.load(self._time_files.load(self._name))
        except OperatorError as error:
            self.scratch.record_failure(Failure(str(error), "data"))
            raise
        self._marks: list[OutputMarks] = []
        """The watermarks after the results of the planned batch."""

    def start(self) -> int:
        """Record and return the last committed batch, after which the query begins; see `Planner.start`."""
        batch = super().start()
        self._record.record_first(batch)
        return batch

    def commit_and_plan(self, batch: int, not_before: float = 0.0) -> int:
        """Commit, and plan the next batch, as any planner does; record its input for the other sources."""
        if not self.scratch.begun:
            self.scratch.mark_begun()
        self._at_batch = batch
        planned = super().commit_and_plan(batch, not_before)
        if planned != batch and self.planned is not None:
            self._record.plan(planned, self._input_of(self.planned))
        return planned

    def _input_of(self, plan: BatchPlan) -> FrameBatch:
        """Return the input of every port in a batch."""
        try:
            return self._ports(plan)
        except StreamsRuntimeError as error:
            nature = Failure.of(error).nature
            if nature == "unknown" and isinstance(error, OperatorError):
                nature = "data"
            self.scratch.record_failure(Failure(str(error), nature, batch=plan.batch))
            raise

    def _plan(self, view: PeView, plan: BatchPlan | None) -> BatchPlan | None:
        """Return the batch to run.

        None if there is no plan. If the query is to be flushed, a batch that closes all windows is inserted before the
        last batch.
        """
        if view.batch != self._at_batch:
            message = (
                f"the checkpoint of Spark is at batch {self._at_batch}, the catalog at batch {view.batch}; reset its "
                "unit"
            )
            self.scratch.record_failure(Failure(message))
            raise StreamsRuntimeError(message)
        self._flushing = False
        if plan is None or not self._flushes:
            return plan
        planned = flush_before_end(plan, self._name, autonomous=self.scratch.launched.program.autonomous)
        self._flushing = planned is not plan
        return planned

    def _ports(self, plan: BatchPlan) -> FrameBatch:
        """Return the input of every port in a batch, under the key `operator:port`; write tuples that have waited."""
        released = self._released(plan)
        ports = dict(released)
        (task,) = plan.inputs
        for operator, port, segment in task.segments:
            key = f"{operator}:{port}"
            if key in released:
                continue
            known = ports.get(key, PortBatch())
            conditions = {segment.stream: task.filters[segment.stream]} if segment.stream in task.filters else {}
            ports[key] = replace(known, segments=(*known.segments, segment), filters=known.filters | conditions)
        for key, marker in self._markers(plan).items():
            ports[key] = replace(ports.get(key, PortBatch()), marker=marker)
        return FrameBatch(ports)

    def _released(self, plan: BatchPlan) -> dict[str, PortBatch]:
        """Advance event time by a batch; write the tuples that the watermark of their graph has passed as segments.

        Return these as the input of ports with `eventTime`; nothing outside of event-time graphs. The watermarks after
        the batch are kept for its commit.
        """
        if not self._time.uses_watermarks:
            return {}
        checkpoint = watermark_of(Path(self.scratch.checkpoint))
        watermark = None if checkpoint is None else checkpoint * MILLISECOND
        ended = self._flushing or plan.final
        passed, self._marks = self._time.enter(plan, watermark, self._record.delays(), ended=ended)
        launched, directory = self.scratch.launched, str(self._record.released(plan.batch))
        return {
            key: PortBatch(release_segments(launched.directories.store, directory, key, tuples))
            for key, tuples in passed.items()
        }

    def _markers(self, plan: BatchPlan) -> dict[str, int]:
        """Map ports to the event time, in microseconds, of a row that only advances the watermark of the port's view.

        Ports without such a row are left out. The time is in the far future while the query is flushed, and at the end
        of a graph if the query is to be flushed. In the first batch of a query with several watermarks it is the one
        that the catalog has kept.
        """
        if self._flushing:
            return dict.fromkeys(self._watermarked, FAR_MICROSECONDS)
        markers: dict[str, int] = {}
        if self._remembers and not self._brought_back:
            self._brought_back = True
            times = self._times(plan)
            markers = {key: times[name] for key, name in self._watermarked.items() if name in times}
        of_graph = {key: FAR_MICROSECONDS if value == END else value for key, value in self._time.markers.items()}
        kept = {key: value for key, value in of_graph.items() if value < FAR_MICROSECONDS or self._flushes}
        return markers | {key: min(value, FAR_MICROSECONDS) for key, value in kept.items()}

    @property
    def _waits(self) -> bool:
        """True if results may come one batch after the batch that advances Spark's watermark."""
        return any(delay.waits for delay in self._record.delays().values())

    def _times(self, plan: BatchPlan) -> dict[str, int]:
        """Return the latest known event times of the inputs with a watermark, by their names, before the batch."""
        return plan.position.sources.get(self._name, {}).get("times", {})

    def _take_answers(self, plan: BatchPlan) -> list[TaskResult]:
        """Take the answers of a batch, and write its watermarks as segments; return one result for the whole query.

        If the batch ends the epoch, also store the event time and link the checkpoint, which is then in the result.
        """
        answers = take_all_answers(self.scratch.answers, plan.batch)
        written = [answer for answer in answers if answer.level == WRITTEN]
        (task,) = plan.inputs
        states: tuple[StoredState, ...] = ()
        program, directories = self.scratch.launched.program, self.scratch.launched.directories
        if plan.boundary:
            self._time_files.store(self._time.dump(), plan.batch)
            prefix = f"g{plan.generation}-b{plan.batch}"
            former = plan.states.get(self._name)
            states = (
                link_checkpoint(Path(self.scratch.checkpoint), directories, prefix, self._name, plan.batch, former),
            )
        return [
            TaskResult(
                level=0,
                partition=0,
                rows_in=sum(segment.rows for _, _, segment in task.segments),
                rows_out=sum(result.rows_out for result in written),
                bytes_in=sum(segment.size for _, _, segment in task.segments),
                seconds=max((result.seconds for result in written), default=0.0),
                sources=self._sources(plan, [answer for answer in answers if answer.level == READ]),
                segments=(
                    *(segment for result in written for segment in result.segments),
                    *mark_segments(program, directories, self._marks),
                ),
                states=states,
                metrics=self._metrics(task, written),
                wake=clock.now() if self._time.rises and self._waits else None,
            )
        ]

    def _metrics(self, task: TaskInput, written: list[TaskResult]) -> Counts:
        """Take the counters of the operators; return them with the flows, Spark's state and the watermarks of a batch.

        The result is empty if measuring is off, and nothing is taken.
        """
        counts: Counts = {}
        for result in written:
            add(counts, result.metrics)
        if not counts:
            return {}
        operators = self.scratch.launched.program.operators
        for operator, port, segment in task.segments:
            flow = {"tuples": segment.rows, "batches": 1, "bytes": segment.size, "marks": 0}
            add(counts, {"operators": {operators[operator].name: {"inputs": {str(port): flow}}}})
        add(counts, {"operators": {self._name: self._state_metrics()}})
        add(counts, {"operators": self._time.counts()})
        return counts

    def _state_metrics(self) -> Counts:
        """Return the figures on Spark's state that the host has noted last, which may be of an earlier batch.

        Late rows are those since the last call. A figure that is not known yet is left out.
        """
        progress = self._notes.read()
        late, self._late_rows = progress.late_rows - self._late_rows, progress.late_rows
        counts: Counts = {"gauges": {}, "counters": {}, "about": {}}
        if progress.batch >= 0:
            counts["gauges"]["state_rows"] = progress.state_rows
            counts["counters"]["late_rows"] = late
            counts["about"] |= {"state_rows": STATE_ROWS, "late_rows": LATE_ROWS}
        watermark = watermark_of(Path(self.scratch.checkpoint)) if self._watermarked else None
        if watermark is not None:
            counts["gauges"]["watermark"] = watermark / 1000
            counts["about"]["watermark"] = WATERMARK
        return counts

    def _sources(self, plan: BatchPlan, read: list[TaskResult]) -> Offsets:
        """Return the latest event times of the inputs for the catalog; empty if Spark keeps them, as with one input."""
        if not self._remembers:
            return {}
        times = dict(self._times(plan))
        for answer in read:
            for key, offset in answer.sources.items():
                name = self._watermarked[key]
                times[name] = max(times.get(name, offset["time"]), offset["time"])
        return {self._name: plan.position.sources.get(self._name, {}) | {"times": times}}
