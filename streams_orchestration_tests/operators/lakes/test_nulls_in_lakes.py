"""Lists and maps that are null stay so in lake tables, also where the library writes the rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streams_orchestration_tests.operators.lakes.lakes import LAKES, deliver, delivery

pytestmark = pytest.mark.filterwarnings("ignore:Iceberg scan planning")
NESTED = "k string, l array<struct<a: tinyint>>, m map<string, struct<a: int>>, t struct<l: array<struct<a: int>>>"
NULLS = [
    ("a", None, None, None), ("b", [], [], {"l": None}), ("c", [None, {"a": 1}], [("x", None)], {"l": []}),
]  # fmt: skip


@pytest.mark.parametrize("key", [[], ["k"]])
@pytest.mark.parametrize("name", LAKES)
def test_a_list_or_map_that_is_null_stays_so_also_where_other_rows_are_replaced(
    name: str, key: list[str], tmp_path: Path
):
    lake = LAKES[name](tmp_path)
    bench = lake.sink(NESTED, key=key)
    deliver(bench, NULLS, delivery(1))
    deliver(bench, [("d", None, None, {"l": None})], delivery(2))
    expected = [*NULLS, ("d", None, None, {"l": None})]
    if key:
        deliver(bench, [("b", None, None, None)], delivery(3))
        expected[1] = ("b", None, None, None)
    files = lake.files_of(lake.versions()[-1])
    rows = [tuple(row.values()) for path in files for row in pq.read_table(path).to_pylist()]
    assert sorted(rows, key=lambda row: row[0]) == expected
