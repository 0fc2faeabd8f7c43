"""A test kit: runs a single operator without Spark, in the same way as the runtime."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import (
    Offset,
    Operator,
    OperatorContext,
    PendingFile,
    ProducedTo,
    Punctuation,
    SourceOperator,
)
from streams_orchestration.operators.contract.region_role import RegionRole
from streams_orchestration.operators.contract.results import check_files, check_nothing, check_produced, check_state
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.implementations.implementation import make_operator, wrong_method
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.state import dump_state, load_state, plain_digest
from streams_orchestration.operators.testing.watermarks import HarnessWatermarks, declared_role, in_ticks
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END, IDLE, Idle, Watermark, Watermarks

Row = tuple[Any, ...]
Checkpoint = tuple[tuple[int, bytes], ...]
"""A stored state: version and content of each file in its chain."""


class OperatorHarness:
    """An operator under test, with everything that it has submitted.

    Example:
        harness = OperatorHarness(LongWords, ["word string"], ["word string"], parameters={"letters": 3})
        assert harness.send([("a",), ("word",)]).rows() == [("word",)]
    """

    def __init__(  # noqa: PLR0913 - each is a setting of its own
        self,
        kind: type[Operator],
        inputs: Sequence[str] = (),
        outputs: Sequence[str | None] = (),
        *,
        parameters: Mapping[str, Any] | None = None,
        base: Path = Path(),
        results: Path = Path(),
        channel: int = -1,
        max_channels: int = 0,
        time_zone: str = "UTC",
        trigger: bool = False,
        event_time: EventTimeRole | str | None = None,
    ) -> None:
        """Check and set up an operator.

        Args:
            kind: the operator's class, or a function under `@operator`.
            inputs: the tuple type of every input port, as Spark DDL.
            outputs: the tuple type of every output port; None means a stream without a schema.
            parameters: the parameters as in a spec.
            base: the directory against which relative input paths are resolved.
            results: the directory against which relative output paths are resolved.
            channel: the replica's channel in a parallel region.
            max_channels: the number of channels.
            time_zone: the time zone of the application, an IANA name.
            trigger: the operator drives an operator-driven region; `consistent` counts the epochs that it has ended.
            event_time: the operator's role in an event-time graph, or the event-time attribute; then all ports with
                this attribute are in the graph, and a source makes watermarks of its tuples without lag and gap.

        Raises:
            pydantic.ValidationError: a parameter is unknown, missing or of a wrong type.
            ValueError: a tuple type or `event_time` is wrong, the operator's `check` finds a fault, a method is missing
                or has a wrong signature, or as for `make_operator`.
        """
        self.context = replace(
            OperatorContext.declared(kind.__name__, inputs, outputs, base, time_zone=time_zone),
            results=results,
            pending=results / "_outputs",
            names=results / "_names",
            channel=channel,
            max_channels=max_channels,
            submit=self._submitted,
            punctuate=lambda port, mark: self.sent.append((port, mark)),
        )
        self._inputs = self.context.inputs  # an operator may add columns to the inputs of its context
        if event_time is not None:
            self.context.event_time = (
                declared_role(self.context, event_time) if isinstance(event_time, str) else event_time
            )
        self.consistent = 0
        if trigger:
            self.context.region = RegionRole(0, start=True, trigger=True)
            self.context.make_consistent = self._make_consistent
        self.kind = kind
        self.sent: list[tuple[int, TupleBatch | Punctuation]] = []
        self._watermarks = HarnessWatermarks(self.context, self._send_watermarks)
        if event_time is not None:
            self.context.set_watermark = self._watermarks.set
            self.context.assign = self._watermarks.assign
            self.context.too_far_ahead = self._watermarks.too_far_ahead
        self._version = 0
        self._stored: Checkpoint = ()
        self._plain = b""
        self.parameters: Any = kind.Parameters.model_validate(dict(parameters or {}))
        if wrong := wrong_method(kind, len(inputs)):
            raise ValueError(wrong)
        kind.check(self.context, self.parameters)
        self.operator = self._create()

    def _make_consistent(self) -> None:
        self.consistent += 1

    def _submitted(self, port: int, batch: TupleBatch) -> None:
        batch.refuse_nulls(self.context.required_at(port))
        self.sent.append((port, self._watermarks.submitted(port, batch)))

    def _send_watermarks(self, port: int, steps: Watermarks) -> None:
        schema = self.context.outputs[port] or pa.schema([])
        self.sent.append((port, TupleBatch.bearing(steps, schema)))

    def _create(self) -> Operator:
        return make_operator(self.kind, self.context, self.parameters)

    def send(self, rows: Sequence[Row | Watermark | Idle] | TupleBatch, port: int = 0) -> Self:
        """Pass a batch to an input port. It is const unless the class's model declares the port mutable.

        The rows may contain `Watermark(value)` and `Idle()`.

        Raises:
            ResultError: a method of the operator returns a value, or the operator has timers and no method for them.
            DataError: the rows do not fit the port, or a submitted attribute that is NOT NULL is null.
        """
        batch = rows if isinstance(rows, TupleBatch) else self._batch(rows, port)
        model = self.kind.model
        mutable = model is not None and model.signature().input(port).is_mutable

        def process(part: TupleBatch) -> None:
            check_nothing(self.operator.process(port, part.own() if mutable else part.const()), "process")

        self._watermarks.call(self.operator, process, batch, port)
        return self

    def _batch(self, rows: Sequence[Row | Watermark | Idle], port: int) -> TupleBatch:
        schema = self._inputs[port]
        tuples = list[Row]()
        marks = list[tuple[int, int]]()
        for row in rows:
            if isinstance(row, Watermark):
                marks.append((len(tuples), in_ticks(row.value)))
            elif isinstance(row, Idle):
                marks.append((len(tuples), IDLE))
            else:
                tuples.append(row)
        columns = {name: [row[i] for row in tuples] for i, name in enumerate(schema.names)}
        batch = TupleBatch.from_columns(columns, schema)
        return batch.with_watermarks(Watermarks.of(*marks)) if marks else batch

    def watermark(self, value: Any, port: int = 0) -> Self:
        """Pass a watermark to an input port: a value of the event-time attribute's type.

        Raises:
            ResultError: a method of the operator returns a value, or the operator has timers and no method for them.
            DataError: the value has another type, or a submitted attribute that is NOT NULL is null.
        """
        return self.send([Watermark(value)], port)

    def idle(self, port: int = 0) -> Self:
        """Make the connection of an input port idle until its next tuple or watermark (EV51).

        Raises:
            ResultError: a method of the operator returns a value, or the operator has timers and no method for them.
            DataError: a submitted attribute that is NOT NULL is null.
        """
        return self.send([Idle()], port)

    def at(self, now: float) -> Self:
        """Set the time of the micro-batch in unix seconds, and call `on_time` of an operator that uses the clock.

        The time never decreases. Raises ResultError if `on_time` returns a value.
        """
        self.context.now = max(self.context.now, now)
        if isinstance(self.operator, ClockOperator):
            check_nothing(self.operator.on_time(), "on_time")
            self._watermarks.let_go(self.operator)
        return self

    def mark(self, mark: Punctuation = Punctuation.WINDOW, port: int = 0) -> Self:
        """Pass a punctuation mark to an input port. Raises ResultError if `on_punctuation` returns a value."""
        check_nothing(self.operator.on_punctuation(port, mark), "on_punctuation")
        self._watermarks.let_go(self.operator)
        return self

    def end(self) -> Self:
        """Pass the greatest watermark and the final mark to every input port, as at the end of an application.

        Raises:
            ResultError: a method of the operator returns a value, or the operator has timers and no method for them.
            DataError: a submitted attribute that is NOT NULL is null.
        """
        for port in self._watermarks.ports:
            self.watermark(END, port)
        for port in range(len(self.context.inputs)):
            self.mark(Punctuation.FINAL, port)
        return self

    def produce(self, offset: Offset | None = None, limit: int = 1000) -> ProducedTo:
        """Call a source to produce about `limit` tuples at most from an offset on, by default its initial offset.

        Raises:
            ResultError: `produce` returns something other than a valid `ProducedTo`.
            AssertionError: the operator is not a source.
        """
        assert isinstance(self.operator, SourceOperator), f"{self.kind.__name__} is not a SourceOperator"
        return check_produced(
            self.operator.produce(self.operator.initial_offset() if offset is None else offset, limit)
        )

    def checkpoint(self) -> Checkpoint:
        """Drain the operator and store its state, as at the end of an epoch. Returns the chain of files.

        Raises:
            ResultError: `drain` returns a value, or `checkpoint` no mapping with text keys.
            StateError: the state contains something that cannot be stored.
        """
        check_nothing(self.operator.drain(), "drain")
        self._version += 1
        chain = [(version, len(data)) for version, data in self._stored]
        dump = dump_state(check_state(self.operator.checkpoint()), self._version, chain, self._plain)
        self._plain = dump.plain
        if dump.parts:
            self._stored = (*self._stored[: dump.kept], (self._version, dump.data))
        self._watermarks.store(self._stored[-1][0] if self._stored else 0)
        return self._stored

    def restart(self, stored: Checkpoint | None = None) -> Self:
        """Replace the operator by a new one that restores a stored state, as after a reset.

        Args:
            stored: a result of `checkpoint`; without it a checkpoint is taken now, so the restart should be
                unnoticeable.

        Raises:
            StateError: the stored state is damaged, or the state contains something that cannot be stored.
            ResultError: `checkpoint` or `drain` returns something else.
        """
        self._stored = self.checkpoint() if stored is None else stored
        state = load_state(data for _, data in self._stored)
        self._plain = plain_digest(state)
        self.operator = self._create()
        self.operator.restore(state)
        self._watermarks.restore(self._stored[-1][0] if self._stored else 0)
        return self

    def reset(self) -> Self:
        """Replace the operator by a new one without a state, and forget the watermark and the stored state.

        Raises ResultError if its timers would never fire.
        """
        self.operator = self._create()
        self._watermarks.clear()
        self._stored = ()
        return self

    def commit(self, batch: int = 0) -> tuple[PendingFile, ...]:
        """End the micro-batch and return the files that a sink finished.

        The next micro-batch has the number `batch`. Raises ResultError if `prepare_commit` returns something else.
        """
        files = check_files(self.operator.prepare_commit())
        self.context.batch = batch
        return files

    def rows(self, port: int = 0) -> list[Row]:
        """Return all tuples submitted to an output port so far."""
        return [item for item in self.items(port) if isinstance(item, tuple)]

    def items(self, port: int = 0) -> list[Row | Punctuation | Watermark | Idle]:
        """Return all tuples, marks and watermarks submitted to an output port so far, in order."""
        shown: list[Row | Punctuation | Watermark | Idle] = []
        for number, item in self.sent:
            if number == port:
                shown += [item] if isinstance(item, Punctuation) else self._shown(item)
        return shown

    def _shown(self, batch: TupleBatch) -> Iterator[Row | Watermark | Idle]:
        """Yield the tuples of a batch with the watermarks among them."""
        rows, done = [tuple(row.values()) for row in batch.to_pylist()], 0
        for place, value in batch.watermarks or ():
            yield from rows[done:place]
            done = place
            yield Idle() if value == IDLE else Watermark(self._watermarks.shown(value))
        yield from rows[done:]

    @property
    def metrics(self) -> dict[str, int | float]:
        """The operator's custom metrics by name, accumulated over restarts."""
        return self.context.metrics.values

    def batches(self, port: int = 0) -> list[TupleBatch]:
        """Return all batches submitted to an output port so far."""
        return [item for number, item in self.sent if number == port and isinstance(item, TupleBatch)]


def same_at_any_division(
    create: Callable[[], OperatorHarness],
    arrivals: Sequence[tuple[int, Row | Watermark | Idle | Punctuation]],
    *,
    tries: int = 20,
    restarts: bool = True,
    seed: int = 0,
) -> OperatorHarness:
    """Check that the output does not depend on where batches end, nor on restarts between them (EV41).

    The arrivals are passed one by one, all together, and in random batches.

    Args:
        create: returns a new harness, always with the same operator.
        arrivals: input ports, each with what arrives there, in order.
        tries: the number of random divisions.
        restarts: restore the operator from a checkpoint between some of the random batches.
        seed: the seed of the random divisions.

    Returns:
        The harness to which the arrivals were passed one by one.

    Raises:
        AssertionError: the output of a port differs; the message has the port, the division and both outputs.
    """
    drawn = np.random.default_rng(seed)
    every = range(1, len(arrivals))
    wanted = _divided(create(), arrivals, every, ())
    shown = {port: wanted.items(port) for port in range(len(wanted.context.outputs))}
    for number in range(tries + 1):
        cuts = [cut for cut in every if number and drawn.random() < 0.5]
        restarted = {cut for cut in cuts if restarts and drawn.random() < 0.5}
        found = _divided(create(), arrivals, cuts, restarted)
        for port, items in shown.items():
            if found.items(port) != items:
                message = (
                    f"output port {port} differs when batches end at {cuts}, with restarts at {sorted(restarted)}:\n"
                    f"{found.items(port)}\none by one it is\n{items}"
                )
                raise AssertionError(message)
    return wanted


def _divided(
    harness: OperatorHarness,
    arrivals: Sequence[tuple[int, Row | Watermark | Idle | Punctuation]],
    cuts: Iterable[int],
    restarted: Container[int],
) -> OperatorHarness:
    """Pass arrivals in batches that end at some positions, at window marks, and where the port changes."""
    batch: list[Row | Watermark | Idle] = []
    ends = {*cuts, len(arrivals)}
    for position, (port, item) in enumerate(arrivals, start=1):
        if isinstance(item, Punctuation):
            harness.mark(item, port)
        else:
            batch.append(item)
        following = arrivals[position] if position < len(arrivals) else (port, item)
        if batch and (position in ends or following[0] != port or isinstance(following[1], Punctuation)):
            harness.send(batch, port)
            batch = []
        if position in restarted:
            harness.restart()
    return harness
