from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from streams_orchestration.cli.results import Result, UnreadableResultError, read_result, result_document, result_table
from streams_orchestration.cli.terminal import rendered
from streams_orchestration_tests.cli.made_up import sink


def parts(directory: Path, format_: str, *frames: pl.DataFrame) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(frames):
        path = directory / f"part-{number}.{format_}"
        frame.write_parquet(path) if format_ == "parquet" else frame.write_csv(path)


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_parts_are_read_and_sorted(tmp_path, format_):
    parts(
        tmp_path,
        format_,
        pl.DataFrame({"carrier": ["UA", "AA"], "flights": [3, 2]}),
        pl.DataFrame({"carrier": ["AA", None], "flights": [1, 9]}),
    )
    result = read_result(sink(path=tmp_path, format=format_), 40)
    assert result.rows.rows() == [("AA", 1), ("AA", 2), ("UA", 3), (None, 9)]
    assert (result.total, result.left_out) == (4, 0)


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_attributes_that_name_directories_are_read_too(tmp_path, format_):
    for name, flights in (("carrier=UA", [3, 1]), ("carrier=a%2Fb", [2]), ("carrier=__HIVE_DEFAULT_PARTITION__", [4])):
        parts(tmp_path / name, format_, pl.DataFrame({"flights": flights}))
    parts(tmp_path / "_pending" / "carrier=UA", format_, pl.DataFrame({"flights": [5]}))
    result = read_result(sink(path=tmp_path, format=format_), 40)
    assert result.rows.rows() == [(1, "UA"), (2, "a/b"), (3, "UA"), (4, None)]


def test_types_that_are_made_out_by_the_values_may_differ_between_directories(tmp_path):
    parts(tmp_path / "k=a", "csv", pl.DataFrame({"x": ["1"]}))
    parts(tmp_path / "k=b", "csv", pl.DataFrame({"x": ["one"]}))
    assert read_result(sink(path=tmp_path, format="csv"), 40).rows.rows() == [("1", "a"), ("one", "b")]


def test_files_that_are_not_published_are_not_read(tmp_path):
    parts(tmp_path, "parquet", pl.DataFrame({"x": [1]}))
    parts(tmp_path / "_pending", "parquet", pl.DataFrame({"x": [2]}))
    assert read_result(sink(path=tmp_path), 40).total == 1
    assert read_result(sink(path=tmp_path / "nothing"), 40).total == 0


def test_only_so_many_rows_are_shown_and_the_others_counted(tmp_path):
    parts(tmp_path, "parquet", pl.DataFrame({"x": list(range(100))}))
    result = read_result(sink(path=tmp_path), max_rows=3)
    assert result.rows["x"].to_list() == [0, 1, 2]
    text = rendered(result_table(result), colour=False, width=400)
    assert "Results: 100 rows" in text
    assert f"97 more rows in {tmp_path}" in text


def test_values_are_shown_for_people():
    rows = pl.DataFrame(
        {
            "year": [2013, None],
            "mean": [12.63919, 0.00012],
            "late": [True, False],
            "day": [date(2013, 1, 2), None],
            "tags": [["a"], []],
        }
    )
    text = rendered(result_table(Result(sink(), rows, 2)), colour=False)
    for cell in ("2013", "null", "12.639", "0.00012", "true", "2013-01-02", '["a"]'):
        assert cell in text


def test_nested_columns_are_no_sort_keys(tmp_path):
    parts(tmp_path, "parquet", pl.DataFrame({"tags": [["b"], ["a"]]}))
    assert read_result(sink(path=tmp_path), 40).total == 2


def test_damaged_files_are_an_error_with_a_remedy(tmp_path):
    (tmp_path / "part-0.parquet").write_bytes(b"not parquet")
    with pytest.raises(UnreadableResultError, match=r"Results: the result in .* cannot be read: .*--fresh"):
        read_result(sink(path=tmp_path), 40)


TYPED = {
    "schema": "id bigint, price decimal(38, 18), at timestamp, t string, x double, m map<string, int>",
    "format": "jsonl",
}
OBJECTS = """\
{"id":9007199254740993,"price":12345678901234567890.123456789012345678,"at":"2024-01-01T00:00:00Z","t":"","m":{"a":1}}
{"id":2,"price":0.000000000000000001,"at":null,"t":null,"x":"NaN","m":null}
"""


def test_text_files_of_a_sink_are_read_with_the_types_of_the_schema(tmp_path):
    (tmp_path / "part-0.jsonl").write_text(OBJECTS)
    rows = read_result(sink(path=tmp_path, format="jsonl", read_with=TYPED), 40).rows
    assert rows["id"].to_list() == [2, 9007199254740993]
    assert [str(price) for price in rows["price"]] == ["1E-18", "12345678901234567890.123456789012345678"]
    assert rows["t"].to_list() == [None, ""]


def test_csv_is_read_with_the_parameters_of_its_sink(tmp_path):
    parameters = {"schema": "t string, n int", "format": "csv", "separator": ";", "nullTexts": ["-"]}
    (tmp_path / "part-0.csv").write_text('t;n\n"a;b";1\n"line\rfeed";-\n"-";3\n-;4\n;5\n')
    rows = read_result(sink(path=tmp_path, format="csv", read_with=parameters), 40)
    assert rows.rows.rows() == [("", 5), ("-", 3), ("a;b", 1), ("line\rfeed", None), (None, 4)]
    assert (rows.total, read_result(sink(path=tmp_path, format="csv", read_with=parameters), 2).rows.height) == (5, 2)


def test_a_file_of_text_that_was_altered_is_an_error_with_its_place(tmp_path):
    (tmp_path / "part-0.jsonl").write_text('{"n": 1}\n{"n": "x"}\n')
    parameters = {"schema": "n int", "format": "jsonl"}
    with pytest.raises(UnreadableResultError, match=r"part-0.jsonl, line 2, column n: 'x' is not a valid int.*--fresh"):
        read_result(sink(path=tmp_path, format="jsonl", read_with=parameters), 40)


EDGES = pl.DataFrame(
    {
        "small": [Decimal("1E-18"), Decimal("12345678901234567890.123456789012345678")],
        "at": [datetime(2024, 1, 31, 12, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 500000, tzinfo=UTC)],
        "number": [math.nan, math.inf],
        "nested": [{"d": Decimal("0.10"), "on": date(2024, 1, 31)}, {"d": None, "on": None}],
    },
    schema_overrides={"small": pl.Decimal(38, 18), "nested": pl.Struct({"d": pl.Decimal(5, 2), "on": pl.Date})},
)
FIRST = ["0.000000000000000001", "2024-01-31T12:00:00Z", "NaN", {"d": "0.10", "on": "2024-01-31"}]
SECOND = [
    "12345678901234567890.123456789012345678", "1969-12-31T23:59:59.500Z", "Infinity", {"d": None, "on": None}
]  # fmt: skip


def test_values_are_shown_with_all_digits_and_in_one_form(tmp_path):
    parts(tmp_path, "parquet", EDGES)
    result = read_result(sink(path=tmp_path), 40)
    document = json.loads(json.dumps(result_document(result), default=str, allow_nan=False))
    assert [list(row.values()) for row in document["rows"]] == [FIRST, SECOND]
    text = rendered(result_table(result), colour=False, width=400)
    for each in (*FIRST[:2], *SECOND[:2], '{"d": "0.10", "on": "2024-01-31"}'):
        assert str(each) in text


def test_maps_tuples_timestamps_and_blobs_of_spl_are_its_texts():
    moment = datetime(1970, 1, 1, 0, 0, 5, 7, tzinfo=UTC)
    rows = pl.DataFrame(
        {
            "n": pl.Series([2**64 - 1, None], dtype=pl.UInt64),
            "values": [[1, 2], []],
            "pair": [{"a": 1, "b": "x"}, None],
            "map": [[{"key": "k", "value": [1.5]}], []],
            "tuples": [[{"a": True}], []],
            "time": [moment, None],
            "data": [b"ab", b""],
        }
    )
    document = result_document(Result(sink(format="splTxt"), rows, 2))
    assert [list(each.values()) for each in document["rows"]] == [
        [2**64 - 1, [1, 2], '{a=1,b="x"}', '{"k":[1.5]}', ["{a=true}"], "(5,7000,0)", "6162"],
        [None, [], None, "{}", [], None, ""],
    ]
