from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from streams_orchestration.runtime.sinks.results import read_first_rows
from streams_orchestration_tests.cli.made_up import sink


def publish(directory: Path, name: str, frame: pl.DataFrame, at: int) -> None:
    """Write a part as it lies there when it was written at a time, in seconds."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    os.utime(path, (at, at))


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_the_first_rows_are_of_what_was_published_last(tmp_path: Path, format_: str):
    place = sink(path=tmp_path, format=format_)
    assert read_first_rows(place, 2) is None
    publish(tmp_path, f"part-000001-000001-000.{format_}", pl.DataFrame({"n": [1, 2]}), at=10)
    publish(tmp_path, f"part-999999-000009-000.{format_}", pl.DataFrame({"n": [3, 4]}), at=20)
    publish(tmp_path, f"part-1000000-000010-000.{format_}", pl.DataFrame({"doubled": [10, 12, 14]}), at=30)
    publish(tmp_path / "_pending", f"part-1000001-000011-000.{format_}", pl.DataFrame({"doubled": [16]}), at=40)
    rows = read_first_rows(place, 2)
    assert rows is not None
    assert rows.to_dict(as_series=False) == {"doubled": [10, 12]}


def test_the_last_epoch_among_files_of_the_same_time_counts(tmp_path: Path):
    for epoch in (2, 1):
        publish(tmp_path / "k=a", f"part-00000{epoch}-000001-000.parquet", pl.DataFrame({"n": [epoch]}), at=10)
    rows = read_first_rows(sink(path=tmp_path, format="parquet"), 5)
    assert rows is not None
    assert rows.rows() == [(2, "a")]


def test_a_newest_file_that_is_damaged_shows_nothing(tmp_path: Path):
    publish(tmp_path, "part-000001-000001-000.parquet", pl.DataFrame({"n": [1]}), at=10)
    (tmp_path / "part-000002-000002-000.parquet").write_text("no rows")
    assert read_first_rows(sink(path=tmp_path, format="parquet"), 5) is None
