"""Sources that are asked what is there now: run after run takes what came, once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.contract import Offset, SourceOperator
from streams_orchestration.operators.standard.beacon import Beacon, BeaconParameters
from streams_orchestration.operators.standard.directory_scan import DirectoryScan
from streams_orchestration.operators.standard.sql_source import SqlSource
from streams_orchestration_tests.operators.harness import Bench


def scan(directory: Path) -> Bench:
    return Bench(DirectoryScan, outputs=["file string"], directory=str(directory))


def add_file(directory: Path, number: int) -> None:
    (directory / f"file-{number}").write_text("x")


def table(directory: Path) -> Bench:
    url = f"sqlite:///{directory / 'numbers.db'}"
    return Bench(SqlSource, outputs=["n bigint"], url=url, table="numbers", column="n", settle=0)


def add_row(directory: Path, number: int) -> None:
    with sqlite3.connect(directory / "numbers.db") as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO numbers VALUES (?)", [number])


@pytest.mark.parametrize(("source", "add"), [(scan, add_file), (table, add_row)], ids=["DirectoryScan", "SqlSource"])
def test_each_run_takes_what_came_before_it_and_nothing_that_comes_meanwhile(
    tmp_path: Path, source: Callable[[Path], Bench], add: Callable[[Path, int], None]
):
    numbers = iter(range(1000))
    for _ in range(5):
        add(tmp_path, next(numbers))
    offset: Offset | None = None
    wanted, taken = 5, list[Any]()
    for _ in range(3):
        bench = source(tmp_path)
        operator = bench.operator
        assert isinstance(operator, SourceOperator)
        offset, exhausted = operator.initial_offset() if offset is None else offset, False
        operator.until = operator.available(offset)
        came = 0
        while not exhausted:
            add(tmp_path, next(numbers))
            came += 1
            offset, exhausted = bench.produce(offset, 2)
        assert len(bench.rows()) == wanted
        taken += bench.rows()
        wanted = came
    assert len(set(taken)) == len(taken)


def test_a_beacon_has_an_end_where_it_has_iterations():
    finite, endless = ({"iterations": 3}, {})
    assert Beacon.endless(BeaconParameters.model_validate(finite)) is None
    assert Beacon.endless(BeaconParameters.model_validate(endless)) == "a Beacon without iterations has no end"
