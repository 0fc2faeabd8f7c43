"""Operators that benchmarks put into applications."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import ClassVar

import numpy as np
import pyarrow as pa

from streams_orchestration.operators import Operator, State, TupleBatch
from streams_orchestration.operators.contract.operator import Offset, Parameters, ProducedTo, SourceOperator
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import StateKeys

ROUNDS = 60
"""The rounds of `Digest` for every tuple."""
WIDE_ROWS = 65_536
SEEN: defaultdict[str, float] = defaultdict(float)
"""Operator -> the sum of the values that `Look` and `Write` saw in this process."""


class Totals(Operator):
    """Every tuple with the number of tuples of its key so far."""

    stateful = True

    def setup(self) -> None:
        self.totals: dict[str, int] = {}

    def process(self, port: int, batch: TupleBatch) -> None:
        numbers = []
        for key in batch.column("k").tolist():
            self.totals[key] = self.totals.get(key, 0) + 1
            numbers.append(self.totals[key])
        schema = self.context.outputs[0]
        assert schema is not None
        self.submit(TupleBatch.from_columns({"k": batch.arrow["k"], "n": numbers}, schema))

    def checkpoint(self) -> State:
        return {"totals": self.totals}

    def restore(self, state: State) -> None:
        self.totals = dict(state["totals"])


class Keyed(Operator):
    """Every tuple with the number of tuples of its key so far, kept by key, so that it can be divided."""

    stateful = True
    state_keys: ClassVar[StateKeys] = {"totals": "k"}

    def setup(self) -> None:
        schema = self.context.inputs[0]
        assert schema is not None
        self.totals = KeyedState(pa.schema([schema.field("k")]), "count bigint, total double")

    def process(self, port: int, batch: TupleBatch) -> None:
        rows = self.totals.rows_of(batch)
        np.add.at(self.totals.column("count"), rows, 1)
        schema = self.context.outputs[0]
        assert schema is not None
        self.submit(TupleBatch.from_columns({"k": batch.arrow["k"], "n": self.totals.column("count")[rows]}, schema))

    def checkpoint(self) -> State:
        return {"totals": self.totals}

    def restore(self, state: State) -> None:
        self.totals = state["totals"]


class Pass(Operator):
    """Hands its tuples on."""

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)


class Add(Operator):
    """Adds one to every number, in place."""

    def process(self, port: int, batch: TupleBatch) -> None:
        values = batch.writable("n")
        values += 1
        self.submit(batch)


class Digest(Operator):
    """A digest of every tuple, by a loop in Python that takes its time."""

    def process(self, port: int, batch: TupleBatch) -> None:
        numbers = []
        for value in batch.column("n").tolist():
            for _ in range(ROUNDS):
                value = (value * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
            numbers.append(value)
        schema = self.context.outputs[0]
        assert schema is not None
        self.submit(TupleBatch.from_columns({"k": batch.arrow["k"], "n": numbers}, schema))


class Wide(SourceOperator):
    """Wide tuples out of thin air: the same batch again and again."""

    def setup(self) -> None:
        schema = self.context.outputs[0]
        assert schema is not None
        columns = [pa.array(np.arange(WIDE_ROWS, dtype=np.float64)) for _ in schema]
        self.batch = pa.RecordBatch.from_arrays(columns, schema=schema)

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        for _ in range(max(limit // WIDE_ROWS, 1)):
            self.submit(TupleBatch(self.batch))
        return ProducedTo({"row": offset.get("row", 0) + limit}, exhausted=False)


class Look(Operator):
    """Reads every attribute once."""

    def process(self, port: int, batch: TupleBatch) -> None:
        SEEN[self.context.name] += sum(float(batch.column(name).sum()) for name in batch.schema.names)


class Write(Look):
    """Writes to one attribute before."""

    def process(self, port: int, batch: TupleBatch) -> None:
        values = batch.writable("a0")
        values *= 2
        super().process(port, batch)


class ClockParameters(Parameters):
    """The parameters of `Clock`."""

    rate: float
    """Tuples a second."""
    tuples: int


class Clock(SourceOperator):
    """Tuples of a number and the unix time at which it was due, as many a second as asked for."""

    Parameters = ClockParameters

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        rate, first = self.parameters.rate, offset.get("n", 0)
        began = offset.get("began") or time.time()
        time.sleep(max(0.0, began + (first + 1) / rate - time.time()))
        last = min(int((time.time() - began) * rate), first + limit, self.parameters.tuples)
        schema = self.context.outputs[0]
        assert schema is not None
        if last > first:
            numbers = np.arange(first, last)
            self.submit(TupleBatch.from_columns({"n": numbers, "made": began + (numbers + 1) / rate}, schema))
        return ProducedTo({"n": last, "began": began}, exhausted=last == self.parameters.tuples)
