"""Operators of the applications that faults happen to."""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar

from streams_orchestration.operators import Operator, State, TupleBatch
from streams_orchestration.operators.dict_state import DictState
from streams_orchestration.operators.keyed_state import KeyedState
from streams_orchestration.operators.rescaling import StateKeys
from streams_orchestration.operators.standard.beacon import Beacon, BeaconParameters
from streams_orchestration_tests.runtime.sample_operators import KeyedTotals, RunningTotals


class Totals(RunningTotals):
    """`RunningTotals` that go to other channels by their keys."""

    state_keys: ClassVar[StateKeys] = {"totals": "k"}


class Columns(KeyedTotals):
    """`KeyedTotals` that go to other channels by their keys; there are none but those of tuples."""

    state_keys: ClassVar[StateKeys] = {"totals": "k"}

    def setup(self) -> None:
        self.totals = KeyedState("k string", "number bigint, total bigint")


class Pairing(Operator):
    """Joins two inputs on `k` and `n`, which together occur once in each; what has no partner yet waits.

    The result does not depend on which input comes first.
    """

    stateful = True
    state_keys: ClassVar[StateKeys] = {"waiting0": ("k", "n"), "waiting1": ("k", "n")}

    def setup(self) -> None:
        self.waiting = DictState(), DictState()

    def process(self, port: int, batch: TupleBatch) -> None:
        found: dict[str, list] = {"k": [], "n": []}
        for row in batch.to_pylist():
            key = row["k"], row["n"]
            if self.waiting[1 - port].get(key) is not None:
                del self.waiting[1 - port][key]
                found["k"].append(row["k"])
                found["n"].append(row["n"])
            else:
                self.waiting[port][key] = 1
        schema = self.context.outputs[0]
        assert schema is not None
        if found["k"]:
            self.submit(TupleBatch.from_columns(found, schema))

    def checkpoint(self) -> State:
        return {f"waiting{port}": waiting for port, waiting in enumerate(self.waiting)}

    def restore(self, state: State) -> None:
        self.waiting = state["waiting0"], state["waiting1"]


PAUSE_SECONDS = 0.25
"""Between two batches of a source, so that a machine is not busy with batches alone."""


class PacedParameters(BeaconParameters):
    """Parameters of `Paced`."""

    hurry: str


class Paced(Beacon):
    """A Beacon that no longer waits as soon as a certain file exists."""

    Parameters = PacedParameters

    def _due(self, start: int, limit: int) -> int:
        if Path(self.parameters.hurry).exists():
            return limit
        time.sleep(PAUSE_SECONDS)
        return super()._due(start, limit)
