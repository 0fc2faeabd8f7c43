"""Operators that benchmarks put into applications."""

from __future__ import annotations

from streams_orchestration.operators import Operator, State, TupleBatch


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


class Pass(Operator):
    """Hands its tuples on."""

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)
