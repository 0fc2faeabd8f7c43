"""Operators of the applications that faults happen to."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import ClassVar

from streams_orchestration.operators import Operator, State, TupleBatch
from streams_orchestration.operators.contract.operator import Offset, ProducedTo, SourceOperator
from streams_orchestration.operators.kafka.source_parameters import KafkaSourceParameters
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.standard.files.source_parameters import FileSourceParameters
from streams_orchestration.operators.standard.flow.beacon import Beacon, BeaconParameters
from streams_orchestration.operators.standard.systems.kafka_source import KafkaSource
from streams_orchestration.operators.standard.systems.sql_source import SqlSource
from streams_orchestration.operators.standard.systems.sql_source_parameters import SqlSourceParameters
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import StateKeys
from streams_orchestration_tests.runtime.sample_operators import KeyedTotals, RunningTotals

BEGINNING = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""Time of the first tuple."""


class Totals(RunningTotals):
    """`RunningTotals` that go to other channels by their keys."""

    state_keys: ClassVar[StateKeys] = {"totals": "k"}


class Columns(KeyedTotals):
    """`KeyedTotals` that go to other channels by their keys; there are none but those of tuples."""

    state_keys: ClassVar[StateKeys] = {"totals": "k"}

    def setup(self) -> None:
        self.totals = KeyedState("k string", "number bigint, total bigint")


class Timed(Totals):
    """Every tuple with a time of its own, a tenth of a second behind that before, and its number among its key's."""

    def process(self, port: int, batch: TupleBatch) -> None:
        rows = []
        for row in batch.to_pylist():
            number, _ = self.totals.get(row["k"], (0, 0))
            self.totals[row["k"]] = number + 1, 0
            rows.append((row["k"], row["n"], BEGINNING + datetime.timedelta(seconds=row["n"] / 10), number + 1))
        schema = self.context.outputs[0]
        assert schema is not None
        columns = {name: [row[i] for row in rows] for i, name in enumerate(schema.names)}
        self.submit(TupleBatch.from_columns(columns, schema))


class Pairing(Operator):
    """Joins two inputs on `k` and `n`, which together occur once in each; what has no partner yet waits.

    The result does not depend on which input comes first.
    """

    stateful = True
    state_keys: ClassVar[StateKeys] = {"waiting0": ("k", "n"), "waiting1": ("k", "n")}

    def setup(self) -> None:
        self.waiting = DictState(), DictState()

    def process(self, port: int, batch: TupleBatch) -> None:
        columns: dict[str, list] = {"k": [], "n": []}
        for row in batch.to_pylist():
            key = row["k"], row["n"]
            if self.waiting[1 - port].get(key) is not None:
                del self.waiting[1 - port][key]
                columns["k"].append(row["k"])
                columns["n"].append(row["n"])
            else:
                self.waiting[port][key] = 1
        schema = self.context.outputs[0]
        assert schema is not None
        if columns["k"]:
            self.submit(TupleBatch.from_columns(columns, schema))

    def checkpoint(self) -> State:
        return {f"waiting{port}": waiting for port, waiting in enumerate(self.waiting)}

    def restore(self, state: State) -> None:
        self.waiting = state["waiting0"], state["waiting1"]


BATCH_INTERVAL_SECONDS = 0.25
"""Between two batches of a source, so that a machine is not busy with batches alone."""
SLOW_TUPLES = 10
"""The tuples in a batch of a source that takes its time."""


class PacedParameters(BeaconParameters):
    """Parameters of `Paced`."""

    hurry: str


class Paced(Beacon):
    """A Beacon that no longer waits as soon as a certain file exists."""

    Parameters = PacedParameters

    def _due(self, start: int, limit: int) -> int:
        if Path(self.parameters.hurry).exists():
            return limit
        time.sleep(BATCH_INTERVAL_SECONDS)
        return super()._due(start, limit)


QUIET_CALLS = 3
"""Calls without a message after which a topic that gets no more has ended."""


class Slow(SourceOperator):
    """Gives a few tuples at a time until a certain file exists."""

    hurry: Path

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        if not self.hurry.exists():
            time.sleep(BATCH_INTERVAL_SECONDS)
            limit = min(limit, SLOW_TUPLES)
        return super().produce(offset, limit)


class SlowFileParameters(FileSourceParameters):
    """Parameters of `SlowFile`."""

    hurry: str


class SlowFile(Slow, FileSource):
    """A FileSource that takes its time."""

    Parameters = SlowFileParameters

    def setup(self) -> None:
        super().setup()
        self.hurry = Path(self.parameters.hurry)


class SlowKafkaParameters(KafkaSourceParameters):
    """Parameters of `SlowKafka`."""

    hurry: str


class SlowKafka(Slow, KafkaSource):
    """A KafkaSource that takes its time."""

    Parameters = SlowKafkaParameters

    def setup(self) -> None:
        super().setup()
        self.hurry = Path(self.parameters.hurry)


class FedKafka(KafkaSource):
    """A KafkaSource of a topic that is fed until a certain file exists; it ends with the last message."""

    Parameters = SlowKafkaParameters
    quiet = 0

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        fed = fed_file(Path(self.parameters.hurry)).exists()
        self.ended = frozenset()
        produced = super().produce(offset, limit)
        everything = sum(len(topic) for topic in produced.offset.get("next", {}).values())
        over = fed and produced.offset == offset and len(self.ended) == everything > 0
        self.quiet = self.quiet + 1 if over else 0  # messages that were read ahead may be older
        return ProducedTo(produced.offset, exhausted=self.quiet > QUIET_CALLS)


def fed_file(hurry: Path) -> Path:
    """Return the file that says that a topic gets no more messages."""
    return hurry.with_name("fed")


class SlowSqlParameters(SqlSourceParameters):
    """Parameters of `SlowSql`."""

    hurry: str


class SlowSql(Slow, SqlSource):
    """An SqlSource that takes its time."""

    Parameters = SlowSqlParameters

    def setup(self) -> None:
        super().setup()
        self.hurry = Path(self.parameters.hurry)
