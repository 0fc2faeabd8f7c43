"""A test kit: runs a single operator without Spark, in the same way as the runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from streams_orchestration.operators.arrow_types import arrow_schema, required_attributes
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import (
    Offset,
    Operator,
    OperatorContext,
    PendingFile,
    ProducedTo,
    Punctuation,
    SourceOperator,
)
from streams_orchestration.operators.implementation import make_operator, wrong_method
from streams_orchestration.operators.region import RegionRole
from streams_orchestration.operators.results import check_files, check_nothing, check_produced, check_state
from streams_orchestration.operators.states.state import dump_state, load_state, plain_digest

Row = tuple[Any, ...]
Checkpoint = tuple[tuple[int, bytes], ...]
"""A stored state: version and content of each file in its chain."""


class OperatorHarness:
    """An operator under test, with everything that it has submitted.

    Example:
        harness = OperatorHarness(LongWords, ["word string"], ["word string"], parameters={"letters": 3})
        assert harness.send([("a",), ("word",)]).rows() == [("word",)]
    """

    def __init__(
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
    ) -> None:
        """Check and set up an operator.

        Args:
            kind: its class, or a function under `@operator`.
            inputs: the tuple type of every input port, as Spark DDL.
            outputs: the tuple type of every output port; None stands for a stream without a schema.
            parameters: the parameters as in a spec.
            base: the directory against which relative input paths are resolved.
            results: the directory against which relative output paths are resolved.
            channel: the replica's channel in a parallel region.
            max_channels: the number of channels.
            time_zone: the time zone of the application, an IANA name.
            trigger: the operator drives an operator-driven region; `consistent` counts the epochs that it has ended.

        Raises:
            pydantic.ValidationError: a parameter is unknown, missing or of a wrong type.
            ValueError: the operator's `check` finds a fault, or it has no method for tuples.
        """
        self.context = OperatorContext(
            name=kind.__name__,
            inputs=tuple(arrow_schema(ddl) for ddl in inputs),
            outputs=tuple(None if ddl is None else arrow_schema(ddl) for ddl in outputs),
            required=tuple(required_attributes(ddl or "") for ddl in outputs),
            base=base,
            results=results,
            pending=results / "_outputs",
            channel=channel,
            max_channels=max_channels,
            time_zone=time_zone,
            submit=self._submitted,
            punctuate=lambda port, mark: self.sent.append((port, mark)),
        )
        self.consistent = 0
        if trigger:
            self.context.region = RegionRole(0, start=True, trigger=True)
            self.context.make_consistent = self._make_consistent
        self.kind = kind
        self._outputs = tuple(outputs)
        self.sent: list[tuple[int, TupleBatch | Punctuation]] = []
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
        batch.refuse_nulls(required_attributes(self._outputs[port] or ""))
        self.sent.append((port, batch))

    def _create(self) -> Operator:
        return make_operator(self.kind, self.context, self.parameters)

    def send(self, rows: Sequence[Row] | TupleBatch, port: int = 0) -> Self:
        """Pass a batch to an input port. It is const unless the class's model declares the port mutable."""
        if isinstance(rows, TupleBatch):
            batch = rows
        else:
            schema = self.context.inputs[port]
            columns = {name: [row[i] for row in rows] for i, name in enumerate(schema.names)}
            batch = TupleBatch.from_columns(columns, schema)
        model = self.kind.model
        mutable = model is not None and model.signature().input(port).is_mutable
        check_nothing(self.operator.process(port, batch.own() if mutable else batch.const()), "process")
        return self

    def mark(self, mark: Punctuation = Punctuation.WINDOW, port: int = 0) -> Self:
        """Pass a punctuation mark to an input port."""
        check_nothing(self.operator.on_punctuation(port, mark), "on_punctuation")
        return self

    def end(self) -> Self:
        """Pass the final mark to every input port, as at the end of an application."""
        for port in range(len(self.context.inputs)):
            self.mark(Punctuation.FINAL, port)
        return self

    def produce(self, offset: Offset | None = None, limit: int = 1000) -> ProducedTo:
        """Let a source produce from an offset; without one, from its initial offset."""
        assert isinstance(self.operator, SourceOperator), f"{self.kind.__name__} is no SourceOperator"
        return check_produced(
            self.operator.produce(self.operator.initial_offset() if offset is None else offset, limit)
        )

    def checkpoint(self) -> Checkpoint:
        """Drain the operator and store its state, as at the end of an epoch. Returns the chain of files."""
        check_nothing(self.operator.drain(), "drain")
        self._version += 1
        chain = [(version, len(data)) for version, data in self._stored]
        dump = dump_state(check_state(self.operator.checkpoint()), self._version, chain, self._plain)
        self._plain = dump.plain
        if dump.data:
            self._stored = (*self._stored[: dump.kept], (self._version, dump.data))
        return self._stored

    def restart(self, stored: Checkpoint | None = None) -> Self:
        """Replace the operator by a new one that restores a stored state, as after a reset.

        Args:
            stored: a result of `checkpoint`; without it a checkpoint is taken now, so the restart should be
                unnoticeable.
        """
        self._stored = self.checkpoint() if stored is None else stored
        state = load_state(data for _, data in self._stored)
        self._plain = plain_digest(state)
        self.operator = self._create()
        self.operator.restore(state)
        return self

    def reset(self) -> Self:
        """Reset the operator to its initial state."""
        self.operator.reset_to_initial_state()
        self._stored = ()
        return self

    def commit(self, batch: int = 0) -> tuple[PendingFile, ...]:
        """End the micro-batch and return the files that a sink finished.

        The next micro-batch has the number `batch`.
        """
        files = check_files(self.operator.prepare_commit())
        self.context.batch = batch
        return files

    def rows(self, port: int = 0) -> list[Row]:
        """Return all tuples submitted to an output port so far."""
        return [item for item in self.items(port) if not isinstance(item, Punctuation)]

    def items(self, port: int = 0) -> list[Row | Punctuation]:
        """Return all tuples and marks submitted to an output port so far, in order."""
        shown: list[Row | Punctuation] = []
        for number, item in self.sent:
            if number == port:
                shown += (tuple(row.values()) for row in item.to_pylist()) if isinstance(item, TupleBatch) else [item]
        return shown

    @property
    def metrics(self) -> dict[str, int | float]:
        """The operator's custom metrics by name, accumulated over restarts."""
        return self.context.metrics.values

    def batches(self, port: int = 0) -> list[TupleBatch]:
        """Return all batches submitted to an output port so far."""
        return [item for number, item in self.sent if number == port and isinstance(item, TupleBatch)]
