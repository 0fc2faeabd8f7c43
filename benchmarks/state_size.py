"""State of 1,000,000 keys of which 1,000 change in a batch: the time and size of checkpoints, whole and as changes.

The state is a count and a sum for every key, a number or a string. The yardsticks are a table as Arrow writes it, and a
dictionary as JSON, as simpler operators store it. Times of checkpoints are wall times with the file durable on disk;
restoring and memory are measured without the disk.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Row, memory, seconds
from streams_orchestration.operators.standard.aggregation.aggregate import Aggregate
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.state import State, dump_state, load_state
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch

KEYS, CHANGED = 1_000_000, 1_000
READING = "k bigint, n bigint, t timestamp"
SCHEMA = arrow_schema(READING)
BATCHES = 60


def keys(kind: str, count: int = KEYS) -> pa.Array:
    """Return different keys in no order."""
    numbers = np.random.default_rng(7).permutation(count) * 7919
    return pa.array(numbers) if kind == "bigint" else pa.array([f"customer-{number:012}" for number in numbers])


def filled(kind: str, count: int = KEYS) -> KeyedState:
    """Return the state after its keys have come once."""
    state = KeyedState(f"k {kind}", "count bigint, total double")
    state.put_many(keys(kind, count), {"count": np.arange(count), "total": np.arange(count) / 3})
    return state


class Stored:
    """A state and its chain, with the files that the runtime would write."""

    def __init__(self, state: Callable[[], State], directory: Path) -> None:
        self.state = state
        self.directory = directory
        self.chain: list[tuple[int, bytes]] = []
        self.version = 0

    def store(self) -> tuple[float, int]:
        """Store one checkpoint. Return its seconds, and the bytes that it wrote."""
        begin = time.perf_counter()
        self.version += 1
        dump = dump_state(self.state(), self.version, [(version, len(data)) for version, data in self.chain])
        with (self.directory / f"{self.version}.state").open("wb") as file:
            file.writelines(dump.parts)
            file.flush()
            os.fsync(file.fileno())
        taken = time.perf_counter() - begin
        self.chain = [*self.chain[: dump.kept], (self.version, dump.data)]
        return taken, dump.size


def batches(stored: Stored, change: Callable[[int], None], count: int) -> tuple[float, float]:
    """Change and store the state some times; return the mean seconds and bytes of a checkpoint, merges included."""
    measured = []
    for number in range(count):
        change(number)
        measured.append(stored.store())
    return tuple(sum(each) / count for each in zip(*measured, strict=True))  # type: ignore[return-value]


def used(files: list[bytes], some: pa.Array) -> KeyedState:
    """Return a restored state that was asked for some keys: without changes, its index is made only then."""
    state: KeyedState = load_state(files)["state"]
    state.rows_of(some)
    return state


def restoring() -> Callable[[], Any]:
    """Return a function, for `memory`, that restores a state from its file."""
    data = dump_state({"state": filled("string")}).data
    return lambda: load_state([data])


def remembering() -> Callable[[], Any]:
    """Return a function, for `memory`, that makes the same state as a dictionary of tuples, as in plain Python."""
    table = filled("string").table()
    return lambda: {
        (key,): (count, total) for key, count, total in zip(*(c.to_pylist() for c in table.columns), strict=True)
    }


WINDOWS = {
    "tumbling, punct()": "groups of a window",
    "tumbling, count(100), partitioned": "tumbling windows",
    "tumbling, time(60), partitioned": "tumbling windows by time",
    "sliding, count(5), count(5), partitioned": "sliding windows",
    "sliding, time(60), time(60), partitioned": "sliding windows by time",
}


def of_windows(window: str) -> OperatorHarness:
    """Return an Aggregate in whose windows every key has come once."""
    partitioned = {"partitionBy": ["k"]} if "partitioned" in window else {}
    timed = {"timeAttribute": "t"} if "time" in window else {}
    output = {"total": "Sum(n)", "number": "Count()"}
    given = {"window": window, "groupBy": ["k"], "output": output, **partitioned, **timed}
    operator = OperatorHarness(Aggregate, [READING], ["k bigint, total bigint, number bigint"], parameters=given)
    return operator.send(readings(0, KEYS))


def of_join() -> OperatorHarness:
    """Return a Join in each of whose windows every key has come once."""
    given = {
        "window": f"sliding, count({KEYS})",
        "equalityLHS": ["k"],
        "equalityRHS": ["k"],
        "output": {"k": "lhs_k", "n": "lhs_n"},
    }
    operator = OperatorHarness(Join, [READING, READING], ["k bigint, n bigint"], parameters=given)
    return operator.send(readings(0, KEYS)).send(readings(0, KEYS), 1)


def readings(first: int, count: int) -> TupleBatch:
    """Return tuples of consecutive keys, one a millisecond."""
    numbers = np.arange(first, first + count)
    columns = {"k": keys("bigint").take(pa.array(numbers % KEYS)), "n": numbers}
    columns["t"] = pa.array(numbers * 1000).cast(SCHEMA.field("t").type)
    return TupleBatch.from_columns(columns, SCHEMA)


def against_whole(what: str, changes: tuple[float, float], whole: tuple[float, float]) -> list[Row]:
    """Return the ratios of a checkpoint of changes to a checkpoint of the whole, each as its seconds and its bytes."""
    return [
        Row(f"{what}: time / whole", changes[0] * 1e3, "ms", whole[0] * 1e3, 0.2),
        Row(f"{what}: bytes / whole", changes[1] / 1e6, "MB", whole[1] / 1e6, 0.05),
    ]


def operators(*, quick: bool) -> list[Row]:
    """Return the ratios of checkpoints of operators with a million keys, each after a batch with a thousand of them."""
    result: list[Row] = []
    cases = {text: partial(of_windows, window) for window, text in WINDOWS.items()} | {"both sides of a join": of_join}
    for text, make in cases.items():
        with tempfile.TemporaryDirectory() as place:
            operator = make()
            operator.sent.clear()
            stored = Stored(operator.operator.checkpoint, Path(place))
            whole = stored.store()

            def change(number: int, operator: OperatorHarness = operator) -> None:
                operator.send(readings(KEYS + number * CHANGED, CHANGED))
                operator.sent.clear()

            changes = batches(stored, change, BATCHES // 6 if quick else BATCHES)
            what = f"{text}: checkpoint of {KEYS:,} keys, {CHANGED:,} changed"
            result += against_whole(what, changes, whole)
    return result


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of checkpoints, restoring and memory."""
    count = BATCHES // 6 if quick else BATCHES
    result = operators(quick=quick)
    for kind in ("bigint", "string"):
        with tempfile.TemporaryDirectory() as place:
            directory, names = Path(place), keys(kind)
            state = filled(kind)
            stored = Stored(lambda state=state: {"state": state}, directory)
            stored.store()

            def change(number: int, state: KeyedState = state, names: pa.Array = names) -> None:
                some = names.slice(number * CHANGED, CHANGED)
                state.column("count")[state.rows_of(some)] += 1

            changes = batches(stored, change, count)
            whole = Stored(lambda state=state: {"state": state.table()}, directory)
            what = f"checkpoint of {KEYS:,} {kind} keys, {CHANGED:,} changed"
            result += against_whole(what, changes, batches(whole, lambda _: None, 5))
            data = [data for _, data in stored.chain]
            back, base, table = seconds(
                partial(used, data, names.slice(0, CHANGED)),
                partial(used, data[:1], names.slice(0, CHANGED)),
                partial(load_state, [whole.chain[0][1]]),
                repeat=3,
            )
            what = f"restoring {KEYS:,} {kind} keys and looking {CHANGED:,} up"
            result += [
                Row(f"{what}, {len(data)} files / the whole alone", back, "s", base, 1.2),
                Row(f"{what} / reading them as a table only", back, "s", table),
            ]
    simple = DictState({f"customer-{number:012}": [number, number / 3] for number in range(KEYS // 10)})
    with tempfile.TemporaryDirectory() as place:
        stored = Stored(lambda: {"state": simple}, Path(place))
        first = stored.store()

        def assign(number: int) -> None:
            simple.update({f"customer-{key:012}": [number, 0.5] for key in range(number * 100, number * 100 + 100)})

        changes = batches(stored, assign, count)
        what = f"checkpoint of a dictionary of {KEYS // 10:,} keys, 100 changed"
        result += against_whole(what, changes, first)
    what = f"memory of {KEYS:,} string keys with two numbers / a dictionary of tuples"
    result.append(Row(what, memory(restoring), "MB", memory(remembering), 1.0))
    return result
