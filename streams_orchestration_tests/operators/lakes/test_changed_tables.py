"""Lake tables that others have changed: columns that were added, and conditions that rows have to meet."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pytest

from streams_orchestration.operators.lakes.errors import LakeRefusedError
from streams_orchestration.operators.sinks.undeliverable import file_of
from streams_orchestration_tests.operators.lakes.lakes import LAKES, Delta, deliver, delivery

pytestmark = pytest.mark.filterwarnings("ignore:Iceberg scan planning")


@pytest.fixture(params=LAKES)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Delta:
    return LAKES[request.param](tmp_path)


@pytest.mark.slow
def test_columns_are_added_while_rows_are_replaced(lake: Delta):
    """By another schema of the sink, and by another writer in the middle."""
    first = lake.sink(key=["k"])
    deliver(first, [("a", 1), ("b", 2)], delivery(1))
    wider = lake.sink("k string, n bigint, z bigint", key=["k"], addColumns=True)
    deliver(wider, [("a", 5, 6), ("c", 7, 8)], delivery(2))
    deliver(wider, [("b", 9, None), ("c", 7, 1)], delivery(3))
    assert lake.rows() == [("a", 5, 6), ("b", 9, None), ("c", 7, 1)]
    lake.add_column("m")
    deliver(wider, [("a", 4, 4)], delivery(4))
    deliver(first, [("b", 3)], delivery(5))
    assert lake.rows() == lake.rows_of_duckdb() or type(lake) is Delta
    assert [row[:2] for row in lake.rows()] == [("a", 4), ("b", 3), ("c", 7)]


@pytest.mark.parametrize("key", [[], ["k"]])
def test_a_row_that_a_check_of_a_delta_table_refuses_is_named_or_set_aside(tmp_path: Path, key: list[str]):
    lake = Delta(tmp_path)
    lake.make_empty()
    deltalake.DeltaTable(lake.place).alter.add_constraint({"small": "n < 100"})
    rows = [("a", 1), ("b", 100), ("c", None)]
    with pytest.raises(LakeRefusedError, match=r"row 2 of epoch 1 by its constraint small \(n < 100\); .*route"):
        deliver(lake.sink(key=key), rows)
    bench = lake.sink(key=key, onUndeliverable="route")
    for _ in range(2):
        deliver(bench, rows)
    assert lake.rows() == [("a", 1)]
    left = [json.loads(line) for line in file_of(bench.context, delivery()).read_text().splitlines()]
    assert [(each["row"], each["reason"]) for each in left] == [(row, "constraint small (n < 100)") for row in (2, 3)]
