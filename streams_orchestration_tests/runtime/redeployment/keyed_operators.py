"""Operators of an application's own that keep something by key or by partition, and say so or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from streams_orchestration.operators.contract.operator import Offset, Operator, Parameters, ProducedTo, SourceOperator
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import Route, StateKeys
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch


class Visits(Operator):
    """An operator that counts the visits of each key, in columns."""

    stateful = True
    state_keys: ClassVar[StateKeys] = {"visits": "k"}

    def setup(self) -> None:
        self.visits = KeyedState("k string", "count bigint")

    def process(self, port: int, batch: TupleBatch) -> None:
        rows = self.visits.rows_of(batch)
        np.add.at(self.visits.column("count"), rows, 1)
        heads = np.unique(rows)
        keys = self.visits.index.keys(heads)
        self.submit(TupleBatch.from_columns({"k": keys.column("k"), "n": self.visits.column("count")[heads]},
                                            self.context.outputs[0]))  # fmt: skip

    def checkpoint(self) -> State:
        return {"visits": self.visits}

    def restore(self, state: State) -> None:
        self.visits = state["visits"]


class Last(Operator):
    """The last number of a pair of values, in a dictionary."""

    stateful = True
    state_keys: ClassVar[StateKeys] = {"last": ("k", "g")}

    def setup(self) -> None:
        self.last = DictState()

    def process(self, port: int, batch: TupleBatch) -> None:
        rows = batch.to_pylist()
        previous = [self.last.get((row["k"], row["g"])) for row in rows]
        for row in rows:
            self.last[row["k"], row["g"]] = row["n"]
        known = [(row["k"], n) for row, n in zip(rows, previous, strict=True) if n is not None]
        columns = {"k": [k for k, _ in known], "n": [n for _, n in known]}
        self.submit(TupleBatch.from_columns(columns, self.context.outputs[0]))

    def checkpoint(self) -> State:
        return {"last": self.last}

    def restore(self, state: State) -> None:
        self.last = state["last"]


class Partitions(SourceOperator):
    """Numbers in partitions; a channel reads those whose number is its own, modulo the width."""

    COUNT, EACH = 5, 9

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        positions = dict(offset) or self.beginning(self.context.channel, max(self.context.max_channels, 1))
        for partition, first in positions.items():
            behind = min(first + limit, self.EACH)
            if first < behind:
                columns = {"k": [partition] * (behind - first), "n": list(range(first, behind))}
                self.submit(TupleBatch.from_columns(columns, self.context.outputs[0]))
                positions[partition] = behind
                break
        return ProducedTo(positions, all(following == self.EACH for following in positions.values()))

    @classmethod
    def beginning(cls, channel: int, width: int) -> dict[str, int]:
        return {str(partition): 0 for partition in range(cls.COUNT) if partition % width == channel}

    def rescale(self, states: Sequence[State], route: Route) -> list[State]:
        begun = [dict(state) or self.beginning(channel, len(states)) for channel, state in enumerate(states)]
        every = {partition: following for each in begun for partition, following in each.items()}
        return [{partition: every[partition] for partition in self.beginning(channel, route.width)}
                for channel in range(route.width)]  # fmt: skip


class SilentVisits(Visits):
    """The same without a word of its keys."""

    state_keys: ClassVar[StateKeys] = {}


class LimitedParameters(Parameters):
    """Parameters of `Limited`."""

    limit: int
    text: str = ""


class Limited(Visits):
    """With parameters, one of which says nothing of the state."""

    Parameters = LimitedParameters
    free_parameters = frozenset(("text",))


class Merging(SilentVisits):
    """It says itself what becomes of its state."""

    def rescale(self, states: Any, route: Any) -> list[State]:
        return [dict(states[0])] + [{}] * (route.width - 1)


def remembers(batch: TupleBatch, state: dict[str, Any]) -> TupleBatch:
    """Count the batches of a Custom in its state."""
    state["batches"] = state.get("batches", 0) + 1
    return batch


def forgets(batch: TupleBatch) -> TupleBatch:
    """Return the batch of a Custom that keeps nothing."""
    return batch
