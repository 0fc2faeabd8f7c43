"""Results between watermarks leave an operator as one batch, with each tuple and watermark in its place (EV49)."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks
from streams_orchestration.runtime.tasks.collected_outputs import CollectedOutputs

SCHEMA = pa.schema([("n", pa.int64())])
OTHER = pa.schema([("n", pa.int64()), ("m", pa.int64())])


def tuples(*numbers: int) -> TupleBatch:
    return TupleBatch.from_columns({"n": list(numbers)}, SCHEMA)


def mark(value: int) -> Watermarks:
    return Watermarks.of((0, value))


def test_a_batch_keeps_the_watermarks_among_its_tuples():
    sent: list[list[str]] = []
    gathered = CollectedOutputs(lambda port, batch: sent.append(shown(batch)))
    gathered.add(0, tuples(1))
    gathered.add(0, tuples(2, 3).with_watermarks(Watermarks.of((1, 7))))
    gathered.mark(0, mark(8), SCHEMA)
    gathered.flush()
    assert sent == [["1", "2", "w7", "3", "w8"]]


def shown(batch: TupleBatch) -> list[str]:
    rows, items, done = [str(row["n"]) for row in batch.to_pylist()], list[str](), 0
    for place, value in batch.watermarks or ():
        items += [*rows[done:place], f"w{value}"]
        done = place
    return items + rows[done:]


@given(st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 9), max_size=3) | st.integers(0, 9))))
def test_each_port_gets_one_batch_with_everything_in_its_order(parts: list[tuple[int, list[int] | int]]):
    sent: list[tuple[int, TupleBatch]] = []
    gathered = CollectedOutputs(lambda port, batch: sent.append((port, batch)))
    wanted: dict[int, list[str]] = {}
    for port, part in parts:
        if isinstance(part, list):
            gathered.add(port, tuples(*part))
        else:
            gathered.mark(port, mark(part), SCHEMA)
        wanted.setdefault(port, []).extend(map(str, part) if isinstance(part, list) else [f"w{part}"])
    gathered.flush()
    assert {port: shown(batch) for port, batch in sent} == wanted
    assert len(sent) == len(wanted)


def test_nothing_is_sent_twice():
    sent: list[list[str]] = []
    gathered = CollectedOutputs(lambda port, batch: sent.append(shown(batch)))
    gathered.add(0, tuples(1))
    gathered.flush()
    gathered.add(0, tuples(2))
    gathered.flush()
    gathered.flush()
    assert sent == [["1"], ["2"]]


def test_tuples_of_another_type_are_sent_by_themselves():
    sent: list[list[str]] = []
    gathered = CollectedOutputs(lambda port, batch: sent.append(shown(batch)))
    gathered.add(0, tuples(1))
    gathered.add(0, TupleBatch.from_columns({"n": [2], "m": [0]}, OTHER))
    gathered.flush()
    assert sent == [["1"], ["2"]]
