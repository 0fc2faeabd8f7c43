"""Operators that show what the runtime does with them."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from streams_orchestration.operators import DataError, Operator, Parameters, Punctuation, State, TupleBatch, operator
from streams_orchestration.operators.loading.libraries import compute
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState


class Doubling(Operator):
    """Doubles `n` in place."""

    def process(self, port: int, batch: TupleBatch) -> None:
        values = batch.writable("n")
        values *= 2
        self.submit(batch)


class Writing(Operator):
    """Writes to its tuples and keeps the result to itself."""

    def process(self, port: int, batch: TupleBatch) -> None:
        batch.writable("n")[:] = -1


class Passing(Operator):
    """Hands its tuples on."""

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)


class RunningTotals(Operator):
    """Every tuple with the number and the sum of the tuples of its key so far: every loss, gain and swap shows."""

    stateful = True

    def setup(self) -> None:
        self.totals = DictState()

    def process(self, port: int, batch: TupleBatch) -> None:
        rows = []
        for row in batch.to_pylist():
            number, total = self.totals.get(row["k"], (0, 0))
            self.totals[row["k"]] = number + 1, total + row["n"]
            rows.append((row["k"], number + 1, total + row["n"]))
        schema = self.context.outputs[0]
        assert schema is not None
        columns = {name: [row[i] for row in rows] for i, name in enumerate(("k", "number", "total"))}
        self.submit(TupleBatch.from_columns(columns, schema))

    def checkpoint(self) -> State:
        return {"totals": self.totals}

    def restore(self, state: State) -> None:
        self.totals = state["totals"]


class KeyedTotals(Operator):
    """The same as `RunningTotals`, with the state in columns; most of it is never touched again."""

    stateful = True

    def setup(self) -> None:
        self.totals = KeyedState("k string", "number bigint, total bigint")
        self.totals.put_many([f"untouched {i}" for i in range(500)], {"number": [0] * 500})

    def process(self, port: int, batch: TupleBatch) -> None:
        rows = self.totals.rows_of(batch)
        numbers, totals = self.totals.column("number"), self.totals.column("total")
        out: dict[str, list[Any]] = {"k": batch.arrow.column("k").to_pylist(), "number": [], "total": []}
        for row, value in zip(rows.tolist(), batch.column("n").tolist(), strict=True):
            numbers[row] += 1
            totals[row] += value
            out["number"].append(numbers[row])
            out["total"].append(totals[row])
        schema = self.context.outputs[0]
        assert schema is not None
        self.submit(TupleBatch.from_columns(out, schema))

    def checkpoint(self) -> State:
        return {"totals": self.totals}

    def restore(self, state: State) -> None:
        self.totals = state["totals"]


class Holding(Operator):
    """Holds tuples back until a boundary or the end: a state that is empty again after every epoch."""

    stateful = True

    def setup(self) -> None:
        self.kept: list[pa.RecordBatch] = []

    def process(self, port: int, batch: TupleBatch) -> None:
        self.kept.append(batch.arrow)

    def drain(self) -> None:
        for batch in self.kept:
            self.submit(TupleBatch(batch))
        self.kept = []

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        if mark is Punctuation.FINAL:
            self.drain()

    def checkpoint(self) -> State:
        return {"held": pa.Table.from_batches(self.kept)} if self.kept else {}

    def restore(self, state: State) -> None:
        self.kept = state["held"].to_batches() if "held" in state else []


class RefusingParameters(Parameters):
    value: int
    permanent: bool = False


class Refusing(Operator):
    """Fails when `n` is a certain value."""

    Parameters = RefusingParameters

    def process(self, port: int, batch: TupleBatch) -> None:
        if compute.any(compute.equal(batch.arrow.column("n"), self.parameters.value)).as_py():
            message = f"n is {self.parameters.value}"
            raise (DataError if self.parameters.permanent else RuntimeError)(message)
        self.submit(batch)


class Marks(Operator):
    """One tuple for every mark and every batch, in the order of arrival."""

    stateful = True

    def setup(self) -> None:
        self.seen: list[Any] = []

    def process(self, port: int, batch: TupleBatch) -> None:
        self._tell([f"{port}:{n}" for n in batch.column("n")])

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        self._tell([f"{port}:{mark.value}"])

    def _tell(self, texts: list[str]) -> None:
        schema = self.context.outputs[0]
        assert schema is not None
        self.submit(TupleBatch.from_columns({"k": texts}, schema))


@operator
def inverse(batch: TupleBatch) -> dict[str, Any]:
    """Cannot be had of zero."""
    values = batch.column("n").tolist()
    return {"k": batch.arrow["k"], "n": [10 // n for n in values]}


@operator
def leaving(batch: TupleBatch) -> None:
    """Ends the program at a zero."""
    if 0 in batch.column("n").tolist():
        sys.exit(3)


@operator(mutates=("n",))
def inverse_in_place(batch: TupleBatch) -> TupleBatch:
    """Invert the tuples in place, one by one."""
    values = batch.writable("n")
    for i, n in enumerate(values.tolist()):
        values[i] = 10 // n
    return batch


def inverse_of_one(values: dict[str, Any]) -> dict[str, Any]:
    """Invert one tuple, for Custom."""
    return {"k": values["k"], "n": 10 // values["n"]}


def numbered_inverse(batch: TupleBatch, state: dict[str, Any]) -> dict[str, Any]:
    """Invert tuples with a state, so that it cannot be called again."""
    state["count"] = state.get("count", 0) + len(batch)
    return {"k": batch.arrow["k"], "n": [10 // n for n in batch.column("n").tolist()]}


class OtherSchema(Operator):
    """Submits tuples of another type than its stream's."""

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(TupleBatch(batch.arrow.select(["n"])))
